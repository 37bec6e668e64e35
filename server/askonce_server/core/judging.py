"""Which of the neighbours may be served, sans I/O: by thresholds, or by a vote.

Zones first, since they cost nothing; then the guards, which nothing overrules; then, in the gray band alone,
the verifier. Whatever is in doubt is a miss.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from operator import mul
from typing import NamedTuple, cast

from askonce_server.core.decision import (
    Answer,
    Bars,
    Candidate,
    Nearness,
    Question,
    ReadBars,
    ReadBody,
    Request,
    Verdict,
    Verify,
    Weigh,
)
from askonce_server.core.entries import Body, EntryKey, Neighbor
from askonce_server.core.freshness import Freshness, freshness, living_under
from askonce_server.core.groups import group_of
from askonce_server.core.guards import GuardFeatures, from_bytes, judge
from askonce_server.core.proposed import Method, Proposed, label_id
from askonce_server.core.reasons import BypassReason, DenyReason
from askonce_server.core.rules import Gray, Rule, RuleMode, SemanticPolicy
from askonce_server.core.ruling import Outcome, Ruling
from askonce_server.core.sharing import why_not_shared
from askonce_server.core.vote import vote
from askonce_server.core.zones import Zone, zone

_ALIKE = 0.99
"""The cosine from which on a question is the one that was labelled."""
_DENIALS = {
    Outcome.EXPLORE: DenyReason.EXPLORE,
    Outcome.BELOW: DenyReason.BELOW_THRESHOLD,
    Outcome.AUDIT: DenyReason.EXPLORE,
    Outcome.PROBATION: DenyReason.EXPLORE,
    Outcome.QUARANTINED: DenyReason.QUARANTINED,
}


class Asked(NamedTuple):
    """What was asked."""

    key: EntryKey
    """Where its answer will be filed."""
    text: str
    embedder: bytes
    """The embedder's fingerprint."""
    vector: bytes
    """float32 little endian, of unit length."""


class Judged(NamedTuple):
    """What a matcher came to."""

    candidate: Candidate | None
    deny: DenyReason | None = None
    """Why the candidate may not be served. None: it may, if there is one."""
    proposed: Proposed | None = None
    """What the fresh answer will be compared with."""
    served: Proposed | None = None
    """The candidate, for a judgement on it once it is served."""


Judgement = Generator[Question, Answer, Judged | BypassReason]


class Judging:
    """Serves what is above a threshold."""

    def __init__(  # noqa: PLR0913 - what a request is made of
        self,
        request: Request,
        rule: Rule,
        *,
        now_ms: int,
        features: Callable[[], GuardFeatures],
        still: Callable[[], Generator[Question, Answer, bool]],
        asked: Asked,
    ) -> None:
        """`features` are those of what is asked; `still` asks whether nothing was purged since."""
        assert rule.semantic is not None
        self._request = request
        self._rule = rule
        self._policy: SemanticPolicy = rule.semantic
        self._now_ms = now_ms
        self._features = features
        self._still = still
        self._asked = asked

    def judge(self, neighbors: Sequence[Neighbor]) -> Judgement:
        """Judge the nearest that is fresh and can be read; return it, and why it may not be served."""
        stale: Judged | None = None
        unreadable = False
        for neighbor in neighbors:
            nearness = self._nearness(neighbor)
            entry = living_under(neighbor.entry, self._rule)
            fresh = self._how_fresh(neighbor, nearness)
            if isinstance(fresh, DenyReason):
                stale = stale or Judged(Candidate(entry, nearness=nearness), fresh)
                continue
            deny, nearness = yield from self._deny(neighbor, neighbors, nearness)
            if deny is None and (yield from self._is_barred(neighbor)):
                deny = DenyReason.QUARANTINED
            candidate = Candidate(entry, nearness=nearness, freshness=fresh)
            if deny is not None or self._request.omit_body or self._rule.mode is RuleMode.SHADOW:
                return Judged(candidate, deny, self._shadowed(neighbor, nearness))
            if nearness.verifier and not (yield from self._still()):
                return Judged(None)
            body = yield ReadBody(neighbor.entry)
            if body is not None:
                served = self._propose(neighbor, nearness, Method.FEEDBACK)
                return Judged(replace(candidate, body=cast("Body", body)), served=served)
            unreadable = True
        return stale or (BypassReason.STORE_FAILED if unreadable else Judged(None))

    def _is_barred(self, neighbor: Neighbor) -> Generator[Question, Answer, bool]:
        """Whether the entry was found wrong for a question like this one."""
        bars = yield ReadBars(neighbor.entry)
        assert isinstance(bars, Bars)
        return any(not vector or _alike(self._asked.vector, vector) for vector in bars.vectors)

    def _how_fresh(self, neighbor: Neighbor, nearness: Nearness) -> Freshness | DenyReason:
        """Return how fresh it is, or why it may not be served. What is stale must be above the threshold."""
        fresh = freshness(
            neighbor.entry.answer,
            self._request.controls,
            self._now_ms,
            rule=self._rule,
            after_error=self._request.after_upstream_error,
        )
        stale = fresh in (Freshness.STALE, Freshness.REFRESH)
        return DenyReason.EXPIRED if stale and nearness.zone is not Zone.ABOVE else fresh

    def _nearness(self, neighbor: Neighbor) -> Nearness:
        threshold, low = self._policy.threshold, self._policy.low_threshold
        falls = zone(neighbor.similarity, threshold=threshold, low_threshold=low)
        return Nearness(neighbor.similarity, falls, threshold, low)

    def _deny(
        self, neighbor: Neighbor, neighbors: Sequence[Neighbor], nearness: Nearness
    ) -> Generator[Question, Answer, tuple[DenyReason | None, Nearness]]:
        if nearness.zone is Zone.BELOW:
            return DenyReason.BELOW_THRESHOLD, nearness
        deny, nearness = self._object(neighbor, nearness)
        if deny is not None or nearness.zone is Zone.ABOVE:
            return deny, nearness
        if self._policy.verifier is Gray.NONE:
            return DenyReason.GRAY_UNVERIFIED, nearness
        asked = self._asked
        verdict = yield Verify(
            self._policy, asked.text, asked.key.partition, neighbor, tuple(neighbors), self._now_ms
        )
        assert isinstance(verdict, Verdict)
        confirmed = verdict.reason is None
        return verdict.reason, replace(nearness, verifier=self._policy.verifier.value, verified=confirmed)

    def _object(self, neighbor: Neighbor, nearness: Nearness) -> tuple[DenyReason | None, Nearness]:
        """Return what speaks against a neighbour that no similarity outweighs."""
        deny = why_not_shared(neighbor.entry, self._request, self._rule)
        if deny is not None:
            return deny, nearness
        if neighbor.entry.answer.contains_tool_calls and not self._policy.tool_calls:
            return DenyReason.TOOL_CALLS, nearness
        try:
            stored = from_bytes(neighbor.row.features)
        except ValueError:
            stored = GuardFeatures(schema=0)
        hit = judge(self._features(), stored, self._policy.guards)
        return (None, nearness) if hit is None else (hit.reason, replace(nearness, guard=hit.name))

    def _shadowed(self, neighbor: Neighbor, nearness: Nearness) -> Proposed | None:
        """Return the candidate of a rule that only watches, to be compared with the fresh answer."""
        if self._rule.mode is not RuleMode.SHADOW:
            return None
        return self._propose(neighbor, nearness, Method.SHADOW)

    def _propose(
        self, neighbor: Neighbor, nearness: Nearness, method: Method, ticket: bytes = b""
    ) -> Proposed:
        asked, found = self._asked.key, neighbor.entry.key
        named = label_id(asked.entry_id, found.entry_id, now_ms=self._now_ms)
        return Proposed(named, method, found.fingerprint, nearness.similarity, ticket, nearness.guard)


