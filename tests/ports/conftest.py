import sys

import pytest

if "ports.entry_store_contract" not in sys.modules:
    pytest.register_assert_rewrite("ports.entry_store_contract")
