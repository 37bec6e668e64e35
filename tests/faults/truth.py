"""A model of what was acknowledged, and the judge of what must therefore not be answered.

Acts are ordered by a clock of ticks: one is taken before a call is sent and one after it returned. What the
server did for the call happened in between, so that one act surely came before another only when it had
returned before the other was sent. A judge that asks for more blames what is right; one that asks for less
lets faults pass.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

UNSETTLED_SECONDS = 15.0
"""A call that failed may still be carried out for so long: stopped workers are killed after 3 s, writes are
given up after 2 s."""
SHORT_SECONDS = 1.0
"""The ttl of an answer that is not lasting."""
_MAYBE = frozenset({"", "store_failed"})
"""Outcomes of a Store after which its answer may be there or not."""

Generations = tuple[bytes, ...]


@dataclass(frozen=True)
class Question:
    """What has one exact entry."""

    tenant: int
    number: int
    reworded: bool = False


@dataclass
class Version:
    """One answer, from before its Store was sent."""

    number: int
    """The tick before its Store was sent."""
    question: Question
    generations: Generations
    """Those that its fill token carries: what the server read when it saw the Lookup."""
    looked_up: tuple[int, int]
    """Before its Lookup was sent, and after that returned."""
    looked_up_at: float
    """The same as the latter in seconds of `time.monotonic`."""
    lasting: bool
    """Whether its ttl goes far beyond the run."""
    outcome: str = ""
    """What its Store was answered with; empty until then, or when it failed."""
    ended: int | None = None
    """After its Store returned; None: it may still happen."""
    failed_at: float | None = None


@dataclass
class Purge:
    """One purge of a tenant."""

    began: int
    ended: int | None = None
    """After it returned; None: it may still happen."""
    done: bool = False
    """Whether it was acknowledged."""
    failed_at: float | None = None


@dataclass
class Truth:
    """Everything that was acknowledged, and what was found wrong. Shared by threads."""

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    _lock: threading.RLock = field(default_factory=threading.RLock)
    _clock: int = 0
    _versions: dict[int, Version] = field(default_factory=dict)
    _of: defaultdict[Question, list[Version]] = field(default_factory=lambda: defaultdict(list))
    _newest: dict[Question, int] = field(default_factory=dict)
    _purges: defaultdict[int, list[Purge]] = field(default_factory=lambda: defaultdict(list))
    _first_seen: dict[tuple[int, Generations], int] = field(default_factory=dict)

    def tick(self) -> int:
        """Return a number that no other event has; later events have greater ones."""
        with self._lock:
            self._clock += 1
            return self._clock

    def count(self, name: str) -> None:
        with self._lock:
            self.counts[name] += 1

    def blame(self, what: str) -> None:
        with self._lock:
            self.wrong.append(what)

    def newest(self, question: Question) -> int:
        """Return the newest version whose Store was acknowledged; 0 for none. Ask before a Lookup is sent."""
        with self._lock:
            return self._newest.get(question, 0)

    def storing(
        self, question: Question, generations: Generations, *, began: int, lasting: bool = True
    ) -> Version:
        """Return the version that is to be stored, after its Lookup returned and before its Store is sent."""
        with self._lock:
            looked_up = (began, self.tick())
            self._first_seen.setdefault((question.tenant, generations), looked_up[1])
            version = Version(self.tick(), question, generations, looked_up, time.monotonic(), lasting)
            self._versions[version.number] = version
            self._of[question].append(version)
            return version

    def stored(self, version: Version, outcome: str) -> None:
        """Take in what a Store returned; empty when it failed."""
        with self._lock:
            version.outcome = outcome
            if outcome in _MAYBE:
                version.failed_at = time.monotonic()
                return
            version.ended = self.tick()
            if outcome == "stored":
                newest = self._newest.get(version.question, 0)
                self._newest[version.question] = max(newest, version.number)

    @contextmanager
    def purging(self, tenant: int) -> Iterator[None]:
        """Purge a tenant in the block; what it raises leaves open whether it was done."""
        with self._lock:
            purge = Purge(self.tick())
            self._purges[tenant].append(purge)
        try:
            yield
        except BaseException:
            with self._lock:
                purge.failed_at = time.monotonic()
            raise
        with self._lock:
            purge.ended, purge.done = self.tick(), True
            self.counts["purged"] += 1

    def settle(self) -> None:
        """Take for over what failed so long ago that it happened or never will."""
        with self._lock:
            acts = [*self._versions.values(), *(one for each in self._purges.values() for one in each)]
            for act in acts:
                failed_at = act.failed_at if act.ended is None else None
                if failed_at is not None and time.monotonic() - failed_at > UNSETTLED_SECONDS:
                    act.ended = self.tick()

    def judge_hit(
        self, question: Question, number: int, *, exact: bool, began: int, sent_at: float, before: int
    ) -> None:
        """Judge that a Lookup was answered with version `number`, where `exact` from an entry of its own.

        `before` was the newest version, `began` a tick and `sent_at` the time before the Lookup was sent.
        """
        with self._lock:
            version = self._versions.get(number)
            if version is None or self._is_anothers(version, question, exact=exact):
                self.blame(f"wrong answer: {question} was answered with version {number}: {version}")
                return
            self._judge_purges(version, began)
            if not _is_there(version):
                self.blame(f"refused and served: {version}")
            if exact and version.ended is not None and version.ended < before:
                self.blame(f"replaced and served: {version} after {self._versions[before]}")
            if not version.lasting and sent_at - version.looked_up_at > SHORT_SECONDS + 0.01:
                self.blame(f"expired and served: {version} at {sent_at}")

    @staticmethod
    def _is_anothers(version: Version, question: Question, *, exact: bool) -> bool:
        if exact:
            return version.question != question
        return (version.question.tenant, version.question.number) != (question.tenant, question.number)

    def _judge_purges(self, version: Version, began: int) -> None:
        """Blame an answer to a Lookup sent after a Purge returned, when that Purge covered the answer.

        It did when its generations had been told to anybody before the Purge was sent.
        """
        tenant = version.question.tenant
        first_seen = self._first_seen[tenant, version.generations]
        for purge in self._purges[tenant]:
            if not purge.done or purge.ended is None or began < purge.ended:
                continue
            if first_seen < purge.began:
                self.blame(f"resurrected: {version}, seen at {first_seen}, purge {purge}, Lookup {began}")
                return
            if version.looked_up[0] < purge.began:
                # Its Lookup was sent before the Purge and returned after it was sent: the server saw the
                # Purge first, for these generations are new.
                self.counts["hit of what was asked for across a purge"] += 1

    def judge_miss(self, question: Question, *, before: int, ended: int) -> None:
        """Judge that a Lookup missed, `ended` being a tick after it returned.

        It must not while `before`, a lasting version, is all that can be there.
        """
        with self._lock:
            version = self._versions.get(before)
            if version is None or not version.lasting:
                return
            for other in self._of[question]:
                after = other.ended is None or other.ended > version.number
                if (
                    after
                    and other.number < ended
                    and not other.lasting
                    and other.outcome in {*_MAYBE, "stored"}
                ):
                    return
            for purge in self._purges[question.tenant]:
                if purge.began < ended and (purge.ended is None or purge.ended > version.looked_up[0]):
                    return
            self.blame(f"lost: {version}, missed at {ended}")

    def questions(self) -> list[Question]:
        """Return everything that was ever answered."""
        with self._lock:
            return list(self._of)


def _is_there(version: Version) -> bool:
    """Whether the Store of a version was not refused for sure."""
    return version.outcome == "stored" or version.outcome in _MAYBE
