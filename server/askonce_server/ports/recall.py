"""The nearest vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from askonce_server.core.entries import Entry, Neighbor
from askonce_server.ports.embedding import Vector
from askonce_server.ports.storing import ReadView


class PartitionLoading(Exception):
    """The partition's vectors are still being read; ask again."""


class PartitionTooLarge(Exception):
    """The partition's vectors take more memory than the index may: it is not searched while they do."""


class PartitionUnreadable(Exception):
    """The partition's vectors could not be read the last time; they are read again before long."""


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What the index holds in memory."""

    partitions: int
    vectors: int
    used_bytes: int
    limit_bytes: int


class VectorIndex(Protocol):
    """The nearest live vectors of a partition: a cache of the store, never its rival. Safe for threads."""

    def recall(
        self, view: ReadView, partition: bytes, vector: Vector, *, k: int, alive: Callable[[Entry], bool]
    ) -> list[Neighbor]:
        """Return the `k` nearest of the vectors that `view` has and whose entry is `alive`, best first.

        Fewer only when there are fewer. Cosines are exact, from the stored vectors; vectors of another size
        than `vector` are not seen. Raises PartitionLoading, PartitionTooLarge, PartitionUnreadable,
        StoreUnavailable.
        """

    def forget(self) -> None:
        """Hold nothing any more: from now on views are of another store."""

    def stats(self) -> IndexStats:
        """Count."""

    def close(self) -> None:
        """Stop its threads and let go of its memory."""
