"""What was counted in the past."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

Counted = Mapping[str, Mapping[str, int]]
"""Counts by rule, then by what was counted. What belongs to no rule has the rule ``""``."""

HOUR_MS = 3_600_000
KEPT_HOURS = 30 * 24
"""How long counts are kept."""


class Past(NamedTuple):
    """The counts of whole hours."""

    counted: Counted
    taken: Counted
    """What of it is of the server that asked; what it has counted beyond that is not in `counted` yet."""
    since_ms: int
    """When the earliest hour that was asked for begins: 0 when nothing was counted since then."""


class History(Protocol):
    """Counts by the hour, kept over restarts for `KEPT_HOURS`. Safe to call from any thread."""

    def add_counts(self, server: bytes, counted: Counted, *, at_ms: int) -> None:
        """Take over what `server`, so called as long as it runs, has counted in all since it started.

        Only what goes beyond what was taken over before is added, to the hour of `at_ms`; several workers of
        a server may do it in any order. Raises StoreUnavailable when it was not acknowledged: nothing, or all
        of it, is added then.
        """

    def counts_since(self, since_ms: int, *, server: bytes) -> Past:
        """Return the counts of the hour of `since_ms` and those after it. Raises StoreUnavailable."""
