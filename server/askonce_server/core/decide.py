"""The decision itself, sans I/O: a generator that asks questions and returns what to do.

A driver answers the questions from the store; tests answer them from a list. First the checks that need no
store, then the matchers in the rule's order: the first candidate that may be served wins.
"""

from __future__ import annotations

from collections.abc import Generator

from askonce_server.core import keys
from askonce_server.core.anchor import conversation_anchor
from askonce_server.core.decision import (
    TOKEN_LIFE_MS,
    Answer,
    Candidate,
    Deciding,
    Decision,
    Probe,
    Question,
    ReadBody,
    ReadGenerations,
    Request,
    Skip,
    bypass,
    with_anchor,
)
from askonce_server.core.derive import Derivation
from askonce_server.core.eligibility import scope_missing, why_not
from askonce_server.core.entries import Body, Entry, EntryKey, Generations, Grant
from askonce_server.core.errors import Unrepresentable
from askonce_server.core.freshness import why_not_fresh
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Mode, Outcome
from askonce_server.core.rules import Rule, RuleMode


def decide(request: Request, rule: Rule | None) -> Deciding:
    """Decide what the caller of `request` has to do under `rule`, the first that matched.

    Yields questions and must be sent their answers. Never raises for what a request says.
    """
    reason = why_bypass(request, rule)
    if reason is None:
        assert rule is not None
        try:
            decision = yield from _Chain(request, rule).run()
        except Unrepresentable:
            reason = BypassReason.UNREPRESENTABLE_CONTENT
    if reason is not None:
        shadow = rule is not None and rule.mode is RuleMode.SHADOW
        decision = bypass(
            reason, now_ms=request.now_ms, rule_id=rule.id if rule is not None else "", shadow=shadow
        )
    if request.anchor and request.parts is not None:
        return with_anchor(decision, conversation_anchor(request.parts))
    return decision


def why_bypass(request: Request, rule: Rule | None) -> BypassReason | None:
    """Return why nothing may be looked up, or None. The store is not needed for it."""
    if rule is None:
        return BypassReason.NO_RULE
    if rule.mode is RuleMode.OFF:
        return BypassReason.DISABLED
    if not request.representable:
        return BypassReason.UNREPRESENTABLE_CONTENT
    if not request.known_mode or request.controls.mode is Mode.BYPASS:
        return BypassReason.CALLER_BYPASS
    if scope_missing(rule, request.descriptor):
        return BypassReason.SCOPE_MISSING
    return why_not(rule, request.descriptor, request.parts)


class _Chain:
    """One walk along a rule's matchers."""

    def __init__(self, request: Request, rule: Rule) -> None:
        self._request = request
        self._rule = rule
        self._scope = keys.scope_parts(rule, request.descriptor.scope, request.controls.namespace)
        self._root = keys.scope_root(self._scope)
        self._derivation = Derivation(request.descriptor, request.parts, rule.key, stream=request.stream)
        self._keys: list[EntryKey] = []
        self._skipped: list[Skip] = []
        self._denied: tuple[DenyReason, Candidate] | None = None

    def run(self) -> Deciding:
        request, rule = self._request, self._rule
        names = keys.generation_names(rule, request.descriptor, root=self._root)
        values = yield ReadGenerations(names)
        assert isinstance(values, tuple)
        generations = Generations(names, values)
        refresh = request.controls.mode is Mode.REFRESH
        for matcher in rule.strategy:
            key = self._key(matcher, generations)
            if isinstance(key, BypassReason):
                self._skipped.append(Skip(matcher, key))
                continue
            self._keys.append(key)
            if refresh:
                continue
            served = yield from self._try(key)
            if served is not None:
                return self._serve(matcher, served, generations)
        return self._miss(generations, refresh=refresh)

    def _key(self, matcher: Matcher, generations: Generations) -> EntryKey | BypassReason:
        fingerprint = self._derivation.fingerprint(matcher)
        if isinstance(fingerprint, BypassReason):
            return fingerprint
        policy = keys.key_policy(self._rule.key, matcher)
        scope_key = keys.scope_key(generations.values, matcher, policy=policy, parts=self._scope)
        return keys.entry_key(matcher, scope_key, fingerprint)

    def _try(self, key: EntryKey) -> Generator[Question, Answer, Candidate | None]:
        """Ask for the entry at `key`; return it when it may be served."""
        entry = yield Probe(key)
        if entry is None:
            return None
        assert isinstance(entry, Entry)
        denied = self._why_deny(entry)
        if denied is not None:
            self._denied = (denied, Candidate(entry))
            return None
        if self._request.omit_body or self._rule.mode is RuleMode.SHADOW:
            return Candidate(entry)
        body = yield ReadBody(entry)
        if body is None:
            return None
        assert isinstance(body, Body)
        return Candidate(entry, body)

    def _why_deny(self, entry: Entry) -> DenyReason | None:
        request = self._request
        stale = why_not_fresh(entry.answer, request.controls, request.now_ms)
        if stale is not None:
            return stale
        accepts = request.accepts or {request.stream}
        return None if entry.answer.stream in accepts else DenyReason.STREAM_SHAPE

    def _serve(self, matcher: Matcher, candidate: Candidate, generations: Generations) -> Decision:
        shadow = self._rule.mode is RuleMode.SHADOW
        grant = self._grant(generations) if shadow else None
        return Decision(
            Outcome.MISS if shadow else Outcome.HIT,
            self._request.now_ms,
            rule_id=self._rule.id,
            kind=matcher,
            candidate=candidate,
            skipped=tuple(self._skipped),
            store_answer=grant is not None,
            grant=grant,
            shadow=shadow,
        )

    def _miss(self, generations: Generations, *, refresh: bool) -> Decision:
        last_skip = self._skipped[-1] if self._skipped else None
        if last_skip is not None and last_skip.matcher is not self._rule.strategy[-1]:
            last_skip = None
        deny, candidate = self._denied or (DenyReason.REFRESH if refresh else None, None)
        grant = self._grant(generations)
        return Decision(
            Outcome.MISS if self._keys else Outcome.BYPASS,
            self._request.now_ms,
            rule_id=self._rule.id,
            kind=candidate.entry.key.matcher if candidate else None,
            candidate=candidate,
            bypass_reason=last_skip.reason if last_skip else None,
            deny_reason=deny if self._keys else None,
            skipped=tuple(self._skipped),
            store_answer=grant is not None,
            grant=grant,
            shadow=self._rule.mode is RuleMode.SHADOW,
        )

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
            scope_root=self._root,
            generations=generations,
            keys=tuple(self._keys),
            ttl_ms=controls.ttl_ms,
            start_ms=request.now_ms,
            expire_ms=request.now_ms + TOKEN_LIFE_MS,
        )

    def _add_missing_keys(self, generations: Generations) -> None:
        """Add the keys of matchers that a shadow hit left unasked, so that the Store serves them all."""
        asked = {key.matcher for key in self._keys} | {skip.matcher for skip in self._skipped}
        for matcher in self._rule.strategy:
            if matcher not in asked:
                key = self._key(matcher, generations)
                if isinstance(key, EntryKey):
                    self._keys.append(key)
