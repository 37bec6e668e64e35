"""Decisions that are given again: the same as deciding anew over the same rows, at every later time."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.entries import Body
from askonce_server.core.lasting import lasting
from askonce_server.core.reasons import Matcher, Outcome
from askonce_server.core.rules import RuleMode
from core.builders import HOUR, NOW, Shelf, entry, keys_of, plan, rule, run, said

BODY = Body(b"answer", "application/json")
WANTED = said("hi  there")
times = st.none() | st.integers(0, 3 * HOUR)
entries = st.fixed_dictionaries(
    {
        "start_ms": st.integers(NOW - HOUR, NOW),
        "expire_ms": st.integers(NOW - 1, NOW + 2 * HOUR),
        "stream": st.booleans(),
        "rule_id": st.sampled_from(["r", "other"]),
    }
)


@given(
    held=st.dictionaries(st.sampled_from([Matcher.EXACT, Matcher.NORMALIZED]), entries),
    controls=st.fixed_dictionaries({"max_age_ms": times, "min_fresh_ms": times}),
    mode=st.sampled_from(RuleMode),
    omit_body=st.booleans(),
    later=st.integers(0, 3 * HOUR),
)
def test_a_decision_given_again_is_what_deciding_anew_gives(held, controls, mode, omit_body, later):
    under = rule(mode=mode)
    keys = keys_of(WANTED, rule())
    shelf = Shelf(*(entry(keys[matcher], **said) for matcher, said in held.items()), body=BODY)
    planned = plan(WANTED, under, omit_body=omit_body, **controls)
    earlier = run(planned, shelf)
    kept = lasting(planned, earlier)
    if kept is None:
        assert earlier.outcome is not Outcome.HIT
        return
    anew = run(planned, shelf, now_ms=NOW + later)
    fresh = anew.outcome is Outcome.HIT and anew.kind is earlier.kind
    assert (NOW + later < kept.until_ms) == fresh
    assert not fresh or replace(kept.decision, now_ms=NOW + later) == anew


def test_what_a_model_had_a_part_in_does_not_last():
    keys, shelf_of = keys_of(WANTED), lambda key: Shelf(entry(key), body=BODY)
    planned = plan(WANTED)
    hit = run(planned, shelf_of(keys[Matcher.NORMALIZED]))
    assert lasting(planned, hit)
    for strategy in ((Matcher.SEMANTIC, Matcher.NORMALIZED), (Matcher.EXACT, Matcher.SEMANTIC)):
        other = replace(planned, rule=rule(strategy=strategy))
        assert not lasting(other, replace(hit, kind=strategy[-1]))
    assert lasting(
        replace(planned, rule=rule(strategy=(Matcher.EXACT, Matcher.SEMANTIC))),
        replace(hit, kind=Matcher.EXACT),
    )
