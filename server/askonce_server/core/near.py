"""The semantic matcher, sans I/O: embed, recall, and judge the nearest candidate.

Zones first, since they cost nothing; then the guards, which nothing overrules; then, in the gray band alone,
the verifier. Whatever is in doubt is a miss.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import cast

from askonce_server.core import keys
from askonce_server.core.decision import (
    Answer,
    Candidate,
    Embed,
    EmbeddedText,
    Nearness,
    Question,
    ReadBody,
    ReadGenerations,
    Recall,
    Request,
    Verdict,
    Verify,
)
from askonce_server.core.derive import SemanticSurface
from askonce_server.core.entries import Body, EntryKey, Generations, Neighbor, SemanticRow
from askonce_server.core.freshness import Freshness, freshness, living_under
from askonce_server.core.guards import GuardFeatures, Token, features, from_bytes, judge, to_bytes
from askonce_server.core.plan import Scope
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Mode
from askonce_server.core.rules import Gray, Rule, RuleMode, SemanticPolicy
from askonce_server.core.sharing import why_not_shared
from askonce_server.core.zones import Zone, zone


@dataclass(frozen=True, slots=True)
class Found:
    """What the matcher came to."""

    skip: BypassReason | None = None
    """Why it could not be asked, or not to the end."""
    key: EntryKey | None = None
    """Where the answer will be filed; None where the text has no vector."""
    row: SemanticRow | None = None
    """What will be filed with it."""
    candidate: Candidate | None = None
    deny: DenyReason | None = None
    """Why the candidate may not be served. None: it may, if there is one."""
    cost_usd: float | None = None
    embedder: bytes = b""
    """The fingerprint of the embedder, where it was asked and gave a vector."""


class Near:
    """One request before the semantic matcher. `token` hashes what the guards keep of a text."""

    def __init__(  # noqa: PLR0913 - what a request is made of
        self,
        request: Request,
        rule: Rule,
        scope: Scope,
        surface: SemanticSurface,
        *,
        now_ms: int,
        token: Token,
    ) -> None:
        assert rule.semantic is not None
        self._request = request
        self._rule = rule
        self._policy: SemanticPolicy = rule.semantic
        self._scope = scope
        self._surface = surface
        self._now_ms = now_ms
        self._token = token
        self._features: GuardFeatures | None = None

    def run(self, generations: Generations) -> Generator[Question, Answer, Found]:
        """Yield questions and return what was found. Keys are derived under `generations`."""
        answer = yield Embed(self._surface.text, self._policy, self._request.descriptor.embedding)
        if isinstance(answer, BypassReason):
            return Found(skip=answer)
        embedded = cast("EmbeddedText", answer)
        key = self._key(embedded, generations)
        found = Found(
            key=key, row=self._row(embedded), cost_usd=embedded.cost_usd, embedder=embedded.embedder
        )
        if self._request.controls.mode is Mode.REFRESH or not (yield from self._still(generations)):
            return found
        answer = yield Recall(key.partition, embedded.vector, self._now_ms - self._rule.stale.longest_ms)
        if isinstance(answer, BypassReason):
            return replace(found, skip=answer)
        neighbors = cast("tuple[Neighbor, ...]", answer)
        judged = yield from self._judge(key, neighbors, generations)
        if isinstance(judged, BypassReason):
            return replace(found, skip=judged)
        candidate, deny = judged
        return replace(found, candidate=candidate, deny=deny)

    def _key(self, embedded: EmbeddedText, generations: Generations) -> EntryKey:
        policy = self._rule.key
        scope_key = keys.scope_key(
            generations.values,
            Matcher.SEMANTIC,
            policy=keys.key_policy(policy, Matcher.SEMANTIC),
            parts=self._scope.parts,
            embedder=embedded.embedder,
        )
        partition = keys.partition(
            scope_key, self._surface.context, history_max_messages=policy.history_max_messages
        )
        return keys.semantic_key(scope_key, partition, self._surface.text)

    def _row(self, embedded: EmbeddedText) -> SemanticRow | None:
        controls = self._request.controls
        if controls.mode is Mode.READ_ONLY or controls.logging_disabled:
            return None
        text = self._surface.text if self._policy.store_text else ""
        return SemanticRow(embedded.vector, to_bytes(self._own_features()), text)

    def _own_features(self) -> GuardFeatures:
        if self._features is None:
            self._features = features(self._surface.text, self._token)
        return self._features

    def _still(self, generations: Generations) -> Generator[Question, Answer, bool]:
        """Whether nothing was purged since: what was recalled or confirmed may be gone since then."""
        values = yield ReadGenerations(generations.names)
        return values == generations.values

    def _judge(
        self, key: EntryKey, neighbors: tuple[Neighbor, ...], generations: Generations
    ) -> Generator[Question, Answer, tuple[Candidate | None, DenyReason | None] | BypassReason]:
        """Judge the nearest that is fresh and can be read; return it, and why it may not be served."""
        stale: tuple[Candidate, DenyReason] | None = None
        unreadable = False
        for neighbor in neighbors:
            nearness = self._nearness(neighbor)
            entry = living_under(neighbor.entry, self._rule)
            fresh = self._how_fresh(neighbor, nearness)
            if isinstance(fresh, DenyReason):
                stale = stale or (Candidate(entry, nearness=nearness), fresh)
                continue
            deny, nearness = yield from self._deny(key, neighbor, neighbors, nearness)
            candidate = Candidate(entry, nearness=nearness, freshness=fresh)
            if deny is not None or self._request.omit_body or self._rule.mode is RuleMode.SHADOW:
                return candidate, deny
            if nearness.verifier and not (yield from self._still(generations)):
                return None, None
            body = yield ReadBody(neighbor.entry)
            if body is not None:
                return replace(candidate, body=cast("Body", body)), None
            unreadable = True
        return stale or (BypassReason.STORE_FAILED if unreadable else (None, None))

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
        self, key: EntryKey, neighbor: Neighbor, neighbors: tuple[Neighbor, ...], nearness: Nearness
    ) -> Generator[Question, Answer, tuple[DenyReason | None, Nearness]]:
        answer = neighbor.entry.answer
        if nearness.zone is Zone.BELOW:
            return DenyReason.BELOW_THRESHOLD, nearness
        deny = why_not_shared(neighbor.entry, self._request, self._rule)
        if deny is not None:
            return deny, nearness
        if answer.contains_tool_calls and not self._policy.tool_calls:
            return DenyReason.TOOL_CALLS, nearness
        try:
            stored = from_bytes(neighbor.row.features)
        except ValueError:
            stored = GuardFeatures(schema=0)
        hit = judge(self._own_features(), stored, self._policy.guards)
        if hit is not None:
            return hit.reason, replace(nearness, guard=hit.name)
        if nearness.zone is Zone.ABOVE:
            return None, nearness
        if self._policy.verifier is Gray.NONE:
            return DenyReason.GRAY_UNVERIFIED, nearness
        verdict = yield Verify(
            self._policy, self._surface.text, key.partition, neighbor, neighbors, self._now_ms
        )
        assert isinstance(verdict, Verdict)
        confirmed = verdict.reason is None
        return verdict.reason, replace(nearness, verifier=self._policy.verifier.value, verified=confirmed)