class Voting(Judging):
    """Serves the answer that enough of the neighbourhood speaks for."""

    def judge(self, neighbors: Sequence[Neighbor]) -> Judgement:
        """Vote on the answer of the nearest that is fresh and that no guard vetoes."""
        refused: Judged | None = None
        for at, neighbor in enumerate(neighbors):
            nearness = self._nearness(neighbor)
            entry = living_under(neighbor.entry, self._rule)
            fresh = self._how_fresh(neighbor, nearness)
            candidate = Candidate(entry, nearness=nearness)
            if nearness.zone is Zone.BELOW:
                return refused or Judged(candidate, DenyReason.BELOW_THRESHOLD)
            if isinstance(fresh, DenyReason):
                refused = refused or Judged(candidate, fresh)
                continue
            deny, nearness = self._object(neighbor, nearness)
            candidate = Candidate(entry, nearness=nearness, freshness=fresh)
            if deny is None:
                return (yield from self._weigh(candidate, neighbors, at))
            refused = refused or Judged(candidate, deny, self._shadowed(neighbor, nearness))
        return refused or Judged(None)

    def _weigh(self, candidate: Candidate, neighbors: Sequence[Neighbor], at: int) -> Judgement:
        """Serve a candidate, or explore it."""
        policy, nearness = self._policy, candidate.nearness
        assert policy.vote is not None
        assert nearness is not None
        groups = [group_of(one) for one in neighbors]
        cast_vote = vote([one.similarity for one in neighbors], groups, at, policy.vote.shape)
        if cast_vote is None:
            return Judged(candidate, DenyReason.BELOW_THRESHOLD)
        ruling = yield Weigh(self._rule.id, policy, self._asked.embedder, groups[at], cast_vote)
        assert isinstance(ruling, Ruling)
        candidate = replace(candidate, nearness=replace(nearness, evidence=ruling.evidence))
        shadow = self._rule.mode is RuleMode.SHADOW
        if ruling.outcome is not Outcome.SERVE or shadow:
            proposed = self._explored(neighbors[at], nearness, ruling, shadow=shadow)
            return Judged(candidate, _DENIALS.get(ruling.outcome), proposed)
        if self._request.omit_body:
            return Judged(candidate)
        body = yield ReadBody(neighbors[at].entry)
        if body is None:
            return BypassReason.STORE_FAILED
        served = self._propose(neighbors[at], nearness, Method.FEEDBACK, ruling.ticket.to_bytes())
        return Judged(replace(candidate, body=cast("Body", body)), served=served)

    def _explored(self, found: Neighbor, nearness: Nearness, ruling: Ruling, *, shadow: bool) -> Proposed:
        """Return what the label will be counted under: what a shadow rule would serve is labelled always."""
        ticket, method = ruling.ticket, Method.EXPLORE
        if shadow:
            method = Method.SHADOW
            if ruling.outcome is Outcome.SERVE:
                ticket = ticket._replace(outcome=Outcome.EXPLORE)
        elif ruling.outcome is Outcome.AUDIT:
            method = Method.AUDIT
        return self._propose(found, nearness, method, ticket.to_bytes())


def _alike(asked: bytes, barred: bytes) -> bool:
    """Whether a question is one that was barred, as far as signed bytes tell."""
    mine, theirs = array("f", asked), array("b", barred)
    if len(mine) != len(theirs):
        return False
    length = math.sqrt(sum(one * one for one in theirs))
    product: float = sum(map(mul, mine, theirs))
    return product >= _ALIKE * length
