import pytest

from askonce_server.store import open_store
from askonce_server.store.keyring import PLAIN
from ports.archive_contract import ArchiveContract
from ports.entries import MIB, key, write
from ports.entry_store_contract import EntryStoreContract
from ports.finality_contract import FinalityContract
from ports.history_contract import HistoryContract
from ports.labels_contract import LabelsContract
from ports.semantic_rows_contract import SemanticRowsContract
from ports.store_process import settings


class Lmdb:
    durability = "commit"
    keys = PLAIN
    keyed = False
    """Whether it has the key under which digests are made."""

    @pytest.fixture
    def make_store(self, tmp_path):
        made = []

        def make(max_bytes=64 * MIB):
            folder = tmp_path / f"store-{len(made)}"
            changes = {"max_bytes": max_bytes, "durability": self.durability, "keys": self.keys}
            made.append(open_store(settings(folder, **changes)))
            if self.keyed:
                made[-1].settle_guard_key(b"g" * 32)
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


class TestLmdbLabels(Lmdb, LabelsContract):
    pass


class TestLmdbHistory(Lmdb, HistoryContract):
    pass


class TestLmdbSemanticRows(Lmdb, SemanticRowsContract):
    pass


class TestLmdbArchive(Lmdb, ArchiveContract):
    keyed = True

    def test_looking_at_a_body_does_not_spare_it_from_eviction(self, store):
        store.put([write("q")])
        with store.read() as view:
            entry = view.entry(key("q"))
            assert view.archive.holds_body(entry)
            assert not store._hits.take(entry.store_id)
            view.body(entry)
            assert store._hits.take(entry.store_id)
