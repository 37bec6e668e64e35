"""Keeping what was counted: taken over by the store every second, and once more at the end."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from askonce_server.ports import HOUR_MS, KEPT_HOURS, Clock, Counted, EntryStore, StoreUnavailable
from askonce_server.service.tallies import Tallies

_log = logging.getLogger(__name__)


class Turns(Protocol):
    """Who of several workers keeps the counts."""

    def take(self) -> bool:
        """Whether it is this process' turn."""

    def give_back(self) -> None:
        """Let another process have it."""


class Follower(Protocol):
    """What lives as long as counts are kept: it tells them to others."""

    def start(self) -> None:
        """Begin."""

    def close(self) -> None:
        """Tell what is not told yet, and end."""


class Kept(NamedTuple):
    """What was counted since a time."""

    counted: Counted
    since_ms: int
    """From when on, in milliseconds since 1970: counts are kept by the hour."""


class CountsKeeper:
    """Has the counts of a server, called `server`, kept by its store: at most `seconds` of them can be lost.

    Every worker may have them kept; `turns` lets one of them do it, and all do it when they end: what was
    taken over already is not added again.
    """

    def __init__(  # noqa: PLR0913 - the composition root passes each by name
        self,
        tallies: Tallies,
        store: EntryStore,
        clock: Clock,
        *,
        server: bytes,
        seconds: float = 1.0,
        turns: Turns | None = None,
    ) -> None:
        self._tallies = tallies
        self._store = store
        self._clock = clock
        self._server = server
        self._seconds = seconds
        self._turns = turns
        self._last: Counted = {}
        self.followers: list[Follower] = []
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="askonce-counts", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()
        for one in self.followers:
            one.start()

    def counted(self) -> Counted:
        """Return what the server counted since it started, with what its store did."""
        counted = self._tallies.counted()
        try:
            stats = self._store.stats()
        except StoreUnavailable:
            return counted
        own = {"store.evicted": stats.evicted, "store.commits": stats.commits}
        more = {name: count for name, count in own.items() if count}
        return {**counted, "": {**counted.get("", {}), **more}} if more else counted

    def since(self, since_ms: int) -> Kept:
        """Return what was counted from the hour of `since_ms` on, by this server and those before it.

        Raises StoreUnavailable.
        """
        now_ms = self._clock.now_ms()
        earliest = max(since_ms, now_ms - KEPT_HOURS * HOUR_MS)
        past = self._store.counts_since(earliest, server=self._server)
        return Kept(_plus(past.counted, _beyond(self.counted(), past.taken)), past.since_ms or _hour(now_ms))

    def keep(self) -> None:
        """Have everything kept that was counted until now. Never raises."""
        counted = self.counted()
        if counted == self._last:
            return
        try:
            self._store.add_counts(self._server, counted, at_ms=self._clock.now_ms())
        except StoreUnavailable:  # the store itself says why; the next time has it all
            return
        except Exception:
            _log.exception("counts could not be kept")
            return
        self._last = counted

    def close(self) -> None:
        """Have the rest kept. Called when nothing is counted any more, and before the store is closed."""
        self._closed.set()
        for one in self.followers:
            one.close()
        if self._thread.is_alive():
            self._thread.join()
        self.keep()
        if self._turns is not None:
            self._turns.give_back()

    def _run(self) -> None:
        while not self._closed.wait(self._seconds):
            if self._turns is None or self._turns.take():
                self.keep()


def _hour(ms: int) -> int:
    return ms - ms % HOUR_MS


def _beyond(counted: Counted, taken: Counted) -> Counted:
    return _combined(counted, taken, lambda count, other: max(count - other, 0))


def _plus(counted: Counted, more: Counted) -> Counted:
    return _combined(counted, more, lambda count, other: count + other)


def _combined(some: Counted, others: Counted, how: Callable[[int, int], int]) -> Counted:
    combined: dict[str, dict[str, int]] = {}
    for rule in {**some, **others}:
        mine, theirs = some.get(rule, {}), others.get(rule, {})
        both = {name: how(mine.get(name, 0), theirs.get(name, 0)) for name in {**mine, **theirs}}
        combined[rule] = {name: count for name, count in both.items() if count}
    return combined
