"""Time, chance and counts."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time that no wall clock jump can move."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970, advancing steadily, also while the machine sleeps."""


class Counts(Protocol):
    """Where counts are kept, of one process or of several that serve as one."""

    def add(self, name: str, count: int = 1) -> None:
        """Count so many more of `name`."""

    def totals(self) -> dict[str, int]:
        """Return every count that is not zero."""


class Randomness(Protocol):
    """Unpredictable bytes."""

    def token(self, size: int) -> bytes:
        """Return `size` unpredictable bytes."""
