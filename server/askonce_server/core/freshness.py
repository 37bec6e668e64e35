"""How old an answer is and whether it may still be served (after RFC 9111 section 4). Milliseconds."""

from __future__ import annotations

from askonce_server.core.descriptor import Controls
from askonce_server.core.entries import Answer
from askonce_server.core.reasons import DenyReason


def age_ms(answer: Answer, now_ms: int) -> int:
    """Return the age, counted from the start of the request that the answer was made for. Never negative."""
    return max(0, now_ms - answer.start_ms)


def why_not_fresh(answer: Answer, controls: Controls, now_ms: int) -> DenyReason | None:
    """Return why the answer may not be served now, or None. Fresh means age < ttl, strictly."""
    if now_ms >= answer.expire_ms:
        return DenyReason.EXPIRED
    if controls.max_age_ms is not None and age_ms(answer, now_ms) > controls.max_age_ms:
        return DenyReason.TOO_OLD
    if controls.min_fresh_ms is not None and answer.expire_ms - now_ms < controls.min_fresh_ms:
        return DenyReason.TOO_OLD
    return None


def start_ms(request_start_ms: int | None, *, looked_up_ms: int, now_ms: int) -> int:
    """Return when an answer's age begins: at its request's start, at most now; unsaid, at the Lookup."""
    return min(request_start_ms if request_start_ms is not None else looked_up_ms, now_ms)
