import sys

import pytest

from askonce_server.index import FaissVectorIndex
from index.asking import MIB
from index.fake_store import FakeStore

if "index.vector_index_contract" not in sys.modules:
    pytest.register_assert_rewrite("index.vector_index_contract")


@pytest.fixture
def make_index():
    """A function `(store, max_bytes=…) -> FaissVectorIndex`; what it made is closed after the test."""
    made = []

    def make(store, *, max_bytes=64 * MIB):
        made.append(FaissVectorIndex(store.read, max_bytes=max_bytes))
        return made[-1]

    yield make
    for index in made:
        index.close()


@pytest.fixture
def store():
    return FakeStore()


@pytest.fixture
def index(make_index, store):
    return make_index(store)
