import pytest

from askonce_server.store import MemoryEntryStore
from ports.archive_contract import ArchiveContract
from ports.entries import MIB
from ports.entry_store_contract import EntryStoreContract
from ports.finality_contract import FinalityContract
from ports.history_contract import HistoryContract
from ports.labels_contract import LabelsContract
from ports.semantic_rows_contract import SemanticRowsContract


class Memory:
    @pytest.fixture
    def make_store(self):
        return lambda max_bytes=64 * MIB: MemoryEntryStore(max_bytes=max_bytes)


class TestMemoryEntryStore(Memory, EntryStoreContract):
    pass


class TestMemoryFinality(Memory, FinalityContract):
    pass


class TestMemoryLabels(Memory, LabelsContract):
    pass


class TestMemoryHistory(Memory, HistoryContract):
    pass


class TestMemorySemanticRows(Memory, SemanticRowsContract):
    pass


class TestMemoryArchive(Memory, ArchiveContract):
    pass
