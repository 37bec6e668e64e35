"""Counts of what was decided: every decision exactly once, as a hit, a miss or a bypass."""

from __future__ import annotations

from collections import Counter
from threading import Lock

from askonce_server.core.decision import Decision, Skip
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Outcome, RefusalReason
from askonce_server.ports import Counts


class OwnCounts:
    """The counts of a process by itself."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, name: str, count: int = 1) -> None:
        """Count so many more of `name`."""
        self._counts[name] += count

    def totals(self) -> dict[str, int]:
        """Return every count that is not zero."""
        return dict(self._counts)


class Tallies:
    """Counters of a server. Keys look like `hit.exact`, `bypass.scope_missing` or `refusal.truncated`.

    `skipped.semantic.partition_loading` and the like count matchers that were not asked, beside the decision.

    `counts` may be shared with other processes that serve the same store.
    """

    def __init__(self, counts: Counts | None = None) -> None:
        self._lock = Lock()
        self._counts: Counts = OwnCounts() if counts is None else counts

    def decided(self, decision: Decision) -> None:
        """Count a decision."""
        name = _name(decision)
        would_hit = decision.shadow and decision.candidate is not None and decision.deny_reason is None
        with self._lock:
            self._counts.add(name)
            for skip in decision.skipped:
                self._counts.add(_SKIPPED[skip])
            if would_hit:
                self._counts.add("shadow.would_hit")

    def stored(self, refusal: RefusalReason | None) -> None:
        """Count a Store: acknowledged when `refusal` is None."""
        name = "stored" if refusal is None else f"refusal.{refusal.name.lower()}"
        with self._lock:
            self._counts.add(name)

    def snapshot(self) -> dict[str, int]:
        """Return all counts at one moment."""
        with self._lock:
            return self._counts.totals()


def _name(decision: Decision) -> str:
    if decision.outcome is Outcome.HIT:
        assert decision.kind is not None
        return _HITS[decision.kind]
    if decision.outcome is Outcome.BYPASS:
        reason = decision.bypass_reason
        return f"bypass.{reason.name.lower() if reason else 'unspecified'}"
    if decision.deny_reason is DenyReason.REFRESH:
        return "refresh"
    return f"miss.{decision.deny_reason.name.lower() if decision.deny_reason else 'no_entry'}"


_SKIPPED = {
    Skip(matcher, reason): f"skipped.{matcher.name.lower()}.{reason.name.lower()}"
    for matcher in Matcher
    for reason in BypassReason
}
_HITS = {matcher: f"hit.{matcher.name.lower()}" for matcher in Matcher}


def total(counts: dict[str, int], kind: str) -> int:
    """Return the sum of the counts of one kind: `hit`, `miss`, `bypass` or `refusal`."""
    return sum(count for name, count in counts.items() if name.startswith(f"{kind}."))
