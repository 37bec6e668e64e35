import sys

import pytest

for name in ("entry_store", "room", "semantic_rows", "finality", "leases"):
    if f"ports.{name}_contract" not in sys.modules:
        pytest.register_assert_rewrite(f"ports.{name}_contract")
