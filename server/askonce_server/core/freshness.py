"""How old an answer is and whether it may still be served (after RFC 9111 section 4). Milliseconds."""

from __future__ import annotations

from askonce_server.core.descriptor import Controls
from askonce_server.core.entries import Answer
from askonce_server.core.reasons import DenyReason
from askonce_server.core.rules import Rule


def age_ms(answer: Answer, now_ms: int) -> int:
    """Return the age, counted from the start of the request that the answer was made for. Never negative."""
    return max(0, now_ms - answer.start_ms)


def why_not_fresh(answer: Answer, controls: Controls, now_ms: int, *, rule: Rule) -> DenyReason | None:
    """Return why the answer may not be served now, or None. Fresh means age < ttl, strictly.

    An entry may have been stored by another rule of the same keys, or before its own rule was changed: it
    lives no longer than `rule`, which serves it, would let it.
    """
    age = age_ms(answer, now_ms)
    if now_ms >= answer.expire_ms or age >= _longest_ms(answer, rule):
        return DenyReason.EXPIRED
    if controls.max_age_ms is not None and age > controls.max_age_ms:
        return DenyReason.TOO_OLD
    if controls.min_fresh_ms is not None and answer.expire_ms - now_ms < controls.min_fresh_ms:
        return DenyReason.TOO_OLD
    return None


def _longest_ms(answer: Answer, rule: Rule) -> int:
    """Return how long `rule` lets an answer live: what a request may ask, or its own ttl for another's."""
    return rule.max_ttl_ms if answer.rule_id == rule.id else rule.ttl_ms


def start_ms(request_start_ms: int | None, *, looked_up_ms: int, now_ms: int) -> int:
    """Return when an answer's age begins: at its request's start, at most now; unsaid, at the Lookup."""
    return min(request_start_ms if request_start_ms is not None else looked_up_ms, now_ms)
