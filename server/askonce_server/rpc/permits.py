"""How much may go on at once: work permits, and the bytes of all requests in flight."""

from __future__ import annotations

from collections.abc import Iterator
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


class Permits:
    """Permits for work. Lookups and Stores have their own, so that neither can starve the other."""

    def __init__(self, limits: Limits) -> None:
        self._lookups = Semaphore(limits.threads)
        self._stores = Semaphore(max(1, limits.threads // 4))
        self._lock = Lock()
        self._in_flight = 0
        self._limit = limits.max_in_flight_bytes

    @contextmanager
    def lookup(self, *, timeout_seconds: float) -> Iterator[bool]:
        """Hold a permit for a lookup. Gives False when none came free in time."""
        held = self._lookups.acquire(timeout=max(0.0, timeout_seconds))
        try:
            yield held
        finally:
            if held:
                self._lookups.release()

    @contextmanager
    def store(self, *, timeout_seconds: float) -> Iterator[bool]:
        """Hold a permit for judging an answer. Gives False when none came free in time."""
        held = self._stores.acquire(timeout=max(0.0, timeout_seconds))
        try:
            yield held
        finally:
            if held:
                self._stores.release()

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
