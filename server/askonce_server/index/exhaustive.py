"""Recall without an index: every vector is read and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from askonce_server.core.entries import Entry, Neighbor
from askonce_server.index.exact import cosines
from askonce_server.ports import ReadView, Vector, VectorBlock

BLOCK_ROWS: Final = 1024
"""How many vectors are read at once."""


def exhaustive(
    view: ReadView, partition: bytes, vector: Vector, *, k: int, alive: Callable[[Entry], bool]
) -> list[Neighbor]:
    """Return the `k` nearest of all vectors that `view` has, the newest first of equally near ones."""
    found = list(blocks(view, partition, dim=vector.shape[0]))
    sequences = np.concatenate([block.sequences for block in found])
    exact = np.array([cosine for block in found for cosine in cosines(vector, block.vectors)])
    neighbors: list[Neighbor] = []
    for at in np.lexsort((-sequences, -exact)):
        if len(neighbors) == k:
            break
        (stored,) = view.stored_vectors(partition, [int(sequences[at])])
        if stored is not None and alive(stored.entry):
            neighbors.append(Neighbor(stored.entry, stored.row, float(exact[at])))
    return neighbors


def blocks(view: ReadView, partition: bytes, *, dim: int, after: int = 0) -> Iterator[VectorBlock]:
    """Read the vectors above `after`, block by block; the last is the one that is not full."""
    while True:
        block = view.vectors(partition, dim=dim, after=after, limit=BLOCK_ROWS)
        yield block
        if len(block.sequences) < BLOCK_ROWS:
            return
        after = int(block.sequences[-1])
