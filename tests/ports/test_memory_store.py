import pytest

from askonce_server.store import MemoryEntryStore
from ports.entry_store_contract import MIB, EntryStoreContract


class TestMemoryEntryStore(EntryStoreContract):
    @pytest.fixture
    def make_store(self):
        return lambda max_bytes=64 * MIB: MemoryEntryStore(max_bytes=max_bytes)
