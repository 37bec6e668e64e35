"""What can be known of a request before the store is asked, so that it need be found out once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from askonce_server.core import keys
from askonce_server.core.anchor import conversation_anchor
from askonce_server.core.decision import Request
from askonce_server.core.derive import Derivation
from askonce_server.core.eligibility import scope_missing, why_not
from askonce_server.core.errors import Unrepresentable
from askonce_server.core.parts import Parts
from askonce_server.core.reasons import BypassReason, Matcher, Mode
from askonce_server.core.rules import Rule, RuleMode


@dataclass(frozen=True, slots=True)
class Scope:
    """Who may share the answer, as far as it does not depend on a generation's value."""

    parts: tuple[bytes, ...]
    root: bytes
    generation_names: tuple[bytes, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """A request under its rule, equal to itself alone.

    Holds nothing that was derived from a generation's value or from the time.
    """

    request: Request
    rule: Rule | None
    bypass_reason: BypassReason | None
    """Why nothing may be looked up. None: `scope` and `derivation` are there."""
    scope: Scope | None = None
    derivation: Derivation | None = None
    anchor: str = ""


def plan(
    request: Request, rule: Rule | None, parts: Parts | None, *, reload: Callable[[], Parts | None]
) -> Plan:
    """Judge `request` under `rule`, the first that matched.

    `parts` is the content, None for digests and where it is not representable; `reload` reads it anew.
    """
    anchor = _anchor(parts) if request.anchor else ""
    reason = _why_bypass(request, rule, parts)
    if reason is not None or rule is None:
        return Plan(request, rule, reason, anchor=anchor)
    dims = keys.scope_parts(rule, request.descriptor.scope, request.controls.namespace)
    root = keys.scope_root(dims)
    names = keys.generation_names(rule, request.descriptor, root=root)
    derivation = Derivation(request.descriptor, rule.key, stream=request.stream, parts=parts, reload=reload)
    if not _derives(derivation, rule):
        return Plan(request, rule, BypassReason.UNREPRESENTABLE_CONTENT, anchor=anchor)
    return Plan(request, rule, None, Scope(dims, root, names), derivation, anchor)


def _derives(derivation: Derivation, rule: Rule) -> bool:
    """Derive what the first matcher needs, before a view of the store is held; say whether it can be."""
    first = rule.strategy[0]
    if first is Matcher.SEMANTIC:
        return True
    try:
        derivation.fingerprint(first)
    except Unrepresentable:
        return False
    return True


def _why_bypass(request: Request, rule: Rule | None, parts: Parts | None) -> BypassReason | None:
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
    return why_not(rule, request.descriptor, parts)


def _anchor(parts: Parts | None) -> str:
    try:
        return conversation_anchor(parts) if parts is not None else ""
    except Unrepresentable:
        return ""
