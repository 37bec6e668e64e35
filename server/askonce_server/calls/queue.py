"""A few threads for calls that may hang, so that no caller waits longer than it may."""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, TypeVar

from askonce_server.ports import OverBudget

_CLOSING_SECONDS = 1.0
_A = TypeVar("_A")


@dataclass(slots=True, eq=False)
class _Ticket:
    work: Callable[[], Any]
    size: int
    deadline: float
    expected_seconds: float
    begun: float = 0.0
    result: Future[Any] = field(default_factory=Future)


class CallQueue:
    """Does work in a few threads, in the order in which it came.

    A caller is answered by its deadline, whatever the work does: work that has not begun is dropped, and work
    that has is left alone, so that what hangs holds no more than the queue's own threads. A caller whose work
    cannot be expected to be done in time is told so at once.
    """

    def __init__(
        self,
        name: str,
        *,
        failed: Callable[[str], Exception],
        expected: tuple[type[Exception], ...],
        threads: int = 1,
        length: int = 64,
    ) -> None:
        """Make a queue of at most `length` calls, for what its messages call `name`.

        `expected` errors of the work reach the caller as they are; every other fault, and those of the queue,
        as what `failed` makes of a message. Threads begin with the first call.
        """
        self.name = name
        self._failed = failed
        self._expected = expected
        self._length = length
        self._changed = threading.Condition()
        self._waiting: deque[_Ticket] = deque()
        self._threads: list[threading.Thread | None] = [None] * threads
        self._running: list[_Ticket | None] = [None] * threads
        self._pace = Pace()
        self._closed = False

    def run(self, work: Callable[[], _A], *, size: int, deadline: float) -> _A:
        """Return what `work` returns, or raise, by `deadline` (of `time.monotonic`).

        `size` is what calls that take about as long have in common, such as characters. Raises OverBudget
        when there is no result by then or none can be expected.
        """
        ticket = self._enter(work, size, deadline)
        try:
            result: _A = ticket.result.result(timeout=max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            self._leave(ticket)
            raise OverBudget(f"{self.name} was not done by the deadline") from None
        return result

    def close(self) -> None:
        """Take no more calls, fail those that wait, and give those under way a moment."""
        with self._changed:
            self._closed = True
            waiting, threads = list(self._waiting), list(self._threads)
            self._waiting.clear()
            self._changed.notify_all()
        for ticket in waiting:
            self._fail(ticket, f"{self.name} was closed")
        until = time.monotonic() + _CLOSING_SECONDS
        for thread in threads:
            if thread is not None:
                thread.join(max(0.0, until - time.monotonic()))

    def _enter(self, work: Callable[[], Any], size: int, deadline: float) -> _Ticket:
        with self._changed:
            if self._closed:
                raise self._failed(f"{self.name} was closed")
            if len(self._waiting) >= self._length:
                raise OverBudget(f"{self._length} calls are waiting already")
            now = time.monotonic()
            expected = self._pace.expected(size, now=now)
            wait = self._wait(now)
            if now + wait + expected >= deadline:
                seconds = f"{wait:.3f} s of waiting and {expected:.3f} s of work"
                raise OverBudget(f"{seconds} are expected, and {max(0.0, deadline - now):.3f} s are left")
            self._tend()
            ticket = _Ticket(work, size, deadline, expected)
            self._waiting.append(ticket)
            self._changed.notify()
            return ticket

    def _leave(self, ticket: _Ticket) -> None:
        """Drop the work if it has not begun."""
        with self._changed:
            if ticket.result.cancel() and ticket in self._waiting:
                self._waiting.remove(ticket)

    def _wait(self, now: float) -> float:
        """Return the seconds until a thread is free for the next call that comes."""
        free = [_remaining(ticket, now) for ticket in self._running]
        heapq.heapify(free)
        for ticket in self._waiting:
            heapq.heapreplace(free, free[0] + ticket.expected_seconds)
        return free[0]

    def _tend(self) -> None:
        """Begin the threads that are not there, the first time or since one died."""
        for slot, thread in enumerate(self._threads):
            if thread is not None and thread.is_alive():
                continue
            new = threading.Thread(target=self._work, args=(slot,), name=self._thread_name(slot), daemon=True)
            self._running[slot] = self._threads[slot] = None
            try:
                new.start()
            except RuntimeError:  # the system gives no more threads for now
                continue
            self._threads[slot] = new
        if not any(self._threads):
            raise self._failed(f"no thread can be had for {self.name}")

    def _thread_name(self, slot: int) -> str:
        return f"askonce-{self.name.replace(' ', '-')}-{slot}"

    def _work(self, slot: int) -> None:
        while (ticket := self._next(slot)) is not None:
            try:
                self._answer(ticket)
            finally:
                self._done(slot, ticket)

    def _next(self, slot: int) -> _Ticket | None:
        with self._changed:
            while True:
                while not self._waiting and not self._closed:
                    self._changed.wait()
                if self._closed:
                    return None
                ticket = self._waiting.popleft()
                if ticket.result.set_running_or_notify_cancel():
                    ticket.begun = time.monotonic()
                    self._running[slot] = ticket
                    return ticket

    def _answer(self, ticket: _Ticket) -> None:
        try:
            ticket.result.set_result(ticket.work())
        except self._expected as expected:
            ticket.result.set_exception(expected)
        except (
            BaseException
        ) as fault:  # whatever it is, it must neither end the thread nor leave a caller waiting
            failed = self._failed(f"{self.name} broke: {type(fault).__name__}")
            failed.__cause__ = fault
            ticket.result.set_exception(failed)

    def _done(self, slot: int, ticket: _Ticket) -> None:
        if not ticket.result.done():
            ticket.result.set_exception(self._failed(f"the thread of {self.name} ended"))
        with self._changed:
            now = time.monotonic()
            self._running[slot] = None
            self._pace.took(ticket.size, now - ticket.begun, now=now)

    def _fail(self, ticket: _Ticket, message: str) -> None:
        if ticket.result.set_running_or_notify_cancel():
            ticket.result.set_exception(self._failed(message))


class Pace:
    """How long calls took lately, by their size in powers of two."""

    FRESH_SECONDS = 1.0
    """What was learnt longer ago counts for nothing, so that a call that was skipped is tried again."""
    _WEIGHT = 0.3

    def __init__(self) -> None:
        self._took: dict[int, tuple[float, float]] = {}

    def expected(self, size: int, *, now: float) -> float:
        """Return the seconds that a call of `size` will take; 0 when nothing is known."""
        seconds, learnt = self._took.get(size.bit_length(), (0.0, -math.inf))
        return seconds if now - learnt <= self.FRESH_SECONDS else 0.0

    def took(self, size: int, seconds: float, *, now: float) -> None:
        """Learn that a call of `size` took `seconds`."""
        before = self.expected(size, now=now) or seconds
        self._took[size.bit_length()] = (before + self._WEIGHT * (seconds - before), now)


def _remaining(ticket: _Ticket | None, now: float) -> float:
    """Return how long the work will still take. What is overdue may take as long again as it has so far."""
    if ticket is None:
        return 0.0
    elapsed = now - ticket.begun
    return max(ticket.expected_seconds - elapsed, 0.0) or elapsed
