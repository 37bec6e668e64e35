"""Counts of what was decided: every decision exactly once, as a hit, a miss or a bypass.

Durations, similarities and money are counts, too: of buckets, and of the smallest unit. So all that is told
of a server, by whatever way, is read from the same counters, and several workers add to them together.
"""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from threading import Lock
from typing import Final, NamedTuple

from askonce_server.core.decision import Decision, Nearness, Skip
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Outcome, RefusalReason
from askonce_server.ports import Counts
from askonce_server.service.call import Call

RULE_ENDS: Final = "|"
"""Stands between the rule and what was counted; no rule's id has it."""
BOUNDS_US: Final = (
    *(50, 100, 150, 200, 300, 400, 500, 750, 1_000, 1_500, 2_000, 3_000, 5_000, 7_500, 10_000),
    *(20_000, 35_000, 50_000, 100_000, 250_000, 500_000, 1_000_000, 2_500_000, 5_000_000, 10_000_000),
)
"""Where buckets of durations end, in microseconds, themselves included; one more has what takes longer."""
SIMILARITY_BINS: Final = 50
LOWEST_SIMILARITY: Final = 0.5
"""Where the first bin of similarities begins, which has what is below as well; the last ends at 1."""
NANO: Final = 1_000_000_000


class OwnCounts:
    """The counts of a process by itself."""

    def __init__(self) -> None:
        self.cells: list[int] = []
        self._places: dict[str, int] = {}

    def place(self, name: str) -> int:
        """Return where the count of `name` is."""
        if name not in self._places:
            self.cells.append(0)
            self._places[name] = len(self.cells) - 1
        return self._places[name]

    def add(self, name: str, count: int = 1) -> None:
        """Count so many more of `name`."""
        self.cells[self.place(name)] += count

    def totals(self) -> dict[str, int]:
        """Return every count that is not zero."""
        return {name: count for name, place in self._places.items() if (count := self.cells[place])}


class Tallies:
    """Counters of a server, each for one rule.

    Names look like `hit.exact`, `bypass.scope_missing` or `refusal.truncated`; `skipped.semantic.over_budget`
    and the like count matchers that were not asked, beside the decision. `counts` may be shared with other
    processes that serve the same store.
    """

    def __init__(self, counts: Counts | None = None) -> None:
        self._lock = Lock()
        self._counts: Counts = OwnCounts() if counts is None else counts
        self._cells = self._counts.cells
        self._places: dict[tuple[str, Outcome, int | None], _Places] = {}
        """Of rules and reasons, of which there are few."""

    def decided(self, decision: Decision, call: Call) -> None:
        """Count a decision on `call`, which ends now."""
        took_us = (time.perf_counter_ns() - call.began_ns) // 1000
        outcome = decision.outcome
        hit = outcome is Outcome.HIT
        why = (
            decision.kind
            if hit
            else decision.bypass_reason
            if outcome is Outcome.BYPASS
            else decision.deny_reason
        )
        key, cells = (decision.rule_id, outcome, why), self._cells
        candidate = decision.candidate
        with self._lock:
            places = self._places.get(key) or self._place(key)
            cells[places.decision] += 1
            cells[places.buckets[bisect_left(BOUNDS_US, took_us)]] += 1
            cells[places.sum] += took_us
            if hit:
                self._add_hit(decision, places)
            elif decision.skipped or decision.shadow:
                self._add_more(decision)
            if candidate is not None and candidate.nearness is not None:
                self._counts.add(decision.rule_id + RULE_ENDS + _near(candidate.nearness))
            if decision.embed_cost_usd is not None:
                name = decision.rule_id + RULE_ENDS + "embed.nano_usd"
                self._counts.add(name, round(decision.embed_cost_usd * NANO))

    def took(self, what: str, seconds: float) -> None:
        """Count a duration of `what`, `embed` or `recall`, under no rule."""
        took_us = int(seconds * 1e6)
        with self._lock:
            self._counts.add(RULE_ENDS + _BUCKETS[what][bisect_left(BOUNDS_US, took_us)])
            self._counts.add(RULE_ENDS + _SUMS[what], took_us)

    def lost_line(self) -> None:
        """Count a line that the log of decisions lost, under no rule."""
        with self._lock:
            self._counts.add(RULE_ENDS + "log.dropped")

    def lost_comparison(self) -> None:
        """Count an answer that was not compared with what was near, under no rule."""
        with self._lock:
            self._counts.add(RULE_ENDS + "labels.lost")

    def stored(self, refusal: RefusalReason | None, rule: str = "") -> None:
        """Count a Store under `rule`, where it is known: acknowledged when `refusal` is None."""
        name = "stored" if refusal is None else f"refusal.{refusal.name.lower()}"
        with self._lock:
            self._counts.add(rule + RULE_ENDS + name)

    def counted(self) -> dict[str, dict[str, int]]:
        """Return all counts at one moment, by rule and name."""
        with self._lock:
            totals = self._counts.totals()
        counted: dict[str, dict[str, int]] = {}
        for name, count in totals.items():
            rule, _, what = name.rpartition(RULE_ENDS)
            counted.setdefault(rule, {})[what] = count
        return counted

    def _place(self, key: tuple[str, Outcome, int | None]) -> _Places:
        """Return, and keep, where decisions alike are counted. Called under the lock."""
        rule, outcome, why = key
        begin, kind, place = rule + RULE_ENDS, _KINDS[outcome], self._counts.place
        hit = outcome is Outcome.HIT
        places = self._places[key] = _Places(
            decision=place(begin + _REASONS[outcome][why]),
            buckets=tuple(place(begin + bucket) for bucket in _BUCKETS[kind]),
            sum=place(begin + _SUMS[kind]),
            unpriced=place(begin + "unpriced") if hit else None,
            avoided=place(begin + "avoided.nano_usd") if hit else None,
        )
        return places

    def _add_hit(self, decision: Decision, places: _Places) -> None:
        """Count what a hit avoided, where it is known. What a near one avoids is not: it may be wrong."""
        assert places.unpriced is not None
        assert places.avoided is not None
        candidate = decision.candidate
        cost = candidate.entry.answer.cost_usd if candidate is not None else None
        if cost is None or (decision.kind is Matcher.SEMANTIC and not decision.priced):
            self._cells[places.unpriced] += 1
        else:
            self._cells[places.avoided] += round(cost * NANO)
        if decision.collapsed:
            self._counts.add(decision.rule_id + RULE_ENDS + "collapsed")
        if decision.stale:
            self._counts.add(decision.rule_id + RULE_ENDS + "stale")

    def _add_more(self, decision: Decision) -> None:
        rule = decision.rule_id + RULE_ENDS
        for skip in decision.skipped:
            self._counts.add(rule + _SKIPPED[skip])
        if decision.shadow and decision.candidate is not None and decision.deny_reason is None:
            self._counts.add(rule + "shadow.would_hit")


