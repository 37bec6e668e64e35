"""The Cache-Status field of RFC 9211, ready-made: what a gateway forwards to its client."""

from __future__ import annotations

from collections.abc import Mapping

from askonce_server.core.decision import Decision
from askonce_server.core.entries import Answer
from askonce_server.core.reasons import DenyReason, Matcher, Outcome, RefusalReason

_CACHE = "askonce"
_FORWARD_REASONS = {
    DenyReason.EXPIRED: "stale",
    DenyReason.TOO_OLD: "request",
    DenyReason.REFRESH: "request",
    DenyReason.STREAM_SHAPE: "request",
}
"""RFC 9211 section 2.2: `stale`, and `request` where the request's own wishes ruled the answer out."""

_KINDS: Mapping[Matcher | None, str] = {
    None: "",
    **{matcher: f"; detail={matcher.name.lower()}" for matcher in Matcher},
}


def of_decision(decision: Decision) -> str:
    """Return the field for a decision. `hit` and `fwd` exclude each other; a shadow hit is a miss."""
    if decision.collapsed:
        return f"{_CACHE}; fwd=miss; collapsed{_kind(decision)}"
    if decision.outcome is Outcome.HIT and decision.candidate is not None:
        before, after = around_ttl(decision)
        return f"{before}{_ttl(decision.candidate.entry.answer, decision.now_ms)}{after}"
    if decision.outcome is Outcome.BYPASS:
        reason = decision.bypass_reason
        return f"{_CACHE}; fwd=bypass" + (f"; detail={reason.name.lower()}" if reason else "")
    deny = decision.deny_reason
    if deny is None:
        return f"{_CACHE}; fwd=miss" + ("; detail=shadow" if decision.shadow else "")
    return f"{_CACHE}; fwd={_FORWARD_REASONS.get(deny, 'miss')}; detail={deny.name.lower()}"


def around_ttl(hit: Decision) -> tuple[str, str]:
    """Return what stands before and after the time to live, in seconds, in the field for a hit."""
    return f"{_CACHE}; hit; ttl=", _kind(hit)


def of_store(refusal: RefusalReason | None) -> str:
    """Return the field for the response that a Store was about."""
    if refusal is None:
        return f"{_CACHE}; fwd=miss; stored"
    return f"{_CACHE}; fwd=miss; detail={refusal.name.lower()}"


def _ttl(answer: Answer, now_ms: int) -> int:
    return (answer.expire_ms - now_ms) // 1000


def _kind(decision: Decision) -> str:
    return _KINDS[decision.kind]
