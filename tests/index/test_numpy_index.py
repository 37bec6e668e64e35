import pytest

from askonce_server.index import NumpyVectorIndex
from index.vector_index_contract import VectorIndexContract


class TestNumpyVectorIndex(VectorIndexContract):
    @pytest.fixture
    def make_index(self):
        return lambda store: NumpyVectorIndex()
