"""Clocks that a test moves."""

from __future__ import annotations


class ManualClock:
    """A Clock that moves only when it is told to."""

    __slots__ = ("_now_ms",)

    def __init__(self, now_ms: int = 1_700_000_000_000) -> None:
        self._now_ms = now_ms

    def now_ms(self) -> int:
        """Return the time set last, in milliseconds since 1970."""
        return self._now_ms

    def advance(self, ms: int) -> None:
        """Move on by `ms` milliseconds."""
        self._now_ms += ms
