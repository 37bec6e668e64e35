import pytest
from askonce_server.store import StoreSettings, open_store
from ports.entry_store_contract import MIB, EntryStoreContract


class LmdbContract(EntryStoreContract):
    durability = "commit"

    @pytest.fixture
    def make_store(self, tmp_path):
        made = []

        def make(max_bytes=64 * MIB):
            settings = StoreSettings(
                path=tmp_path / f"store-{len(made)}", max_bytes=max_bytes, durability=self.durability
            )
            made.append(open_store(settings))
            return made[-1]

        yield make
        for store in made:
            store.close()


class TestLmdbEntryStore(LmdbContract):
    pass


class TestLmdbEntryStorePeriodic(LmdbContract):
    durability = "periodic"
