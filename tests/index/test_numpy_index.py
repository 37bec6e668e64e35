import pytest

from index.numpy_index import NumpyVectorIndex
from index.vector_index_contract import VectorIndexContract


class TestNumpyVectorIndex(VectorIndexContract):
    @pytest.fixture
    def index(self):
        return NumpyVectorIndex()
