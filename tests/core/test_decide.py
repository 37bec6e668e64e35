"""The decision, driven from a list of answers: no store, no clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from askonce_server.core.decide import decide
from askonce_server.core.decision import TOKEN_LIFE_MS, Probe, ReadBody, ReadGenerations
from askonce_server.core.descriptor import Content
from askonce_server.core.entries import Body, Usage
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Mode, Outcome
from askonce_server.core.rules import Admission, RuleMode
from core.builders import (
    HOUR,
    NOW,
    Shelf,
    content,
    descriptor,
    digests,
    entry,
    keys_of,
    nothing,
    plan,
    rule,
    run,
    said,
)

BODY = Body(b"answer", "application/json")
WANTED = said("hi  there")
KEYS = keys_of(WANTED)
EXACT, NORMALIZED = KEYS[Matcher.EXACT], KEYS[Matcher.NORMALIZED]
IN_A_MINUTE = NOW + 60_000


def test_without_an_entry_it_is_a_miss_with_leave_to_store():
    decision = run(plan(WANTED))
    assert (decision.outcome, decision.rule_id, decision.kind) == (Outcome.MISS, "r", None)
    assert (decision.deny_reason, decision.bypass_reason, decision.candidate) == (None, None, None)
    assert decision.store_answer
    assert [key.matcher for key in decision.grant.keys] == [Matcher.EXACT, Matcher.NORMALIZED]


def test_the_leave_says_what_was_looked_up():
    decision = run(plan(WANTED, ttl_ms=5_000))
    found = decision.grant
    assert (found.rule_id, found.dialect, found.endpoint, found.stream) == ("r", "openai", "chat", False)
    assert (found.served, found.ttl_ms, found.start_ms) == (WANTED.served, 5_000, NOW)
    assert found.expire_ms == NOW + TOKEN_LIFE_MS
    assert found.scope_root == plan(WANTED).scope.root
    assert len(found.generations.names) == len(found.generations.values) == 4


def test_the_first_candidate_that_may_be_served_wins_and_later_matchers_are_not_asked():
    shelf = Shelf(entry(EXACT), entry(NORMALIZED), body=BODY)
    decision = run(plan(WANTED), shelf)
    assert (decision.outcome, decision.kind) == (Outcome.HIT, Matcher.EXACT)
    assert decision.candidate.entry.key == EXACT
    assert decision.candidate.body == BODY
    assert (decision.store_answer, decision.grant) == (False, None)
    assert shelf.probed == [Matcher.EXACT]


def test_a_later_matcher_is_asked_when_an_earlier_one_has_nothing():
    shelf = Shelf(entry(NORMALIZED), body=BODY)
    decision = run(plan(WANTED), shelf)
    assert (decision.outcome, decision.kind) == (Outcome.HIT, Matcher.NORMALIZED)
    assert shelf.probed == [Matcher.EXACT, Matcher.NORMALIZED]


def test_the_rules_order_is_kept():
    shelf = Shelf(entry(EXACT), entry(NORMALIZED), body=BODY)
    under = rule(strategy=(Matcher.NORMALIZED, Matcher.EXACT))
    assert run(plan(WANTED, under), shelf).kind is Matcher.NORMALIZED
    assert shelf.probed == [Matcher.NORMALIZED]


def test_a_denied_candidate_does_not_hide_a_later_one():
    shelf = Shelf(entry(EXACT, expire_ms=NOW), entry(NORMALIZED), body=BODY)
    decision = run(plan(WANTED), shelf)
    assert (decision.outcome, decision.kind, decision.deny_reason) == (Outcome.HIT, Matcher.NORMALIZED, None)


def test_a_denied_candidate_is_named_on_the_miss():
    shelf = Shelf(entry(EXACT, expire_ms=NOW), body=BODY)
    decision = run(plan(WANTED), shelf)
    assert (decision.outcome, decision.deny_reason) == (Outcome.MISS, DenyReason.EXPIRED)
    assert (decision.kind, decision.candidate.entry.key) == (Matcher.EXACT, EXACT)
    assert decision.candidate.body is None
    assert decision.store_answer
    assert not any(isinstance(question, ReadBody) for question in shelf.asked)


@pytest.mark.parametrize(
    ("stored", "asked", "reason"),
    [
        ({"expire_ms": NOW}, {}, DenyReason.EXPIRED),
        ({"start_ms": NOW - 5_001}, {"max_age_ms": 5_000}, DenyReason.TOO_OLD),
        ({"expire_ms": NOW + 999}, {"min_fresh_ms": 1_000}, DenyReason.TOO_OLD),
        ({"stream": True}, {}, DenyReason.STREAM_SHAPE),
    ],
)
def test_why_a_candidate_is_denied(stored, asked, reason):
    decision = run(plan(WANTED, **asked), Shelf(entry(EXACT, **stored), body=BODY))
    assert (decision.outcome, decision.deny_reason) == (Outcome.MISS, reason)


@pytest.mark.parametrize(
    ("admission", "reason"),
    [
        (Admission(tool_calls=False), DenyReason.TOOL_CALLS),
        (Admission(usage_required=True), DenyReason.NOT_ADMITTED),
        (Admission(max_body=1), DenyReason.NOT_ADMITTED),
    ],
)
def test_what_a_rule_would_not_have_stored_it_does_not_serve_whichever_rule_stored_it(admission, reason):
    under = rule(admission=admission)
    for key in (EXACT, NORMALIZED):
        decision = run(plan(WANTED, under), Shelf(entry(key, contains_tool_calls=True), body=BODY))
        assert (decision.outcome, decision.kind, decision.deny_reason) == (Outcome.MISS, key.matcher, reason)


def test_what_a_rule_would_have_stored_it_serves():
    under = rule(admission=Admission(tool_calls=False, usage_required=True, max_body=2))
    decision = run(plan(WANTED, under), Shelf(entry(EXACT, usage=Usage(0, 0)), body=BODY))
    assert (decision.outcome, decision.kind) == (Outcome.HIT, Matcher.EXACT)


@pytest.mark.parametrize(("start_ms", "outcome"), [(NOW, Outcome.HIT), (NOW - 1_000, Outcome.MISS)])
def test_the_ttl_of_a_candidate_is_that_of_the_rule_that_was_asked(start_ms, outcome):
    stored = entry(EXACT, rule_id="other", start_ms=start_ms)
    decision = run(plan(WANTED, rule(ttl_ms=1_000)), Shelf(stored, body=BODY))
    assert (decision.outcome, decision.candidate.entry.answer.expire_ms) == (outcome, start_ms + 1_000)


def test_a_body_that_is_gone_leaves_the_next_matcher():
    served = []

    def script(question):
        if isinstance(question, ReadBody):
            served.append(question.entry.key.matcher)
            return BODY if question.entry.key == NORMALIZED else None
        return Shelf(entry(EXACT), entry(NORMALIZED))(question)

    decision = run(plan(WANTED), script)
    assert (decision.outcome, decision.kind) == (Outcome.HIT, Matcher.NORMALIZED)
    assert served == [Matcher.EXACT, Matcher.NORMALIZED]


def test_bodies_that_are_all_gone_leave_a_miss():
    decision = run(plan(WANTED), Shelf(entry(EXACT), entry(NORMALIZED), body=None))
    assert (decision.outcome, decision.candidate, decision.deny_reason) == (Outcome.MISS, None, None)
    assert decision.store_answer
    assert [(skip.matcher, skip.reason) for skip in decision.skipped] == [
        (Matcher.EXACT, BypassReason.STORE_FAILED),
        (Matcher.NORMALIZED, BypassReason.STORE_FAILED),
    ]
    assert decision.bypass_reason is BypassReason.STORE_FAILED


# Shapes


SHARED = rule(stream_shared=True)
SHARED_KEY = keys_of(WANTED, SHARED)[Matcher.EXACT]


@pytest.mark.parametrize(
    ("stored", "wanted", "accepts", "serves"),
    [
        (False, False, (), True),
        (True, False, (), False),
        (False, True, (), False),
        (True, True, (), True),
        (True, False, (True, False), True),
        (False, True, (True, False), True),
        (False, True, (False,), True),
        (True, True, (False,), False),
    ],
)
def test_only_a_shape_that_the_caller_can_replay_is_served(stored, wanted, accepts, serves):
    planned = plan(replace(WANTED, stream=wanted), SHARED, accepts=frozenset(accepts))
    decision = run(planned, Shelf(entry(SHARED_KEY, stream=stored), body=BODY))
    assert decision.outcome is (Outcome.HIT if serves else Outcome.MISS)
    assert decision.deny_reason is (None if serves else DenyReason.STREAM_SHAPE)


# Controls


def test_refresh_reads_nothing_and_writes_everything():
    shelf = Shelf(entry(EXACT), entry(NORMALIZED), body=BODY)
    decision = run(plan(WANTED, mode=Mode.REFRESH), shelf)
    assert (decision.outcome, decision.deny_reason) == (Outcome.MISS, DenyReason.REFRESH)
    assert (decision.kind, decision.candidate) == (None, None)
    assert shelf.probed == []
    assert list(decision.grant.keys) == [EXACT, NORMALIZED]


@pytest.mark.parametrize("control", [{"mode": Mode.READ_ONLY}, {"logging_disabled": True}], ids=str)
def test_a_caller_who_may_not_write_reads_all_the_same(control):
    hit = run(plan(WANTED, **control), Shelf(entry(EXACT), body=BODY))
    assert hit.outcome is Outcome.HIT
    miss = run(plan(WANTED, **control))
    assert (miss.outcome, miss.store_answer, miss.grant) == (Outcome.MISS, False, None)
    shadow = run(plan(WANTED, rule(mode=RuleMode.SHADOW), **control), Shelf(entry(EXACT)))
    assert (shadow.outcome, shadow.store_answer, shadow.grant) == (Outcome.MISS, False, None)


def test_a_refresh_that_may_not_write_is_a_plain_call_of_the_provider():
    decision = run(plan(WANTED, mode=Mode.REFRESH, logging_disabled=True))
    assert (decision.outcome, decision.grant) == (Outcome.MISS, None)


def asked_nothing(planned):
    def never(question):
        raise AssertionError(question)

    return run(planned, never)


@pytest.mark.parametrize(
    ("planned", "reason"),
    [
        (plan(WANTED, mode=Mode.BYPASS), BypassReason.CALLER_BYPASS),
        (plan(WANTED, known_mode=False), BypassReason.CALLER_BYPASS),
        (plan(WANTED, known_fields=False), BypassReason.UNREPRESENTABLE_CONTENT),
        (plan(WANTED, rule(mode=RuleMode.OFF)), BypassReason.DISABLED),
        (plan(WANTED, rule(scope=("tenant", "user"))), BypassReason.SCOPE_MISSING),
        (plan(descriptor(scope={"tenant": ""})), BypassReason.SCOPE_MISSING),
        (plan(descriptor(content=content(params={}))), BypassReason.SAMPLED_REQUEST),
    ],
)
def test_a_bypass_asks_nothing_and_lets_nothing_be_stored(planned, reason):
    decision = asked_nothing(planned)
    assert (decision.outcome, decision.bypass_reason) == (Outcome.BYPASS, reason)
    assert (decision.store_answer, decision.grant, decision.candidate) == (False, None, None)
    assert decision.rule_id == "r"


def test_a_rule_that_is_off_is_off_whatever_the_request_is():
    off = rule(mode=RuleMode.OFF, scope=("absent",))
    assert plan(WANTED, off, known_fields=False, mode=Mode.BYPASS).bypass_reason is BypassReason.DISABLED


# Shadow and omitted bodies


def test_shadow_runs_the_whole_chain_and_serves_nothing():
    under = rule(mode=RuleMode.SHADOW)
    shelf = Shelf(entry(NORMALIZED), body=BODY)
    decision = run(plan(WANTED, under), shelf)
    assert (decision.outcome, decision.shadow, decision.kind) == (Outcome.MISS, True, Matcher.NORMALIZED)
    assert decision.candidate.entry.key == NORMALIZED
    assert decision.candidate.body is None
    assert shelf.probed == [Matcher.EXACT, Matcher.NORMALIZED]
    assert decision.store_answer


def test_the_store_after_a_shadow_hit_files_the_answer_under_every_matcher():
    under = rule(mode=RuleMode.SHADOW)
    decision = run(plan(WANTED, under), Shelf(entry(EXACT)))
    assert (decision.kind, list(decision.grant.keys)) == (Matcher.EXACT, [EXACT, NORMALIZED])


def test_every_decision_of_a_shadow_rule_says_so():
    under = rule(mode=RuleMode.SHADOW)
    assert run(plan(WANTED, under)).shadow
    assert run(plan(WANTED, under, mode=Mode.BYPASS)).shadow
    assert run(plan(WANTED, under), Shelf(entry(EXACT, expire_ms=NOW))).shadow
    assert not run(plan(WANTED)).shadow


def test_an_omitted_body_is_not_even_read():
    shelf = Shelf(entry(EXACT), body=BODY)
    decision = run(plan(WANTED, omit_body=True), shelf)
    assert (decision.outcome, decision.candidate.body) == (Outcome.HIT, None)
    assert not any(isinstance(question, ReadBody) for question in shelf.asked)


# Skips


LISTED = said("- a\n- b")


def test_a_skipped_matcher_is_listed_and_as_the_last_one_named_on_the_miss():
    decision = run(plan(LISTED))
    assert [(skip.matcher, skip.reason) for skip in decision.skipped] == [
        (Matcher.NORMALIZED, BypassReason.WHITESPACE_SIGNIFICANT)
    ]
    assert (decision.outcome, decision.bypass_reason) == (Outcome.MISS, BypassReason.WHITESPACE_SIGNIFICANT)
    assert [key.matcher for key in decision.grant.keys] == [Matcher.EXACT]


def test_a_skip_that_is_not_the_last_matchers_is_only_listed():
    decision = run(plan(LISTED, rule(strategy=(Matcher.NORMALIZED, Matcher.EXACT))))
    assert (decision.outcome, decision.bypass_reason) == (Outcome.MISS, None)
    assert len(decision.skipped) == 1


def test_a_hit_after_a_skip_lists_it():
    under = rule(strategy=(Matcher.NORMALIZED, Matcher.EXACT))
    decision = run(plan(LISTED, under), Shelf(entry(keys_of(LISTED)[Matcher.EXACT]), body=BODY))
    assert (decision.outcome, decision.kind, decision.bypass_reason) == (Outcome.HIT, Matcher.EXACT, None)
    assert len(decision.skipped) == 1


def test_when_every_matcher_is_skipped_the_request_is_a_bypass_for_that_reason():
    for control in ({}, {"mode": Mode.REFRESH}):
        decision = run(plan(LISTED, rule(strategy=(Matcher.NORMALIZED,)), **control))
        assert decision.outcome is Outcome.BYPASS
        assert decision.bypass_reason is BypassReason.WHITESPACE_SIGNIFICANT
        assert (decision.grant, decision.store_answer, decision.deny_reason) == (None, False, None)


def test_digests_without_a_normalized_one_skip_only_that_matcher():
    decision = run(plan(descriptor(content=digests(normalized_sha256=b""))))
    assert (decision.outcome, decision.bypass_reason) == (Outcome.MISS, BypassReason.UNREPRESENTABLE_CONTENT)
    assert [key.matcher for key in decision.grant.keys] == [Matcher.EXACT]


# Questions


def questions(planned, script=nothing):
    asked = []

    def remember(question):
        asked.append(question)
        return script(question)

    run(planned, remember)
    return asked


def test_generations_are_read_once_before_any_probe():
    asked = questions(plan(WANTED))
    assert [type(question) for question in asked] == [ReadGenerations, Probe, Probe]
    assert [question.key for question in asked[1:]] == [EXACT, NORMALIZED]


def test_a_raised_generation_changes_every_key_and_no_other_does():
    names = plan(WANTED).scope.generation_names
    for name in names:
        asked = questions(plan(WANTED), Shelf(generations={name: b"1" * 16}))
        probed = [question.key for question in asked if isinstance(question, Probe)]
        assert {key.entry_id for key in probed}.isdisjoint({EXACT.entry_id, NORMALIZED.entry_id})
        assert [key.fingerprint for key in probed] == [EXACT.fingerprint, NORMALIZED.fingerprint]
    other = questions(plan(WANTED), Shelf(generations={b"x" * 32: b"1" * 16}))
    assert other[1].key == EXACT


def test_the_leave_carries_the_generations_that_were_read():
    name = plan(WANTED).scope.generation_names[1]
    decision = run(plan(WANTED), Shelf(generations={name: b"1" * 16}))
    assert decision.grant.generations.names == plan(WANTED).scope.generation_names
    assert decision.grant.generations.values == (bytes(16), b"1" * 16, bytes(16), bytes(16))


def test_the_normalized_key_is_derived_only_after_an_exact_miss():
    planned = plan(WANTED)
    run(planned, Shelf(entry(EXACT), body=BODY))
    assert set(planned.derivation._fingerprints) == {Matcher.EXACT}
    run(planned)
    assert set(planned.derivation._fingerprints) == {Matcher.EXACT, Matcher.NORMALIZED}


# One plan, many decisions


@pytest.mark.parametrize("forget", [True, False])
@pytest.mark.parametrize(
    "shelf", [Shelf(), Shelf(entry(EXACT), body=BODY), Shelf(entry(NORMALIZED), body=BODY)]
)
def test_a_plan_decides_the_same_again(shelf, forget):
    planned = plan(WANTED)
    first = run(planned, shelf)
    if forget:
        planned.derivation.forget()
    assert run(planned, shelf) == first == run(plan(WANTED), shelf)


def test_a_plan_holds_nothing_of_time_or_generations():
    planned = plan(WANTED)
    run(planned)
    assert run(planned, Shelf(entry(EXACT), body=BODY), now_ms=IN_A_MINUTE).outcome is Outcome.HIT
    expired = run(planned, Shelf(entry(EXACT), body=BODY), now_ms=NOW + HOUR)
    assert expired.deny_reason is DenyReason.EXPIRED
    name = planned.scope.generation_names[0]
    assert run(planned, Shelf(entry(EXACT), body=BODY, generations={name: b"1" * 16})).outcome is Outcome.MISS


def test_content_without_a_canonical_form_is_found_out_before_the_store_is_asked():
    odd = descriptor(
        content=Content(messages=b'[{"role":"user","content":{"n":1e300}}]', params=b'{"seed":1}')
    )
    planned = plan(odd)
    assert planned.bypass_reason is BypassReason.UNREPRESENTABLE_CONTENT
    for _ in range(2):
        decision = run(planned)
        assert decision.bypass_reason is BypassReason.UNREPRESENTABLE_CONTENT
        assert decision.grant is None


def test_content_that_cannot_be_read_anew_bypasses():
    planned = plan(WANTED)
    planned.derivation.forget()
    planned.derivation._reload = lambda: None
    assert run(planned).bypass_reason is BypassReason.UNREPRESENTABLE_CONTENT


def test_deciding_asks_before_it_is_answered():
    deciding = decide(plan(WANTED), now_ms=NOW)
    first = next(deciding)
    assert isinstance(first, ReadGenerations)
    assert {len(name) for name in first.names} == {32}
    deciding.close()
