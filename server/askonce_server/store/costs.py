"""What rows cost in pages."""

from __future__ import annotations

import mmap
from typing import Final

from askonce_server.store.prepared import Prepared
from askonce_server.store.vectors import row_bytes

MIB: Final = 1 << 20
PAGE_BYTES: Final = mmap.PAGESIZE
"""LMDB takes the page size of the machine that makes the file."""
_MAX_IN_LEAF: Final = PAGE_BYTES // 2 - 48
"""A longer value has pages of its own (half a page less headers)."""
ENTRY_COST: Final = 1024
"""What one entry takes besides body and vector: its rows and their share of half-full and inner pages."""
PARTITION_COST: Final = 256
"""What the row of a partition takes."""


def value_cost(value_bytes: int) -> int:
    """Return how many bytes of pages a value takes, at most: one that fits into a leaf may have it alone."""
    return PAGE_BYTES if value_bytes <= _MAX_IN_LEAF else -(-value_bytes // PAGE_BYTES) * PAGE_BYTES


def body_cost(body_bytes: int) -> int:
    """Return how many bytes of pages a body takes, at most."""
    return value_cost(body_bytes + 256)


def vector_cost(value_bytes: int) -> int:
    """Return how many bytes of pages a vector whose row has that value takes, at most."""
    return value_cost(value_bytes) + PARTITION_COST


def write_cost(prepared: Prepared) -> int:
    """Return how many bytes of pages a write takes, at most."""
    semantic = prepared.write.semantic
    vectors = sum(1 for key in prepared.keys if key.partition)
    vector = 0 if semantic is None else vector_cost(row_bytes(semantic))
    return body_cost(len(prepared.write.body.data)) + ENTRY_COST * len(prepared.keys) + vector * vectors
