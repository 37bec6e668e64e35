import sys

import pytest

for module in ("ports.entry_store_contract", "ports.semantic_rows_contract", "ports.finality_contract"):
    if module not in sys.modules:
        pytest.register_assert_rewrite(module)
