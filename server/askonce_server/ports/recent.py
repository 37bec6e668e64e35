"""Where the latest decisions are kept for people who look: bounded, and shared by several workers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class RecentMemory(Protocol):
    """The latest records of all workers, and counts by the second. Safe to call from any thread."""

    def add(self, record: bytes, *, second: int, column: int) -> None:
        """Keep a record in the place of the oldest, and count it in a column of its second."""

    def records(self) -> Sequence[bytes]:
        """Return what is kept, of each worker the oldest first."""

    def counts(self, first: int, last: int) -> Sequence[Sequence[int]]:
        """Return the columns of each second from `first` to `last`, itself included; 0 where none are."""
