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
    Question,
    ReadGenerations,
    Recall,
    Request,
)
from askonce_server.core.derive import SemanticSurface
from askonce_server.core.entries import EntryKey, Generations, Neighbor, SemanticRow
from askonce_server.core.guards import GuardFeatures, Token, features, to_bytes
from askonce_server.core.judging import Asked, Judging, Voting
from askonce_server.core.plan import Scope
from askonce_server.core.proposed import Proposed
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Mode
from askonce_server.core.rules import Rule, SemanticPolicy


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
    proposed: Proposed | None = None
    """What the fresh answer will be compared with."""
    served: Proposed | None = None
    """The candidate, for a judgement on it once it is served."""
    vector: bytes = b""
    """Of what was asked, where anything was recalled."""
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
        judging = (Judging if self._policy.vote is None else Voting)(
            self._request,
            self._rule,
            now_ms=self._now_ms,
            features=self._own_features,
            still=lambda: self._still(generations),
            asked=Asked(key, self._surface.text, embedded.embedder, embedded.vector),
        )
        judged = yield from judging.judge(neighbors)
        if isinstance(judged, BypassReason):
            return replace(found, skip=judged)
        return replace(
            found,
            candidate=judged.candidate,
            deny=judged.deny,
            proposed=judged.proposed,
            served=judged.served,
            vector=embedded.vector,
        )

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
