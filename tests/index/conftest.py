import sys

import pytest

if "index.vector_index_contract" not in sys.modules:
    pytest.register_assert_rewrite("index.vector_index_contract")
