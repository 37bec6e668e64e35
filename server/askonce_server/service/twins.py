"""Which lookups are the same."""

from __future__ import annotations

from collections.abc import Hashable

from askonce_server.core.errors import Unrepresentable
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, Matcher


def identity(plan: Plan) -> Hashable:
    """Return what two lookups have in common when one answer serves both, or None when it cannot be said."""
    if plan.rule is None or plan.scope is None or plan.derivation is None:
        return None
    try:
        first = plan.rule.strategy[0]
        fingerprint = plan.derivation.fingerprint(Matcher.EXACT if first is Matcher.SEMANTIC else first)
    except Unrepresentable:
        return None
    if isinstance(fingerprint, BypassReason):
        return None
    request = plan.request
    shapes = request.accepts or {request.stream}
    return (
        plan.rule.id,
        plan.scope.root,
        fingerprint,
        request.controls,
        frozenset(shapes),
        request.omit_body,
        request.after_upstream_error,
    )
