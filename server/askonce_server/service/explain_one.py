"""One request against the store: what a Lookup would decide now, and why. Nothing is counted or taken."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from askonce_server.core.decide import decide
from askonce_server.core.decision import (
    Answer,
    Deciding,
    Decision,
    Embed,
    EmbeddedText,
    Question,
    Weigh,
    bypass,
)
from askonce_server.core.errors import MalformedRequest, Unrepresentable
from askonce_server.core.fates import Fate
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, DenyReason, Outcome
from askonce_server.ports import EntryStore, StoreUnavailable
from askonce_server.service.asked import Asked
from askonce_server.service.driver import never
from askonce_server.service.explain import Side, because, bounded, name_of, side, under
from askonce_server.service.shared import Shared
from askonce_server.service.whereabouts import Found, Search, Whereabouts

_BUDGET_MS: Final = 5_000
"""So long models may take: what would have been too late for a caller is to be explained all the same."""
_LOADING_SECONDS: Final = 3.0
_LOADING_PAUSE: Final = 0.05


@dataclass(frozen=True, slots=True)
class Explanation:
    """One request against the store."""

    side: Side
    decision: Decision
    found: Found | None
    """None: it is never looked up, or the store cannot be read."""
    left_out: bool
    summary: str


class StoreExplainer:
    """Explains requests against `store`. Hits of the explained are not marked, leases not taken."""

    def __init__(self, shared: Shared, store: EntryStore) -> None:
        self._shared = shared
        self._store = store

    def explain(self, asked: Asked) -> Explanation:
        """Say what a Lookup would decide now, and why. Raises MalformedRequest."""
        shared = self._shared
        try:
            one = side(asked, shared.rules(), more=shared.driver.models.violations)
        except MalformedRequest as malformed:
            raise MalformedRequest(under("lookup", malformed.violations)) from None
        seen = _Seen()
        decision = self._patiently(one.plan, seen)
        found = self._search(one, decision, seen)
        left_out = False
        if found is not None and found.nearest:
            _, left_out = bounded(found.nearest[0].differences)
        return Explanation(one, decision, found, left_out, _summary(one, decision, found))

    def _patiently(self, plan: Plan, seen: _Seen) -> Decision:
        """Decide, again while a partition is still being read."""
        deadline = time.monotonic() + _LOADING_SECONDS
        while True:
            decision = self._decide(plan, seen)
            loading = any(skip.reason is BypassReason.PARTITION_LOADING for skip in decision.skipped)
            if not loading or time.monotonic() >= deadline:
                return decision
            time.sleep(_LOADING_PAUSE)

    def _decide(self, plan: Plan, seen: _Seen) -> Decision:
        """Decide as a Lookup does, but for reading the body, which would count as a use of it."""
        shared, now_ms = self._shared, self._shared.clock.now_ms()
        quiet = replace(plan, request=replace(plan.request, omit_body=True))
        deciding = _watched(decide(quiet, now_ms=now_ms, token=shared.guard_token), seen)
        try:
            return shared.driver.run(deciding, never, budget_ms=_BUDGET_MS)
        except Exception as error:
            if not isinstance(error, StoreUnavailable):
                shared.faults.record("explain", error)
            return bypass(BypassReason.STORE_FAILED, plan.rule, now_ms=now_ms, anchor=plan.anchor)

    def _search(self, one: Side, decision: Decision, seen: _Seen) -> Found | None:
        if one.plan.scope is None:
            return None
        try:
            with self._store.read() as view:
                return Search(
                    view,
                    one.plan,
                    one.subject,
                    now_ms=decision.now_ms,
                    embedder=seen.embedder,
                    token=self._shared.guard_token,
                ).run()
        except (StoreUnavailable, Unrepresentable):
            return None


class _Seen:
    """What passed by while it was decided."""

    def __init__(self) -> None:
        self.embedder = b""
        """The fingerprint of the embedder that gave a vector."""

    def note(self, question: Question, answer: Answer) -> None:
        if isinstance(question, Embed) and isinstance(answer, EmbeddedText):
            self.embedder = answer.embedder


def _watched(deciding: Deciding, seen: _Seen) -> Deciding:
    """Decide as `deciding` does, and note what is asked and answered."""
    try:
        question = next(deciding)
        while True:
            if isinstance(question, Weigh):
                question = replace(question, counted=False)
            answer = yield question
            seen.note(question, answer)
            question = deciding.send(answer)
    except StopIteration as done:
        decision: Decision = done.value
        return decision


def _summary(one: Side, decision: Decision, found: Found | None) -> str:
    if one.reason is not None:
        return f"it is never looked up: {one.reason.name.lower()}{because(one.causes)}"
    if found is None:
        return "the store cannot be read now: every Lookup is a bypass"
    if decision.candidate is not None and decision.deny_reason is None:
        return _served(decision)
    if decision.deny_reason is not None and decision.candidate is not None:
        return _denied(decision)
    told = next((place for place in found.whereabouts if place.fate is not Fate.UNKNOWN), None)
    if told is not None:
        return f"a miss: {fate_of(told)}"
    return f"a miss: {_never(found)}"


def _served(decision: Decision) -> str:
    assert decision.kind is not None
    kind = decision.kind.name.lower()
    if decision.outcome is Outcome.HIT:
        past = ", past its ttl" if decision.stale else ""
        return f"a Lookup would be served now: {kind} hit{past}{_evidence(decision)}"
    return f"a miss: the rule is in shadow mode, else it would be {kind} hit{_evidence(decision)}"


def _evidence(decision: Decision) -> str:
    """Return what spoke for and against a near answer, where there was a vote."""
    near = decision.candidate.nearness if decision.candidate is not None else None
    return "" if near is None or near.evidence is None else f"; {near.evidence.line()}"


def _denied(decision: Decision) -> str:
    assert decision.candidate is not None
    assert decision.deny_reason is not None
    near, reason = decision.candidate.nearness, decision.deny_reason
    if near is None:
        says = _DENIED.get(reason, reason.name.lower())
        ended = decision.candidate.entry.answer.expire_ms
        return f"a miss: {says}{f' at {moment(ended)}' if reason is DenyReason.EXPIRED else ''}"
    nearest = f"the nearest text has similarity {near.similarity:.4f}"
    if near.evidence is not None and not near.guard:
        return f"a miss: {nearest}, and {_VOTED.get(reason, reason.name.lower())}{_evidence(decision)}"
    if reason is DenyReason.BELOW_THRESHOLD:
        return f"a miss: {nearest}, below {near.low_threshold or near.threshold:g}"
    if near.guard:
        return f"a miss: {nearest}, and the guard {near.guard} tells the two apart"
    by = f" by {near.verifier}" if near.verifier else ""
    says = _DENIED.get(reason, reason.name.lower())
    return f"a miss: {nearest} ({near.zone.name.lower()}), and {says}{by}"


_VOTED = {
    DenyReason.BELOW_THRESHOLD: "its vote is below the cut",
    DenyReason.EXPLORE: "its answer is compared with a fresh one before it is served",
    DenyReason.QUARANTINED: "its answer was wrong too often lately",
}
_DENIED = {
    DenyReason.EXPIRED: "it is stored, and its ttl ended",
    DenyReason.TOO_OLD: "it is stored, and older than the request allows",
    DenyReason.STREAM_SHAPE: "it is stored in a shape that the caller does not accept",
    DenyReason.TOOL_CALLS: "the answer calls tools, which the rule does not serve",
    DenyReason.NOT_ADMITTED: "it is stored, and the rule would not store it now",
    DenyReason.GRAY_UNVERIFIED: "no verifier decides between the thresholds",
    DenyReason.VERIFIER_REJECTED: "it was rejected",
    DenyReason.VERIFIER_FAILED: "no verdict was given",
    DenyReason.VERIFIER_TOO_FEW_NEIGHBORS: "there are too few neighbours for a verdict",
}


def fate_of(place: Whereabouts) -> str:
    """Return what became of an entry, as the end of a sentence."""
    when = f" at {moment(place.at_ms)}" if place.at_ms is not None else ""
    if place.fate is Fate.REFUSED:
        why = place.refusal.name.lower() if place.refusal is not None else "unknown"
        return f"its answer was refused{when}: {why}"
    return _FATES[place.fate] + when + (f"; {place.note}" if place.note else "")


_FATES: dict[Fate, str] = {
    Fate.LIVE: "it was stored",
    Fate.EXPIRED: "its ttl ended",
    Fate.EVICTED: "it was evicted to make room",
    Fate.PURGED: "it was purged",
    Fate.DELETED: "it was deleted",
    Fate.UNKNOWN: "it was never stored, or so long ago that it is not remembered",
}


def moment(at_ms: int) -> str:
    """Return a time for people."""
    return (
        datetime.fromtimestamp(at_ms / 1000, UTC)
        .isoformat(sep=" ", timespec="seconds")
        .replace("+00:00", " UTC")
    )


def _never(found: Found) -> str:
    if not found.scope.answers:
        return "nothing is stored in this scope"
    noted = next((place.note for place in found.whereabouts if place.note), "")
    if noted:
        return noted
    near = found.nearest[0] if found.nearest else None
    if near is None or not near.differences:
        return "it was never stored, or so long ago that it is not remembered"
    places = ", ".join(dict.fromkeys(name_of(one) for one in near.differences[:3]))
    return f"it was never stored; the nearest stored answer differs in {places}"
