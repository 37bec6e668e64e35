"""How much may go on at once: work permits, and the bytes of all requests in flight."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock, Semaphore


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one server process. Sizes are bytes."""

    threads: int = 32
    """How many calls may work at once. Waiting for a commit takes no permit."""
    waiting: int = 256
    """How many more calls may wait."""
    max_request: int = 8 << 20
    max_response: int = 3 << 20
    max_in_flight_bytes: int = 256 << 20

    @property
    def pool(self) -> int:
        """How many threads take calls: those that work and those that wait."""
        return self.threads + self.waiting

    @property
    def storing(self) -> int:
        """How many Stores may be under way at once, the wait for their commit included.

        A Store that waits takes no permit but holds a thread. While commits hang, the rest of the pool is
        what Lookups and health checks have.
        """
        return max(1, self.pool * 3 // 4)


class Permits:
    """Permits for work. Lookups and Stores have their own, so that neither can starve the other.

    `patience` returns how many seconds a call may wait for a permit; it is asked only when none is free.
    """

    def __init__(self, limits: Limits) -> None:
        self._lookups = Semaphore(limits.threads)
        self._stores = Semaphore(max(1, limits.threads // 4))
        self._storing = Semaphore(limits.storing)
        self._lock = Lock()
        self._in_flight = 0
        self._limit = limits.max_in_flight_bytes

    @contextmanager
    def lookup(self, patience: Callable[[], float]) -> Iterator[bool]:
        """Hold a permit for a lookup. Gives False when none came free in time."""
        held = _acquire(self._lookups, patience)
        try:
            yield held
        finally:
            if held:
                self._lookups.release()

    @contextmanager
    def store(self, patience: Callable[[], float]) -> Iterator[bool]:
        """Hold a permit for judging an answer. Gives False when none came free in time."""
        held = _acquire(self._stores, patience)
        try:
            yield held
        finally:
            if held:
                self._stores.release()

    @contextmanager
    def storing(self) -> Iterator[bool]:
        """Count a Store as under way. Gives False, at once, when too many are already."""
        held = self._storing.acquire(blocking=False)
        try:
            yield held
        finally:
            if held:
                self._storing.release()

    @contextmanager
    def bytes_in_flight(self, size: int) -> Iterator[bool]:
        """Account for a request of `size` bytes. Gives False when too many are in flight already."""
        with self._lock:
            fits = self._in_flight + size <= self._limit
            if fits:
                self._in_flight += size
        try:
            yield fits
        finally:
            if fits:
                with self._lock:
                    self._in_flight -= size


def _acquire(permits: Semaphore, patience: Callable[[], float]) -> bool:
    return permits.acquire(blocking=False) or permits.acquire(timeout=max(0.0, patience()))
