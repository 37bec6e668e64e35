"""Single flight inside one process: callers with one request come after one another, not all at once."""

from __future__ import annotations

import os
import threading
from concurrent.futures import Future
from enum import Enum, auto

from askonce.errors import AskOnceError


class Ending(Enum):
    """How a flight went for those who waited."""

    OVER = auto()
    """There is an answer, or none is to be had by waiting."""
    ABANDONED = auto()
    """The provider failed, or the caller has gone: one of those who wait comes next."""


class Flight:
    """One request that some caller of this process is looking up or filling."""

    __slots__ = ("decided", "failed", "key", "settled")

    def __init__(self, key: bytes) -> None:
        """Begin what is known as `key`."""
        self.key = key
        self.decided: Future[None] = Future()
        """Done when it is known whether there is anything to wait for."""
        self.settled: Future[Ending] = Future()
        self.failed: AskOnceError | None = None
        """What kept the sidecar from deciding, which would keep it from deciding for the others too."""


class Flights:
    """The flights of one client. Thread-safe."""

    def __init__(self) -> None:
        """Start with none."""
        self._lock = threading.Lock()
        self._by_key: dict[bytes, Flight] = {}
        self._pid = os.getpid()

    def begin(self, key: bytes) -> tuple[Flight, bool]:
        """Return the flight of `key`, and whether it is the caller's own to end."""
        if self._pid != os.getpid():
            return Flight(key), True  # those who would end it, and hold the lock, stayed behind at the fork
        with self._lock:
            others = self._by_key.get(key)
            if others is not None:
                return others, False
            mine = self._by_key[key] = Flight(key)
            return mine, True

    def end(self, mine: Flight, how: Ending) -> None:
        """End a flight, and let those who wait for it go on. The second time does nothing."""
        if mine.settled.done():
            return
        if self._pid == os.getpid():
            with self._lock:
                if self._by_key.get(mine.key) is mine:
                    del self._by_key[mine.key]
        mine.settled.set_result(how)
        if not mine.decided.done():
            mine.decided.set_result(None)
