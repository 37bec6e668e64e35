"""The decision itself, sans I/O: a generator that asks questions and returns what to do.

A driver answers the questions from the store; tests answer them from a list. First the checks that need no
store, then the matchers in the rule's order: the first candidate that may be served wins.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import cast

from askonce_server.core import keys
from askonce_server.core.decision import (
    FEEDBACK_LIFE_MS,
    TOKEN_LIFE_MS,
    Answer,
    Candidate,
    Deciding,
    Decision,
    Probe,
    Question,
    ReadBody,
    ReadGenerations,
    Skip,
    bypass,
)
from askonce_server.core.entries import Body, Entry, EntryKey, Generations, Grant, lease_of
from askonce_server.core.errors import Unrepresentable
from askonce_server.core.freshness import Freshness, freshness, living_under
from askonce_server.core.guards import Token
from askonce_server.core.labels import Served
from askonce_server.core.near import Found, Near
from askonce_server.core.outline import with_embedder
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Mode, Outcome
from askonce_server.core.rules import RuleMode
from askonce_server.core.sharing import why_not_shared


def decide(plan: Plan, *, now_ms: int, token: Token | None = None) -> Deciding:
    """Decide what the caller has to do now (milliseconds since 1970).

    `token` hashes what the guards keep of a text; without it no semantic matcher can be asked. Yields
    questions and must be sent their answers. Never raises for what a request says.
    """
    reason = plan.bypass_reason
    if reason is None:
        try:
            return (yield from _Chain(plan, now_ms, token).run())
        except Unrepresentable:
            reason = BypassReason.UNREPRESENTABLE_CONTENT
    return bypass(reason, plan.rule, now_ms=now_ms, anchor=plan.anchor)


class _Chain:
    """One walk along a rule's matchers."""

    def __init__(self, plan: Plan, now_ms: int, token: Token | None) -> None:
        assert plan.rule is not None
        assert plan.scope is not None
        assert plan.derivation is not None
        self._request = plan.request
        self._rule = plan.rule
        self._scope = plan.scope
        self._derivation = plan.derivation
        self._anchor = plan.anchor
        self._now_ms = now_ms
        self._token = token
        self._near = Found()
        self._keys: list[EntryKey] = []
        self._skipped: list[Skip] = []
        self._denied: tuple[DenyReason, Candidate] | None = None

    def run(self) -> Deciding:
        values = yield ReadGenerations(self._scope.generation_names)
        generations = Generations(self._scope.generation_names, cast("tuple[bytes, ...]", values))
        refresh = self._request.controls.mode is Mode.REFRESH
        for matcher in self._rule.strategy:
            if matcher is Matcher.SEMANTIC:
                served = yield from self._try_near(generations)
            else:
                served = yield from self._try_same(matcher, generations, refresh=refresh)
            if served is not None:
                return self._serve(matcher, served, generations)
        return self._miss(generations, refresh=refresh)

    def _try_same(
        self, matcher: Matcher, generations: Generations, *, refresh: bool
    ) -> Generator[Question, Answer, Candidate | None]:
        """Ask for the entry with the same key; return it when it may be served."""
        key = self._key(matcher, generations)
        if isinstance(key, BypassReason):
            self._skipped.append(Skip(matcher, key))
            return None
        self._keys.append(key)
        return None if refresh else (yield from self._try(key))

    def _try_near(self, generations: Generations) -> Generator[Question, Answer, Candidate | None]:
        """Ask for what is near; return it when it may be served."""
        assert self._token is not None
        surface = self._derivation.semantic()
        if isinstance(surface, BypassReason):
            self._skipped.append(Skip(Matcher.SEMANTIC, surface))
            return None
        near = Near(self._request, self._rule, self._scope, surface, now_ms=self._now_ms, token=self._token)
        found = self._near = yield from near.run(generations)
        if found.skip is not None:
            self._skipped.append(Skip(Matcher.SEMANTIC, found.skip))
        if found.key is not None:
            self._keys.append(found.key)
        if found.candidate is None:
            return None
        if found.deny is not None:
            self._denied = (found.deny, found.candidate)
            return None
        return found.candidate

    def _key(self, matcher: Matcher, generations: Generations) -> EntryKey | BypassReason:
        fingerprint = self._derivation.fingerprint(matcher)
        if isinstance(fingerprint, BypassReason):
            return fingerprint
        policy = keys.key_policy(self._rule.key, matcher)
        scope_key = keys.scope_key(generations.values, matcher, policy=policy, parts=self._scope.parts)
        return keys.entry_key(matcher, scope_key, fingerprint)

    def _try(self, key: EntryKey) -> Generator[Question, Answer, Candidate | None]:
        """Ask for the entry at `key`; return it when it may be served."""
        entry = yield Probe(key)
        if entry is None:
            return None
        assert isinstance(entry, Entry)
        entry = living_under(entry, self._rule)
        fresh = self._how_fresh(entry)
        if isinstance(fresh, DenyReason):
            self._denied = (fresh, Candidate(entry))
            return None
        if self._request.omit_body or self._rule.mode is RuleMode.SHADOW:
            return Candidate(entry, freshness=fresh)
        body = yield ReadBody(entry)
        if body is None:  # gone, damaged or under a key that is not here: as if it had not been stored
            self._skipped.append(Skip(key.matcher, BypassReason.STORE_FAILED))
            return None
        assert isinstance(body, Body)
        return Candidate(entry, body, freshness=fresh)

    def _how_fresh(self, entry: Entry) -> Freshness | DenyReason:
        """Return how fresh the entry is, or why it may not be served."""
        request, rule = self._request, self._rule
        deny = why_not_shared(entry, request, rule)
        if deny is not None:
            return deny
        after_error = request.after_upstream_error
        return freshness(entry.answer, request.controls, self._now_ms, rule=rule, after_error=after_error)

    def _serve(self, matcher: Matcher, candidate: Candidate, generations: Generations) -> Decision:
        shadow = self._rule.mode is RuleMode.SHADOW
        refresh = candidate.freshness is Freshness.REFRESH
        grant = self._grant(generations) if shadow or refresh else None
        return Decision(
            Outcome.MISS if shadow else Outcome.HIT,
            self._now_ms,
            rule_id=self._rule.id,
            kind=matcher,
            candidate=candidate,
            skipped=tuple(self._skipped),
            store_answer=grant is not None,
            grant=grant,
            shadow=shadow,
            stale=candidate.freshness is not Freshness.FRESH,
            lease=grant.lease if grant is not None and not shadow else b"",
            anchor=self._anchor,
            embed_cost_usd=self._near.cost_usd,
            served=self._served(candidate, generations) if matcher is Matcher.SEMANTIC else None,
        )

    def _served(self, candidate: Candidate, generations: Generations) -> Served | None:
        """Return what a judgement on a near hit will be recorded under."""
        near = self._near
        if near.served is None:
            return None
        ends_ms = self._now_ms + FEEDBACK_LIFE_MS
        return Served(near.served, self._rule.id, candidate.entry.key, generations, near.vector, ends_ms)

    def _miss(self, generations: Generations, *, refresh: bool) -> Decision:
        last_skip = self._skipped[-1] if self._skipped else None
        if last_skip is not None and last_skip.matcher is not self._rule.strategy[-1]:
            last_skip = None
        looked_up = self._keys or any(skip.reason is BypassReason.OVER_BUDGET for skip in self._skipped)
        deny, candidate = self._denied or (DenyReason.REFRESH if refresh else None, None)
        grant = self._grant(generations)
        return Decision(
            Outcome.MISS if looked_up else Outcome.BYPASS,
            self._now_ms,
            rule_id=self._rule.id,
            kind=candidate.entry.key.matcher if candidate else None,
            candidate=candidate,
            bypass_reason=last_skip.reason if last_skip else None,
            deny_reason=deny if looked_up else None,
            skipped=tuple(self._skipped),
            store_answer=grant is not None,
            grant=grant,
            shadow=self._rule.mode is RuleMode.SHADOW,
            lease=lease_of(tuple(self._keys)) if self._coalesces else b"",
            anchor=self._anchor,
            embed_cost_usd=self._near.cost_usd,
        )

    @property
    def _coalesces(self) -> bool:
        """Whether callers that miss wait for each other: a REFRESH wants an answer of its own."""
        refresh = self._request.controls.mode is Mode.REFRESH
        return self._rule.coalesce is not None and self._rule.mode is RuleMode.SERVE and not refresh

    def _grant(self, generations: Generations) -> Grant | None:
        """Return the leave to store, or None where the caller or the matchers rule it out."""
        request, controls, descriptor = self._request, self._request.controls, self._request.descriptor
        if not self._keys or controls.mode is Mode.READ_ONLY or controls.logging_disabled:
            return None
        self._add_missing_keys(generations)
        return Grant(
            rule_id=self._rule.id,
            dialect=descriptor.dialect,
            endpoint=descriptor.endpoint,
            stream=request.stream,
            served=descriptor.served,
            scope_root=self._scope.root,
            generations=generations,
            keys=tuple(self._keys),
            policies=tuple(keys.key_policy(self._rule.key, key.matcher) for key in self._keys),
            scope_dims=self._rule.scope,
            ttl_ms=controls.ttl_ms,
            start_ms=self._now_ms,
            expire_ms=self._now_ms + TOKEN_LIFE_MS,
            semantic=self._near.row,
            lease=lease_of(tuple(self._keys)),
            outline=self._outline(),
            proposed=self._near.proposed,
        )

    def _outline(self) -> bytes:
        """Return what is kept of the request to explain later misses by."""
        token, embedder = self._token, self._near.embedder
        if token is None:
            return b""
        kept = self._derivation.outline(token)
        return with_embedder(kept, embedder, token) if embedder else kept

    def _add_missing_keys(self, generations: Generations) -> None:
        """Add the keys of matchers that a shadow hit left unasked; embedding for it would cost too much."""
        asked = {key.matcher for key in self._keys} | {skip.matcher for skip in self._skipped}
        for matcher in self._rule.strategy:
            if matcher not in asked and matcher is not Matcher.SEMANTIC:
                key = self._key(matcher, generations)
                if isinstance(key, EntryKey):
                    self._keys.append(key)
