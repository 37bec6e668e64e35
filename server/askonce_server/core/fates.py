"""What became of an entry."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from askonce_server.core.reasons import RefusalReason


class Fate(IntEnum):
    """What became of an entry, numbered like `EntryFate` of the contract."""

    LIVE = 1
    EXPIRED = 2
    EVICTED = 3
    PURGED = 4
    DELETED = 5
    REFUSED = 6
    UNKNOWN = 7


class Gone(NamedTuple):
    """Why an entry is not there, as far as it is remembered."""

    fate: Fate
    at_ms: int
    """When it expired, was removed or was refused: milliseconds since 1970."""
    refusal: RefusalReason | None = None


def latest(first: Gone | None, second: Gone | None) -> Gone | None:
    """Return what happened last of the two."""
    told = [one for one in (first, second) if one is not None]
    return max(told, key=lambda one: one.at_ms, default=None)
