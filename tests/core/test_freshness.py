"""How old an answer is, at the edges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.descriptor import Controls
from askonce_server.core.freshness import Freshness, age_ms, freshness, start_ms
from askonce_server.core.reasons import DenyReason
from askonce_server.core.rules import Rule, Stale
from core.builders import NOW, answer

TTL = 10_000
STORED = answer(start_ms=NOW, store_ms=NOW + 500, expire_ms=NOW + TTL)
RULE = Rule(STORED.rule_id)


def refused(*args, **kwargs):
    found = freshness(*args, **kwargs)
    assert found not in (Freshness.STALE, Freshness.REFRESH)
    return None if found is Freshness.FRESH else found


def after(elapsed, **controls):
    return refused(STORED, Controls(**controls), NOW + elapsed, rule=RULE)


def test_an_answer_is_fresh_while_its_age_is_below_the_ttl():
    assert after(0) is None
    assert after(TTL - 1) is None
    assert after(TTL) is DenyReason.EXPIRED
    assert after(TTL + 1) is DenyReason.EXPIRED


def test_an_answer_lives_no_longer_than_the_rule_that_serves_it_would_let_it():
    lowered = Rule(STORED.rule_id, ttl_ms=1_000, max_ttl_ms=5_000)
    other = Rule("another", ttl_ms=1_000, max_ttl_ms=5_000)
    for rule, lifetime in ((lowered, 5_000), (other, 1_000)):
        assert refused(STORED, Controls(), NOW + lifetime - 1, rule=rule) is None
        assert refused(STORED, Controls(), NOW + lifetime, rule=rule) is DenyReason.EXPIRED


def test_max_age_is_the_greatest_age_that_is_accepted():
    assert after(4_000, max_age_ms=4_000) is None
    assert after(4_001, max_age_ms=4_000) is DenyReason.TOO_OLD
    assert after(0, max_age_ms=0) is None
    assert after(1, max_age_ms=0) is DenyReason.TOO_OLD


def test_max_age_cannot_widen_the_ttl():
    assert after(TTL, max_age_ms=TTL * 100) is DenyReason.EXPIRED


def test_min_fresh_is_what_must_be_left():
    assert after(4_000, min_fresh_ms=6_000) is None
    assert after(4_001, min_fresh_ms=6_000) is DenyReason.TOO_OLD
    assert after(0, min_fresh_ms=TTL) is None
    assert after(0, min_fresh_ms=0) is None
    assert after(TTL, min_fresh_ms=0) is DenyReason.EXPIRED


def test_max_stale_serves_nothing_that_the_rule_does_not_allow():
    assert after(TTL, max_stale_ms=TTL) is DenyReason.EXPIRED


def test_an_answer_from_the_future_has_no_age():
    assert age_ms(STORED, NOW - 5_000) == 0
    assert after(-5_000, max_age_ms=0) is None
    assert age_ms(STORED, NOW + 5) == 5


def test_age_counts_from_the_start_of_the_providers_call():
    assert start_ms(NOW - 7, looked_up_ms=NOW - 3, now_ms=NOW) == NOW - 7
    assert start_ms(None, looked_up_ms=NOW - 3, now_ms=NOW) == NOW - 3
    assert start_ms(0, looked_up_ms=NOW, now_ms=NOW) == 0


def test_a_call_that_began_in_the_future_began_now():
    assert start_ms(NOW + 60_000, looked_up_ms=NOW - 3, now_ms=NOW) == NOW
    assert start_ms(None, looked_up_ms=NOW + 5, now_ms=NOW) == NOW


@pytest.mark.parametrize("ttl", [1, 1_000, TTL])
@given(st.integers(-TTL * 2, TTL * 2), st.integers(0, TTL), st.integers(0, TTL) | st.none())
def test_once_refused_an_answer_is_refused_for_good(ttl, elapsed, later, limit):
    stored = answer(start_ms=NOW, expire_ms=NOW + ttl)
    for controls in (Controls(), Controls(max_age_ms=limit), Controls(min_fresh_ms=limit)):
        if refused(stored, controls, NOW + elapsed, rule=RULE) is not None:
            assert refused(stored, controls, NOW + elapsed + later, rule=RULE) is not None


@given(st.integers(0, TTL), st.integers(0, TTL), st.integers(0, TTL))
def test_a_stricter_caller_is_never_served_more(elapsed, limit, stricter_by):
    if after(elapsed, max_age_ms=limit) is not None:
        assert after(elapsed, max_age_ms=max(0, limit - stricter_by)) is not None
    if after(elapsed, min_fresh_ms=limit) is not None:
        assert after(elapsed, min_fresh_ms=limit + stricter_by) is not None


STALE = Rule("r", stale=Stale(on_request_ms=3_000, while_revalidate_ms=1_000, if_error_ms=5_000))


@pytest.mark.parametrize(
    ("over", "controls", "after_error", "found"),
    [
        (-1, {}, False, Freshness.FRESH),
        (0, {}, False, Freshness.REFRESH),
        (999, {}, True, Freshness.REFRESH),
        (1_000, {}, False, DenyReason.EXPIRED),
        (1_000, {"max_stale_ms": 999}, False, DenyReason.EXPIRED),
        (1_000, {"max_stale_ms": 1_000}, False, Freshness.STALE),
        (2_999, {"max_stale_ms": 9_000}, False, Freshness.STALE),
        (3_000, {"max_stale_ms": 9_000}, False, DenyReason.EXPIRED),
        (3_000, {}, True, Freshness.STALE),
        (4_999, {}, True, Freshness.STALE),
        (5_000, {"max_stale_ms": 9_000}, True, DenyReason.EXPIRED),
        (500, {"max_age_ms": 9_000}, False, DenyReason.EXPIRED),
        (500, {"min_fresh_ms": 0}, False, DenyReason.EXPIRED),
    ],
)
def test_a_stale_answer_is_served_only_where_rule_and_caller_allow(over, controls, after_error, found):
    now = NOW + TTL + over
    assert freshness(STORED, Controls(**controls), now, rule=STALE, after_error=after_error) is found


@given(st.integers(0, 20_000), st.integers(0, 20_000) | st.none(), st.booleans())
def test_without_leave_of_the_rule_nothing_is_stale(over, max_stale, after_error):
    found = freshness(
        STORED, Controls(max_stale_ms=max_stale), NOW + TTL + over, rule=RULE, after_error=after_error
    )
    assert found is DenyReason.EXPIRED
