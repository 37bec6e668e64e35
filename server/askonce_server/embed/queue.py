"""A few threads before an embedder, so that no caller waits longer than it may."""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections import deque
from concurrent.futures import Future
from dataclasses import dataclass, field

from askonce_server.ports import (
    Embedded,
    Embedder,
    EmbedderFailed,
    EmbeddingMissing,
    OverBudget,
    TextTooLong,
    TextUnreadable,
)

_EXPECTED = (EmbedderFailed, EmbeddingMissing, OverBudget, TextTooLong, TextUnreadable)
_CLOSING_SECONDS = 1.0


@dataclass(slots=True, eq=False)
class _Ticket:
    text: str
    deadline: float
    expected_seconds: float
    begun: float = 0.0
    result: Future[Embedded] = field(default_factory=Future)


class EmbedQueue:
    """An embedder whose work is done by a few threads, in the order in which it came.

    A caller is answered by its deadline, whatever the embedder does: work that has not begun is dropped, and
    work that has is left alone, so that a hanging embedder holds no more than its own threads. A caller whose
    text cannot be expected to be embedded in time is told so at once.
    """

    def __init__(self, embedder: Embedder, *, threads: int = 1, length: int = 64) -> None:
        """Stand before `embedder` with at most `length` texts waiting. Threads begin with the first text."""
        self.embedder = embedder
        self._length = length
        self._changed = threading.Condition()
        self._waiting: deque[_Ticket] = deque()
        self._threads: list[threading.Thread | None] = [None] * threads
        self._running: list[_Ticket | None] = [None] * threads
        self._pace = Pace()
        self._closed = False

    @property
    def name(self) -> str:
        """The embedder's name."""
        return self.embedder.name

    @property
    def dim(self) -> int:
        """The embedder's dimensions."""
        return self.embedder.dim

    @property
    def fingerprint(self) -> bytes:
        """The embedder's fingerprint. Raises EmbedderFailed while it is unknown."""
        return self.embedder.fingerprint

    @property
    def max_tokens(self) -> int | None:
        """The embedder's window."""
        return self.embedder.max_tokens

    @property
    def price_per_million_tokens(self) -> float | None:
        """The embedder's price."""
        return self.embedder.price_per_million_tokens

    def count_tokens(self, text: str) -> int | None:
        """Return what the embedder says."""
        return self.embedder.count_tokens(text)

    def embed(self, text: str, *, deadline: float) -> Embedded:
        """Return the vector of `text`, or raise, by `deadline`.

        Raises what the embedder raises; OverBudget when there is no vector by then or none can be expected;
        EmbedderFailed for every other fault, of a closed queue too.
        """
        ticket = self._enter(text, deadline)
        try:
            return ticket.result.result(timeout=max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            self._leave(ticket)
            raise OverBudget("the text was not embedded by the deadline") from None

    def waiting_seconds(self) -> float:
        """Return how long a text that came now would wait for its turn."""
        with self._changed:
            return self._wait(time.monotonic())

    def close(self) -> None:
        """Take no more texts, fail those that wait, give those under way a moment, and close the embedder."""
        with self._changed:
            self._closed = True
            waiting, threads = list(self._waiting), list(self._threads)
            self._waiting.clear()
            self._changed.notify_all()
        for ticket in waiting:
            _fail(ticket, EmbedderFailed("the embedder was closed"))
        until = time.monotonic() + _CLOSING_SECONDS
        for thread in threads:
            if thread is not None:
                thread.join(max(0.0, until - time.monotonic()))
        self.embedder.close()

    def _enter(self, text: str, deadline: float) -> _Ticket:
        with self._changed:
            if self._closed:
                raise EmbedderFailed("the embedder was closed")
            if len(self._waiting) >= self._length:
                raise OverBudget(f"{self._length} texts are waiting already")
            now = time.monotonic()
            expected = self._pace.expected(len(text), now=now)
            wait = self._wait(now)
            if now + wait + expected >= deadline:
                seconds = f"{wait:.3f} s of waiting and {expected:.3f} s of embedding"
                raise OverBudget(f"{seconds} are expected, and {max(0.0, deadline - now):.3f} s are left")
            self._tend()
            ticket = _Ticket(text, deadline, expected)
            self._waiting.append(ticket)
            self._changed.notify()
            return ticket

    def _leave(self, ticket: _Ticket) -> None:
        """Drop the work if it has not begun."""
        with self._changed:
            if ticket.result.cancel() and ticket in self._waiting:
                self._waiting.remove(ticket)

    def _wait(self, now: float) -> float:
        """Return the seconds until a thread is free for the next text that comes."""
        free = [_remaining(ticket, now) for ticket in self._running]
        heapq.heapify(free)
        for ticket in self._waiting:
            heapq.heapreplace(free, free[0] + ticket.expected_seconds)
        return free[0]

    def _tend(self) -> None:
        """Begin the threads that are not there, the first time or since one died. Raises EmbedderFailed."""
        for slot, thread in enumerate(self._threads):
            if thread is not None and thread.is_alive():
                continue
            name = f"askonce-embed-{self.name}-{slot}"
            new = threading.Thread(target=self._work, args=(slot,), name=name, daemon=True)
            self._running[slot] = self._threads[slot] = None
            try:
                new.start()
            except RuntimeError:  # the system gives no more threads for now
                continue
            self._threads[slot] = new
        if not any(self._threads):
            raise EmbedderFailed("no thread can be had to embed in")

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
            ticket.result.set_result(self.embedder.embed(ticket.text, deadline=ticket.deadline))
        except _EXPECTED as expected:
            ticket.result.set_exception(expected)
        except (
            BaseException
        ) as fault:  # whatever it is, it must neither end the thread nor leave a caller waiting
            failed = EmbedderFailed(f"the embedder broke: {type(fault).__name__}")
            failed.__cause__ = fault
            ticket.result.set_exception(failed)

    def _done(self, slot: int, ticket: _Ticket) -> None:
        if not ticket.result.done():
            ticket.result.set_exception(EmbedderFailed("the thread that embedded the text ended"))
        with self._changed:
            now = time.monotonic()
            self._running[slot] = None
            self._pace.took(len(ticket.text), now - ticket.begun, now=now)


class Pace:
    """How long texts took lately, by their length in powers of two."""

    FRESH_SECONDS = 1.0
    """What was learnt longer ago counts for nothing, so that a text that was skipped is tried again."""
    _WEIGHT = 0.3

    def __init__(self) -> None:
        self._took: dict[int, tuple[float, float]] = {}

    def expected(self, size: int, *, now: float) -> float:
        """Return the seconds that a text of `size` characters will take; 0 when nothing is known."""
        seconds, learnt = self._took.get(size.bit_length(), (0.0, -math.inf))
        return seconds if now - learnt <= self.FRESH_SECONDS else 0.0

    def took(self, size: int, seconds: float, *, now: float) -> None:
        """Learn that a text of `size` characters took `seconds`."""
        before = self.expected(size, now=now) or seconds
        self._took[size.bit_length()] = (before + self._WEIGHT * (seconds - before), now)


def _remaining(ticket: _Ticket | None, now: float) -> float:
    """Return how long the work will still take. What is overdue may take as long again as it has so far."""
    if ticket is None:
        return 0.0
    elapsed = now - ticket.begun
    return max(ticket.expected_seconds - elapsed, 0.0) or elapsed


def _fail(ticket: _Ticket, error: Exception) -> None:
    if ticket.result.set_running_or_notify_cancel():
        ticket.result.set_exception(error)
