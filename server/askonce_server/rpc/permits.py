"""How much may go on at once: work permits, and the bytes of all requests in flight.

Every call passes here, so its guards are written out as classes: generators cost more than twice as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Lock
from types import TracebackType


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

    Each method returns a block to be entered, which gives whether the permit was had. `patience` returns how
    many seconds a call may wait for one; it is asked only when none is free.
    """

    def __init__(self, limits: Limits) -> None:
        self._lookups = _Semaphore(limits.threads)
        self._stores = _Semaphore(max(1, limits.threads // 4))
        self._storing = _Semaphore(limits.storing)
        self._bytes = _Bytes(limits.max_in_flight_bytes)

    def lookup(self, patience: Callable[[], float]) -> _Held:
        """Hold a permit for a lookup. Gives False when none came free in time."""
        return _Held(self._lookups, patience)

    def store(self, patience: Callable[[], float]) -> _Held:
        """Hold a permit for judging an answer. Gives False when none came free in time."""
        return _Held(self._stores, patience)

    def storing(self) -> _Held:
        """Count a Store as under way. Gives False, at once, when too many are already."""
        return _Held(self._storing, None)

    def bytes_in_flight(self, size: int) -> _Counted:
        """Account for a request of `size` bytes. Gives False when too many are in flight already."""
        return _Counted(self._bytes, size)


class _Semaphore:
    """`threading.Semaphore` over a queue that is written in C: a fifth of the cost where nobody waits."""

    __slots__ = ("_permits",)

    def __init__(self, permits: int) -> None:
        self._permits: SimpleQueue[None] = SimpleQueue()
        self.release(permits)

    def acquire(self, *, blocking: bool = True, timeout: float | None = None) -> bool:
        """Take a permit; return whether there was one, or came one within `timeout` seconds."""
        try:
            self._permits.get(blocking, timeout)
        except Empty:
            return False
        return True

    def release(self, permits: int = 1) -> None:
        """Give permits back."""
        for _ in range(permits):
            self._permits.put(None)


class _Held:
    """A permit, for as long as the block lasts."""

    __slots__ = ("_held", "_patience", "_permits")

    def __init__(self, permits: _Semaphore, patience: Callable[[], float] | None) -> None:
        self._permits = permits
        self._patience = patience
        self._held = False

    def __enter__(self) -> bool:
        permits, patience = self._permits, self._patience
        self._held = permits.acquire(blocking=False) or (
            patience is not None and permits.acquire(timeout=max(0.0, patience()))
        )
        return self._held

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._held:
            self._permits.release()


class _Bytes:
    """How many bytes are in flight, and may be."""

    __slots__ = ("_lock", "_most", "_now")

    def __init__(self, most: int) -> None:
        self._lock = Lock()
        self._most = most
        self._now = 0

    def take(self, size: int) -> bool:
        """Account for `size` bytes unless that is too many."""
        with self._lock:
            if self._now + size > self._most:
                return False
            self._now += size
            return True

    def give(self, size: int) -> None:
        """Take `size` bytes off the account."""
        with self._lock:
            self._now -= size


class _Counted:
    """A request's bytes on the account, for as long as the block lasts."""

    __slots__ = ("_bytes", "_fits", "_size")

    def __init__(self, account: _Bytes, size: int) -> None:
        self._bytes = account
        self._size = size
        self._fits = False

    def __enter__(self) -> bool:
        self._fits = self._bytes.take(self._size)
        return self._fits

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._fits:
            self._bytes.give(self._size)
