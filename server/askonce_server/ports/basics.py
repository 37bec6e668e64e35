"""Time and chance."""

from __future__ import annotations

from typing import Protocol


class Clock(Protocol):
    """Time that no wall clock jump can move."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970, advancing steadily, also while the machine sleeps."""


class Randomness(Protocol):
    """Unpredictable bytes."""

    def token(self, size: int) -> bytes:
        """Return `size` unpredictable bytes."""
