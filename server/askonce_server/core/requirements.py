"""What a request must say under the rule that it matched. Every shortfall is named at once."""

from __future__ import annotations

from askonce_server.core.descriptor import Content, Controls, Descriptor, Target
from askonce_server.core.errors import Violation
from askonce_server.core.parts import Parts
from askonce_server.core.rules import Identity, Rule

_INSTEAD_OF_MESSAGES = frozenset({"prompt", "conversation", "previous_response_id"})
"""Params that may stand where messages are absent; each makes the request stateful."""


def content_violations(descriptor: Descriptor, parts: Parts | None) -> list[Violation]:
    """Return what parts leave unsaid: a gateway that forgot the messages would give all requests one key."""
    if parts is None or parts.messages is not None or not isinstance(descriptor.content, Content):
        return []
    if descriptor.generating and _INSTEAD_OF_MESSAGES.isdisjoint(parts.params):
        text = f"is missing; endpoint {descriptor.endpoint!r} requires it"
        return [Violation("descriptor.parts.messages", text)]
    if parts.system is None and parts.tools is None and not parts.params:
        return [Violation("descriptor.parts", "is empty: it must say what is asked")]
    return []


def stream_violations(descriptor: Descriptor, parts: Parts | None) -> list[Violation]:
    """Return what is wrong with the stream flag, which must be said once and the same everywhere."""
    told, own = descriptor.stream, parts.stream if parts is not None else None
    if own is None:
        if descriptor.generating and told is None and not isinstance(descriptor.content, bytes):
            wish = (
                f"must be set on endpoint {descriptor.endpoint!r}: true for a stream, false for one document"
            )
            return [Violation("descriptor.stream", wish)]
        return []
    if told is not None and told != own:
        text = f"is {_word(told)} but the content says {_word(own)}; say the same or leave it out"
        return [Violation("descriptor.stream", text)]
    if told is None and descriptor.generating and not isinstance(descriptor.content, bytes):
        return [Violation("descriptor.stream", "must be set, like the stream member of params")]
    return []


def wants_stream(descriptor: Descriptor, parts: Parts | None) -> bool:
    """Return whether the caller wants a stream."""
    if descriptor.stream is not None:
        return descriptor.stream
    return bool(parts is not None and parts.stream)


def rule_violations(descriptor: Descriptor, rule: Rule) -> list[Violation]:
    """Return what the rule's `key.identity` needs and the descriptor does not say."""
    found: list[Violation] = []
    identity = rule.key.identity
    if identity is not Identity.TARGET:
        found += _target_violations("descriptor.served", descriptor.served, identity, rule)
    if identity is not Identity.SERVED:
        found += _target_violations("descriptor.requested", descriptor.requested, identity, rule)
    return found


def _target_violations(path: str, target: Target, identity: Identity, rule: Rule) -> list[Violation]:
    need = f"must not be empty: rule {rule.id!r} has key.identity {identity.value}"
    return [
        Violation(f"{path}.{name}", need)
        for name, value in (("provider", target.provider), ("model", target.model))
        if not value
    ]


def ttl_violations(path: str, ttl_ms: int | None, rule: Rule | None) -> list[Violation]:
    """Return what is wrong with a ttl: outside the rule's bounds it is refused, not clamped."""
    if rule is None:
        return [Violation(path, "must be positive")] if ttl_ms is not None and ttl_ms <= 0 else []
    if ttl_ms is None or rule.min_ttl_ms <= ttl_ms <= rule.max_ttl_ms:
        return []
    bounds = f"{rule.min_ttl_ms / 1000:g}s to {rule.max_ttl_ms / 1000:g}s"
    return [Violation(path, f"is {ttl_ms / 1000:g}s; rule {rule.id!r} allows {bounds}")]


def control_violations(controls: Controls) -> list[Violation]:
    """Return which times of the controls are negative."""
    times = (
        ("controls.max_age", controls.max_age_ms),
        ("controls.min_fresh", controls.min_fresh_ms),
        ("controls.max_stale", controls.max_stale_ms),
    )
    return [
        Violation(path, "must not be negative") for path, value in times if value is not None and value < 0
    ]


def _word(value: bool) -> str:  # noqa: FBT001 - the value is the subject
    return "true" if value else "false"
