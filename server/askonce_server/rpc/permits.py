"""How much may go on at once: work permits, and the bytes of all requests in flight.

Every call passes here, so its guards are written out as classes: generators cost more than twice as much.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from threading import Lock
from types import TracebackType

MIN_WAITING = 256


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one server process. Sizes are bytes."""

    threads: int = 32
    """How many calls may work at once. Waiting for a commit takes no permit."""
    waiting: int = MIN_WAITING
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
        self._bytes = _Account(limits.max_in_flight_bytes)

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

    __slots__ = ("_held", "_patience", "_permits")

    def __init__(self, permits: _Semaphore, patience: Callable[[], float] | None) -> None:
        self._permits = permits
        self._patience = patience
        self._held = False

    def __enter__(self) -> bool:
        try:
            self._permits.get_nowait()
        except Empty:
            patience = self._patience
            self._held = patience is not None and self._permits.acquire(timeout=max(0.0, patience()))
        else:
            self._held = True
        return self._held

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
