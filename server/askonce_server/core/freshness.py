"""How old an answer is and whether it may still be served (RFC 9111 section 4, RFC 5861). Milliseconds."""

from __future__ import annotations

from enum import Enum, auto

from askonce_server.core.descriptor import Controls
from askonce_server.core.entries import Answer, Entry
from askonce_server.core.reasons import DenyReason
from askonce_server.core.rules import Rule


class Freshness(Enum):
    """How an answer may be served."""

    FRESH = auto()
    STALE = auto()
    """Its ttl is over, and the caller takes it all the same."""
    REFRESH = auto()
    """The same, and somebody is to bring a fresh one."""


def age_ms(answer: Answer, now_ms: int) -> int:
    """Return the age, counted from the start of the request that the answer was made for. Never negative."""
    return max(0, now_ms - answer.start_ms)


def freshness(
    answer: Answer, controls: Controls, now_ms: int, *, rule: Rule, after_error: bool = False
) -> Freshness | DenyReason:
    """Return how the answer may be served now, or why not. Fresh means age < ttl, strictly.

    An entry may have been stored by another rule of the same keys, or before its own rule was changed: it
    lives no longer than `rule`, which serves it, would let it. `after_error`: the caller's upstream failed.
    """
    age, ends_ms = age_ms(answer, now_ms), _ends_ms(answer, rule)
    if controls.max_age_ms is not None and age > controls.max_age_ms:
        return DenyReason.EXPIRED if now_ms >= ends_ms else DenyReason.TOO_OLD
    if controls.min_fresh_ms is not None and ends_ms - now_ms < controls.min_fresh_ms:
        return DenyReason.EXPIRED if now_ms >= ends_ms else DenyReason.TOO_OLD
    if now_ms < ends_ms:
        return Freshness.FRESH
    return _stale(now_ms - ends_ms, controls, rule, after_error=after_error)


def fresh_until(answer: Answer, controls: Controls, *, rule: Rule) -> int:
    """Return the time from which on `freshness` no longer finds the answer fresh."""
    until = _ends_ms(answer, rule)
    if controls.min_fresh_ms is not None:
        until = min(until, until - controls.min_fresh_ms + 1)
    if controls.max_age_ms is not None:
        until = min(until, answer.start_ms + controls.max_age_ms + 1)
    return until


def _stale(over_ms: int, controls: Controls, rule: Rule, *, after_error: bool) -> Freshness | DenyReason:
    """Return how an answer may be served whose ttl has been over for `over_ms`."""
    allowed = rule.stale
    if over_ms < allowed.while_revalidate_ms:
        return Freshness.REFRESH
    asked = controls.max_stale_ms
    if asked is not None and over_ms <= asked and over_ms < allowed.on_request_ms:
        return Freshness.STALE
    if after_error and over_ms < allowed.if_error_ms:
        return Freshness.STALE
    return DenyReason.EXPIRED


def living_under(entry: Entry, rule: Rule) -> Entry:
    """Return the entry with its ttl as `rule` has it: what is said of a candidate holds for who asked."""
    ends_ms = _ends_ms(entry.answer, rule)
    if ends_ms == entry.answer.expire_ms:
        return entry
    return entry._replace(answer=entry.answer._replace(expire_ms=ends_ms))


def _ends_ms(answer: Answer, rule: Rule) -> int:
    """Return when the answer's ttl ends under `rule`: what a request may ask, or its ttl for another's."""
    longest = rule.max_ttl_ms if answer.rule_id == rule.id else rule.ttl_ms
    return min(answer.expire_ms, answer.start_ms + longest)


def start_ms(request_start_ms: int | None, *, looked_up_ms: int, now_ms: int) -> int:
    """Return when an answer's age begins: at its request's start, at most now; unsaid, at the Lookup."""
    return min(request_start_ms if request_start_ms is not None else looked_up_ms, now_ms)
