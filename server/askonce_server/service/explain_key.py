"""Explain a key: every segment of every matcher's key, as a Lookup would derive it, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from askonce_server.core import keys
from askonce_server.core.entries import ZERO_GENERATION, EntryKey
from askonce_server.core.errors import Unrepresentable
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, Matcher
from askonce_server.core.rules import Identity, Rule
from askonce_server.service.asked import Asked, plan_for


@dataclass(frozen=True, slots=True)
class Segment:
    """One part of a key: what it says, and its SHA-256."""

    name: str
    value: bytes

    @property
    def sha256(self) -> str:
        """The digest of the value in hex."""
        return sha256(self.value).hexdigest()


@dataclass(frozen=True, slots=True)
class MatcherKey:
    """One matcher's key, or why it has none."""

    matcher: Matcher
    skipped: BypassReason | None = None
    fingerprint: tuple[Segment, ...] = ()
    """The seven segments in order."""
    scope: tuple[Segment, ...] = ()
    """What the scope key is made of besides generations, in order; the key policy in hex."""
    key: EntryKey | None = None
    partition: bytes = b""
    """Of the semantic matcher: its partition, with the embedder's name in place of its fingerprint."""


@dataclass(frozen=True, slots=True)
class KeyExplanation:
    """The keys of one request under its rule, or why it has none."""

    rule_id: str
    bypass_reason: BypassReason | None
    scope_root: bytes = b""
    matchers: tuple[MatcherKey, ...] = ()
    anchor: str = ""


def explain_key(asked: Asked, rules: Sequence[Rule]) -> KeyExplanation:
    """Return the keys of `asked` in a store that was never purged. Raises MalformedRequest."""
    return explain_plan(plan_for(asked, rules))


def explain_plan(plan: Plan) -> KeyExplanation:
    """Return the keys of a request that was planned."""
    rule_id = plan.rule.id if plan.rule is not None else ""
    if plan.bypass_reason is not None or plan.rule is None or plan.scope is None:
        return KeyExplanation(rule_id, plan.bypass_reason, anchor=plan.anchor)
    try:
        matchers = tuple(_matcher_key(plan, plan.rule, matcher) for matcher in plan.rule.strategy)
    except Unrepresentable:
        return KeyExplanation(rule_id, BypassReason.UNREPRESENTABLE_CONTENT, anchor=plan.anchor)
    return KeyExplanation(rule_id, None, plan.scope.root, matchers, plan.anchor)


def _matcher_key(plan: Plan, rule: Rule, matcher: Matcher) -> MatcherKey:
    assert plan.scope is not None
    assert plan.derivation is not None
    if matcher is Matcher.SEMANTIC:
        surface = plan.derivation.semantic()
        if isinstance(surface, BypassReason):
            return MatcherKey(matcher, skipped=surface)
        return MatcherKey(matcher, partition=_partition(plan, rule, surface.context))
    material = plan.derivation.material(matcher)
    fingerprint = plan.derivation.fingerprint(matcher)
    if isinstance(material, BypassReason) or isinstance(fingerprint, BypassReason):
        return MatcherKey(matcher, skipped=material if isinstance(material, BypassReason) else None)
    policy = keys.key_policy(rule.key, matcher)
    generations = [ZERO_GENERATION] * len(plan.scope.generation_names)
    scope_key = keys.scope_key(generations, matcher, policy=policy, parts=plan.scope.parts)
    return MatcherKey(
        matcher,
        fingerprint=_fingerprint_segments(plan, rule, matcher, material),
        scope=_scope_segments(plan, rule, matcher, policy),
        key=keys.entry_key(matcher, scope_key, fingerprint),
    )


def _partition(plan: Plan, rule: Rule, context: bytes) -> bytes:
    assert plan.scope is not None
    scope_key = keys.scope_key(
        [ZERO_GENERATION] * len(plan.scope.generation_names),
        Matcher.SEMANTIC,
        policy=keys.key_policy(rule.key, Matcher.SEMANTIC),
        parts=plan.scope.parts,
        embedder=rule.semantic.embedder.encode() if rule.semantic is not None else b"",
    )
    return keys.partition(scope_key, context, history_max_messages=rule.key.history_max_messages)


def _fingerprint_segments(plan: Plan, rule: Rule, matcher: Matcher, material: bytes) -> tuple[Segment, ...]:
    descriptor = plan.request.descriptor
    upstream = descriptor.requested if rule.key.identity is Identity.TARGET else descriptor.served
    shape = "" if rule.key.stream_shared else "stream" if plan.request.stream else "json"
    named = (
        ("dialect", descriptor.dialect),
        ("endpoint", descriptor.endpoint),
        ("provider", upstream.provider),
        ("model", upstream.model),
        ("profile", keys.PROFILES[matcher]),
    )
    return (
        *(Segment(name, value.encode()) for name, value in named),
        Segment("material", material),
        Segment("stream", shape.encode()),
    )


def _scope_segments(plan: Plan, rule: Rule, matcher: Matcher, policy: bytes) -> tuple[Segment, ...]:
    descriptor, namespace = plan.request.descriptor, plan.request.controls.namespace
    dims = [Segment(f"dim {name}", descriptor.scope[name].encode()) for name in rule.scope]
    if namespace:
        dims.append(Segment("namespace", namespace.encode()))
    return (
        Segment("matcher", keys.PROFILES[matcher].encode()),
        Segment("key policy", policy.hex().encode()),
        *dims,
    )
