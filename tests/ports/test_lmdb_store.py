import pytest

from askonce_server.store import open_store
from ports.archive_contract import ArchiveContract
from ports.entry_store_contract import MIB, EntryStoreContract
from ports.finality_contract import FinalityContract
from ports.history_contract import HistoryContract
from ports.semantic_rows_contract import SemanticRowsContract
from ports.store_process import settings


class Lmdb:
    durability = "commit"

    @pytest.fixture
    def make_store(self, tmp_path):
        made = []

        def make(max_bytes=64 * MIB):
            folder = tmp_path / f"store-{len(made)}"
            made.append(open_store(settings(folder, max_bytes=max_bytes, durability=self.durability)))
            return made[-1]

        yield make
        for store in made:
            store.close()


class TestLmdbEntryStore(Lmdb, EntryStoreContract):
    pass


class TestLmdbEntryStorePeriodic(Lmdb, EntryStoreContract):
    durability = "periodic"


class TestLmdbFinality(Lmdb, FinalityContract):
    pass


class TestLmdbHistory(Lmdb, HistoryContract):
    pass


class TestLmdbSemanticRows(Lmdb, SemanticRowsContract):
    pass


class TestLmdbArchive(Lmdb, ArchiveContract):
    pass
