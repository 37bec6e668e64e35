"""How much may go on at once: work permits, and the bytes of all requests in flight.

Every call passes here, so its guards are written out as classes: generators cost more than twice as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Lock
from types import TracebackType
from typing import Final

MIN_WAITERS = 256
"""A reload may bring rules that let callers wait, and the threads for them are there from the start."""
_SPARE_THREADS = 16
_LIGHT_BYTES: Final = 64 << 10
"""Calls up to this size weigh their own bytes: all threads together hold little of them."""
_WEIGHT: Final = 5
"""What a larger one weighs for each of its bytes: itself, and the 3.5 to 5 times as much that it takes while
it is read and keyed (benchmarks/micro/parsing_memory.py)."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one server process. Sizes are bytes."""

    threads: int = 32
    """How many calls may work at once. Waiting for a commit takes no permit."""
    queued: int = 256
    """How many Lookups may wait for a permit."""
    waiters: int = MIN_WAITERS
    """How many Lookups may wait for the answer that another caller fetches."""
    storing: int = 128
    """How many Stores may be under way, the wait for their commit included."""
    max_request: int = 8 << 20
    max_response: int = 3 << 20
    max_in_flight_bytes: int = 256 << 20
    """How much all calls may weigh together; see `weight`."""

    @property
    def pool(self) -> int:
        """How many threads take calls.

        Each kind of waiting has its own bound. Some threads are left even when all are reached: they answer
        those who cannot wait, and health checks, so that no call waits for a thread that waits.
        """
        return self.threads + self.queued + self.waiters + self.storing + _SPARE_THREADS


class Permits:
    """Permits for work. Lookups and Stores have their own, so that neither can starve the other.

    Each method returns a block to be entered, which gives whether the permit was had. `patience` returns how
    many seconds a call may wait for one; it is asked only when none is free.
    """

    def __init__(self, limits: Limits) -> None:
        self._lookups = _Semaphore(limits.threads)
        self._queue = _Semaphore(limits.queued)
        self._stores = _Semaphore(max(1, limits.threads // 4))
        self._storing = _Semaphore(limits.storing)
        self._bytes = _Account(limits.max_in_flight_bytes)

    def lookup(self, patience: Callable[[], float]) -> _Held:
        """Hold a permit for a lookup. Gives False when none came free in time, or too many wait already."""
        return _Held(self._lookups, patience, self._queue)

    def look_again(self, patience: Callable[[], float]) -> _Held:
        """Hold a permit for a lookup that has waited for another caller. Gives False as `lookup` does.

        As many as may wait for others may wait here too: they are woken all at once.
        """
        return _Held(self._lookups, patience)

    def store(self, patience: Callable[[], float]) -> _Held:
        """Hold a permit for judging an answer. Gives False when none came free in time."""
        return _Held(self._stores, patience)

    def storing(self) -> _Held:
        """Count a Store as under way. Gives False, at once, when too many are already."""
        return _Held(self._storing, None)

    def bytes_in_flight(self, size: int) -> _Counted:
        """Account for a request of `size` bytes, by its weight. Gives False when it has no room now."""
        return _Counted(self._bytes, weight(size, self._bytes.most))


def weight(size: int, most: int) -> int:
    """Return how much of `most` bytes a call of `size` takes: about what it needs while it is worked on.

    One that would fit by its own bytes alone is taken when nothing else is in flight.
    """
    if size <= _LIGHT_BYTES:
        return size
    return min(size * _WEIGHT, max(most, size))


class _Semaphore(SimpleQueue[None]):
    """`threading.Semaphore` over a queue that is written in C: a fifth of the cost where nobody waits."""

    def __init__(self, permits: int) -> None:
        super().__init__()
        self.release(permits)

    def acquire(self, *, blocking: bool = True, timeout: float | None = None) -> bool:
        """Take a permit; return whether there was one, or came one within `timeout` seconds."""
        try:
            self.get(blocking, timeout)
        except Empty:
            return False
        return True

    def release(self, permits: int = 1) -> None:
        """Give permits back."""
        for _ in range(permits):
            self.put(None)


class _Held:
    """A permit, for as long as the block lasts."""

    __slots__ = ("_held", "_patience", "_permits", "_queue")

    def __init__(
        self,
        permits: _Semaphore,
        patience: Callable[[], float] | None,
        queue: _Semaphore | None = None,
    ) -> None:
        self._permits = permits
        self._patience = patience
        self._queue = queue
        self._held = False

    def __enter__(self) -> bool:
        try:
            self._permits.get_nowait()
        except Empty:
            self._held = self._wait()
        else:
            self._held = True
        return self._held

    def _wait(self) -> bool:
        patience, queue = self._patience, self._queue
        if patience is None or (queue is not None and not queue.acquire(blocking=False)):
            return False
        try:
            if not self._permits.acquire(timeout=max(0.0, patience())):
                return False
            if patience() > 0:
                return True
            self._permits.release()  # the caller went meanwhile: nobody waits for the work
            return False
        finally:
            if queue is not None:
                queue.release()

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held:
            self._permits.put(None)


@dataclass(slots=True)
class _Account:
    """How many bytes are in flight, and may be."""

    most: int
    now: int = 0
    lock: Lock = field(default_factory=Lock)


class _Counted:
    """A request's bytes on the account, for as long as the block lasts."""

    __slots__ = ("_account", "_fits", "_size")

    def __init__(self, account: _Account, size: int) -> None:
        self._account = account
        self._size = size
        self._fits = False

    def __enter__(self) -> bool:
        account, size = self._account, self._size
        with account.lock:
            if account.now + size <= account.most:
                account.now += size
                self._fits = True
        return self._fits

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fits:
            with self._account.lock:
                self._account.now -= self._size