class _Places(NamedTuple):
    """Where decisions are counted that have their rule, outcome and reason in common."""

    decision: int
    buckets: tuple[int, ...]
    sum: int
    unpriced: int | None
    """Of hits, as the next."""
    avoided: int | None


def merged(counted: Mapping[str, Mapping[str, int]]) -> dict[str, int]:
    """Return the counts of all rules together."""
    totals: Counter[str] = Counter()
    for counts in counted.values():
        totals.update(counts)
    return dict(totals)


def total(counts: Mapping[str, int], kind: str) -> int:
    """Return the sum of the counts of one kind: `hit`, `miss`, `bypass` or `refusal`."""
    return sum(count for name, count in counts.items() if name.startswith(f"{kind}."))


def _near(nearness: Nearness) -> str:
    share = (nearness.similarity - LOWEST_SIMILARITY) / (1 - LOWEST_SIMILARITY)
    at = min(max(int(share * SIMILARITY_BINS), 0), SIMILARITY_BINS - 1)
    return f"near.{nearness.zone.name.lower()}.{at}"


_SKIPPED = {
    Skip(matcher, reason): f"skipped.{matcher.name.lower()}.{reason.name.lower()}"
    for matcher in Matcher
    for reason in BypassReason
}
_BYPASSES: dict[int | None, str] = {reason: f"bypass.{reason.name.lower()}" for reason in BypassReason}
_MISSES: dict[int | None, str] = {reason: f"miss.{reason.name.lower()}" for reason in DenyReason}
_REASONS: Mapping[Outcome, Mapping[int | None, str]] = {
    Outcome.HIT: {matcher: f"hit.{matcher.name.lower()}" for matcher in Matcher},
    Outcome.MISS: {**_MISSES, None: "miss.no_entry", DenyReason.REFRESH: "refresh"},
    Outcome.BYPASS: {**_BYPASSES, None: "bypass.unspecified"},
}
_KINDS = {Outcome.HIT: "hit", Outcome.MISS: "miss", Outcome.BYPASS: "bypass"}
TIMED: Final = ("hit", "miss", "bypass", "embed", "recall")
"""What has a histogram of durations."""
_BUCKETS = {what: [f"took.{what}.{at}" for at in range(len(BOUNDS_US) + 1)] for what in TIMED}
_SUMS = {what: f"took_us.{what}" for what in TIMED}
