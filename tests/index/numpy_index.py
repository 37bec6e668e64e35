"""The index that holds nothing: the judge of the other."""

from __future__ import annotations

from collections.abc import Callable

from askonce_server.core.entries import Entry, Neighbor
from askonce_server.index.exhaustive import exhaustive
from askonce_server.ports import IndexStats, ReadView, Vector


class NumpyVectorIndex:
    """A VectorIndex that is right by being simple."""

    def recall(
        self, view: ReadView, partition: bytes, vector: Vector, *, k: int, alive: Callable[[Entry], bool]
    ) -> list[Neighbor]:
        """Return the `k` nearest; see the port. Raises StoreUnavailable."""
        return exhaustive(view, partition, vector, k=k, alive=alive)

    def forget(self) -> None:
        """Do nothing."""

    def stats(self) -> IndexStats:
        """Count nothing."""
        return IndexStats(partitions=0, vectors=0, used_bytes=0, limit_bytes=0)

    def close(self) -> None:
        """Do nothing."""
