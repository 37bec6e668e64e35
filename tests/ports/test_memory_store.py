import pytest

pytest.register_assert_rewrite("ports.entry_store_contract")

from askonce_server.store import MemoryEntryStore  # noqa: E402
from ports.entry_store_contract import MIB, EntryStoreContract  # noqa: E402


class TestMemoryEntryStore(EntryStoreContract):
    @pytest.fixture
    def make_store(self):
        return lambda max_bytes=64 * MIB: MemoryEntryStore(max_bytes=max_bytes)
