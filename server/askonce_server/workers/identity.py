"""What a process knows that is one of several workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from askonce_server.workers.counts import SharedCounts
from askonce_server.workers.recent import SharedRecent


@dataclass(frozen=True, slots=True, kw_only=True)
class Worker:
    """One of the processes that serve as one."""

    number: int
    """From 0."""
    instance: str
    """What its supervisor calls itself in the lock of the store."""
    started: float
    """When the server started, in seconds of `time.monotonic`."""
    began_ns: int
    """The same in nanoseconds since 1970."""
    tallies: SharedCounts
    """Where it counts decisions, with the others."""
    stored: SharedCounts
    """The same for what its store counts."""
    recent: SharedRecent
    """Where it remembers its latest decisions, with the others."""
    serving: Callable[[], None]
    """Tells the supervisor that it takes calls."""
