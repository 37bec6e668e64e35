"""Time, chance and counts."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time that no wall clock jump can move."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970, advancing steadily, also while the machine sleeps."""


class Cells(Protocol):
    """Counts by their place."""

    def __getitem__(self, place: int, /) -> int:
        """Return the count there."""

    def __setitem__(self, place: int, count: int, /) -> None:
        """Set the count there."""


class Counts(Protocol):
    """Where counts are kept, of one process or of several that serve as one."""

    @property
    def cells(self) -> Cells:
        """The counts of this process, to be added to where `place` says: the way that costs least."""

    def place(self, name: str) -> int:
        """Return where the count of `name` is; it stays there."""

    def add(self, name: str, count: int = 1) -> None:
        """Count so many more of `name`."""

    def totals(self) -> dict[str, int]:
        """Return every count that is not zero."""


class Randomness(Protocol):
    """Unpredictable bytes."""

    def token(self, size: int) -> bytes:
        """Return `size` unpredictable bytes."""
