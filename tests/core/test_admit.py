"""Which answers may be stored: every refusal, and callers whom the body contradicts."""

from __future__ import annotations

from dataclasses import fields

import pytest

from askonce_server.core.admit import Response, why_refuse, write
from askonce_server.core.descriptor import Target
from askonce_server.core.entries import Body, Usage
from askonce_server.core.finish import AnswerFacts
from askonce_server.core.reasons import RefusalReason
from askonce_server.core.rules import Admission, Identity, RuleMode
from core.builders import HOUR, NOW, SERVED, grant, response, rule

NOTHING = AnswerFacts()
WHOLE = AnswerFacts(understood=True, finish_reasons=("stop",))
OTHER = Target("openai", "gpt-4o-mini")


def refusal(facts=NOTHING, *, under=None, granted=None, **said):
    return why_refuse(granted or grant(), under or rule(), response(**said), facts)


def admitting(**changes):
    return rule(admission=Admission(**changes))


def test_a_whole_answer_is_stored():
    assert refusal() is None
    assert refusal(WHOLE) is None


@pytest.mark.parametrize("status", [0, -1, 100, 199, 300, 304, 400, 429, 500, 503, 529, 2000])
def test_a_status_that_is_no_success_is_an_upstream_error(status):
    assert refusal(status_code=status) is RefusalReason.UPSTREAM_ERROR


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_any_success_will_do(status):
    assert refusal(status_code=status) is None


def test_a_body_with_an_error_is_an_upstream_error_whatever_the_status():
    assert refusal(AnswerFacts(understood=True, error=True)) is RefusalReason.UPSTREAM_ERROR


COMPLETE = [("openai", r) for r in ("stop", "tool_calls", "function_call", "completed")] + [
    ("anthropic", r) for r in ("end_turn", "stop_sequence", "tool_use")
]
INCOMPLETE = [
    ("openai", "length"),
    ("openai", ""),
    ("openai", "end_turn"),
    ("openai", "STOP"),
    ("openai", "incomplete"),
    ("openai", "max_output_tokens"),
    ("openai", "a reason of tomorrow"),
    ("anthropic", "max_tokens"),
    ("anthropic", "pause_turn"),
    ("anthropic", "model_context_window_exceeded"),
    ("anthropic", "stop"),
    ("gemini", "MAX_TOKENS"),
    ("gemini", "STOP"),
]


@pytest.mark.parametrize(("dialect", "reason"), COMPLETE)
def test_finish_reasons_that_mean_a_whole_answer(dialect, reason):
    assert refusal(granted=grant(dialect=dialect), finish_reasons=(reason,)) is None


@pytest.mark.parametrize(("dialect", "reason"), INCOMPLETE)
def test_every_other_finish_reason_means_a_truncated_one(dialect, reason):
    granted = grant(dialect=dialect)
    assert refusal(granted=granted, finish_reasons=(reason,)) is RefusalReason.TRUNCATED


def test_no_finish_reason_means_truncated():
    assert refusal(finish_reasons=()) is RefusalReason.TRUNCATED
    assert refusal(WHOLE, finish_reasons=()) is RefusalReason.TRUNCATED


def test_each_choice_has_to_be_whole():
    assert refusal(finish_reasons=("stop", "length")) is RefusalReason.TRUNCATED
    assert refusal(finish_reasons=("stop", "stop")) is None


def test_a_caller_who_says_stop_does_not_outweigh_a_body_that_says_length():
    cut = AnswerFacts(understood=True, finish_reasons=("length",))
    assert refusal(cut) is RefusalReason.TRUNCATED


def test_somebody_has_to_say_how_each_choice_ended():
    half = AnswerFacts(understood=True, finish_reasons=("stop", ""))
    assert refusal(half) is RefusalReason.TRUNCATED
    assert refusal(half, finish_reasons=("stop", "stop")) is None
    assert refusal(AnswerFacts(understood=True, finish_reasons=("",))) is None


def test_other_dialects_have_their_complete_reasons_in_the_rule():
    gemini = grant(dialect="gemini")
    assert refusal(granted=gemini) is None
    assert refusal(granted=gemini, under=admitting(complete=("STOP",)), finish_reasons=("STOP",)) is None
    under = admitting(complete=("STOP",))
    assert refusal(granted=gemini, under=under) is RefusalReason.TRUNCATED
    assert refusal(under=under, finish_reasons=("STOP",)) is RefusalReason.TRUNCATED


@pytest.mark.parametrize("endpoint", ["embeddings", "rerank"])
def test_endpoints_that_do_not_generate_have_no_finish_reason(endpoint):
    assert refusal(granted=grant(endpoint=endpoint), finish_reasons=()) is None


@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages"])
def test_generating_endpoints_have_one(endpoint):
    refused = refusal(granted=grant(endpoint=endpoint), finish_reasons=())
    assert refused is RefusalReason.TRUNCATED


@pytest.mark.parametrize(
    "reason", ["content_filter", "content_filtered", "guardrail_intervened", "SAFETY", "RECITATION"]
)
def test_a_filtered_answer_is_told_from_a_truncated_one(reason):
    assert refusal(finish_reasons=(reason,)) is RefusalReason.CONTENT_FILTERED
    assert refusal(finish_reasons=("stop", reason)) is RefusalReason.CONTENT_FILTERED
    seen = AnswerFacts(understood=True, finish_reasons=(reason,))
    assert refusal(seen) is RefusalReason.CONTENT_FILTERED


def test_a_refusal_is_not_stored_whoever_says_so():
    assert refusal(refused=True) is RefusalReason.REFUSAL
    assert refusal(AnswerFacts(understood=True, refused=True)) is RefusalReason.REFUSAL
    assert refusal(granted=grant(dialect="anthropic"), finish_reasons=("refusal",)) is RefusalReason.REFUSAL


STREAM = grant(stream=True)


def test_a_stream_has_to_be_said_to_be_complete():
    assert refusal(granted=STREAM) is RefusalReason.STREAM_INCOMPLETE
    assert refusal(granted=STREAM, stream_complete=True) is None
    assert refusal(stream_complete=False) is None


def test_a_stream_without_its_terminal_event_is_incomplete_whatever_the_caller_says():
    cut = AnswerFacts(understood=True, finish_reasons=("stop",), terminal=False)
    assert refusal(cut, granted=STREAM, stream_complete=True) is RefusalReason.STREAM_INCOMPLETE
    whole = AnswerFacts(understood=True, finish_reasons=("stop",), terminal=True)
    assert refusal(whole, granted=STREAM, stream_complete=True) is None


def test_a_stream_that_the_gateway_gathered_into_a_document_has_no_terminal_event():
    gathered = AnswerFacts(understood=True, finish_reasons=("stop",), terminal=False, wrong_shape=True)
    assert refusal(gathered, granted=STREAM, stream_complete=True) is None
    assert refusal(gathered, granted=STREAM) is RefusalReason.STREAM_INCOMPLETE


def test_a_stream_is_nothing_for_a_caller_who_wanted_a_document():
    events = AnswerFacts(understood=True, finish_reasons=("stop",), terminal=True, wrong_shape=True)
    assert refusal(events) is RefusalReason.NOT_CACHEABLE
    assert refusal(events, under=rule(stream_shared=True)) is None


def test_a_stream_in_place_of_a_document_has_to_have_its_end():
    cut = AnswerFacts(understood=True, finish_reasons=("stop",), terminal=False, wrong_shape=True)
    assert refusal(cut, under=rule(stream_shared=True)) is RefusalReason.STREAM_INCOMPLETE


def test_an_empty_answer_is_not_stored():
    assert refusal(AnswerFacts(empty=True)) is RefusalReason.EMPTY
    assert refusal(AnswerFacts(empty=True), granted=grant(endpoint="embeddings")) is RefusalReason.EMPTY


def test_what_an_output_guardrail_did_counts():
    assert refusal(output_guardrail_modified=True) is RefusalReason.GUARDRAIL_MODIFIED
    assert refusal(guardrail_failed_open=True) is RefusalReason.GUARDRAIL_FAILED_OPEN


def test_usage_is_needed_only_where_the_rule_says_so():
    assert refusal(under=admitting(usage_required=True)) is RefusalReason.NO_USAGE
    assert refusal(under=admitting(usage_required=True), usage=Usage(0, 0)) is None


def test_tool_arguments_are_checked_only_where_the_rule_says_so():
    broken = AnswerFacts(understood=True, contains_tool_calls=True, invalid_tool_json=True)
    assert refusal(broken) is None
    assert refusal(broken, under=admitting(validate_tool_json=True)) is RefusalReason.INVALID_TOOL_JSON


def test_tool_calls_are_seen_in_the_body_when_the_caller_is_silent():
    seen = AnswerFacts(understood=True, contains_tool_calls=True)
    assert refusal(seen, under=admitting(tool_calls=False)) is RefusalReason.TOOL_CALLS
    assert refusal(under=admitting(tool_calls=False), contains_tool_calls=True) is RefusalReason.TOOL_CALLS
    assert refusal(under=admitting(tool_calls=False)) is None
    assert refusal(seen) is None


def test_the_gateway_has_the_last_word():
    assert refusal(cacheable=False) is RefusalReason.NOT_CACHEABLE


def test_a_body_may_have_the_greatest_size_and_not_a_byte_more():
    under = admitting(max_body=4)
    assert refusal(under=under, body=Body(b"1234", "t")) is None
    assert refusal(under=under, body=Body(b"12345", "t")) is RefusalReason.TOO_LARGE


def test_a_rule_that_was_turned_off_stores_nothing():
    assert refusal(under=rule(mode=RuleMode.OFF)) is RefusalReason.DISABLED
    assert refusal(under=rule(mode=RuleMode.SHADOW)) is None


# Who answered


def test_another_upstream_than_looked_up_is_a_mismatch():
    assert refusal(served=OTHER) is RefusalReason.SERVED_MISMATCH
    assert refusal(served=Target("azure", SERVED.model)) is RefusalReason.SERVED_MISMATCH
    assert refusal(served=Target("openai", "")) is RefusalReason.SERVED_MISMATCH
    assert refusal(served=SERVED) is None


def test_a_fallback_has_no_place_under_the_upstream_that_was_looked_up():
    assert refusal(fallback_used=True) is RefusalReason.FALLBACK_SERVED
    assert refusal(fallback_used=True, served=OTHER) is RefusalReason.SERVED_MISMATCH


@pytest.mark.parametrize("identity", [Identity.SERVED, Identity.BOTH])
def test_a_rule_cannot_store_fallbacks_under_a_key_that_names_the_upstream(identity):
    under = rule(identity=identity, admission=Admission(store_fallback=True))
    assert refusal(under=under, fallback_used=True) is RefusalReason.FALLBACK_SERVED
    assert refusal(under=under, fallback_used=True, served=OTHER) is RefusalReason.SERVED_MISMATCH


def test_a_key_that_names_the_request_may_hold_a_fallbacks_answer_if_the_rule_says_so():
    target = rule(identity=Identity.TARGET)
    assert refusal(under=target, fallback_used=True, served=OTHER) is RefusalReason.FALLBACK_SERVED
    assert refusal(under=target, fallback_used=True) is RefusalReason.FALLBACK_SERVED
    assert refusal(under=target, served=OTHER) is RefusalReason.SERVED_MISMATCH
    storing = rule(identity=Identity.TARGET, admission=Admission(store_fallback=True))
    assert refusal(under=storing, fallback_used=True, served=OTHER) is None
    assert refusal(under=storing, served=OTHER) is RefusalReason.SERVED_MISMATCH


def test_a_lookup_that_named_no_upstream_contradicts_none():
    """Under `target` a gateway may look up before it routes."""
    target, unsaid = rule(identity=Identity.TARGET), grant(served=Target())
    assert refusal(under=target, granted=unsaid, served=OTHER) is None
    refused = refusal(under=target, granted=unsaid, served=OTHER, fallback_used=True)
    assert refused is RefusalReason.FALLBACK_SERVED


# What is written


def written(*, ttl_ms=None, under=None, granted=None, facts=NOTHING, now_ms=NOW, **said):
    return write(
        granted or grant(), under or rule(), response(**said), facts, ttl_ms=ttl_ms, now_ms=now_ms
    ).answer


def test_the_ttl_is_the_stores_else_the_lookups_else_the_rules():
    asked = grant(ttl_ms=5_000)
    assert written(ttl_ms=3_000, granted=asked).expire_ms == NOW + 3_000
    assert written(granted=asked).expire_ms == NOW + 5_000
    assert written().expire_ms == NOW + HOUR


def test_a_ttl_that_was_asked_for_under_another_rule_cannot_widen_this_one():
    assert (
        written(granted=grant(ttl_ms=HOUR), under=rule(ttl_ms=1_000, max_ttl_ms=2_000)).expire_ms
        == NOW + 2_000
    )


def test_the_ttl_counts_from_the_start_of_the_providers_call():
    found = written(request_start_ms=NOW - 400, now_ms=NOW)
    assert (found.start_ms, found.store_ms, found.expire_ms) == (NOW - 400, NOW, NOW - 400 + HOUR)
    late = written(now_ms=NOW + 900)
    assert (late.start_ms, late.store_ms) == (NOW, NOW + 900)
    assert written(request_start_ms=NOW + HOUR).start_ms == NOW


def test_what_is_known_of_the_answer_is_kept():
    found = written(usage=Usage(3, 4), cost_usd=0.0, source_request_id="req", contains_tool_calls=True)
    assert (found.rule_id, found.usage, found.cost_usd) == ("r", Usage(3, 4), 0.0)
    assert (found.source_request_id, found.contains_tool_calls, found.stream) == ("req", True, False)
    assert written(facts=AnswerFacts(understood=True, contains_tool_calls=True)).contains_tool_calls
    assert written().cost_usd is None


@pytest.mark.parametrize("wanted", [True, False])
def test_a_shared_entry_has_the_shape_that_the_body_shows(wanted):
    granted, shared = grant(stream=wanted), rule(stream_shared=True)
    assert written(granted=granted, under=shared).stream is wanted
    odd = AnswerFacts(understood=True, wrong_shape=True)
    assert written(granted=granted, under=shared, facts=odd).stream is not wanted


def test_an_answer_is_filed_under_what_was_looked_up():
    granted = grant()
    found = write(granted, rule(), response(), NOTHING, ttl_ms=None, now_ms=NOW)
    assert (found.scope_root, found.generations, found.keys) == (
        granted.scope_root,
        granted.generations,
        granted.keys,
    )
    assert found.body == response().body


def test_everything_left_unsaid_counts_against_storing():
    silent = Response(Body(b"{}", ""))
    assert why_refuse(grant(), rule(), silent, NOTHING) is RefusalReason.UPSTREAM_ERROR
    required = {"status_code": 200, "finish_reasons": ("stop",), "stream_complete": True}
    assert why_refuse(STREAM, rule(), response(**required), NOTHING) is None
    for name in required:
        default = next(field.default for field in fields(Response) if field.name == name)
        assert why_refuse(STREAM, rule(), response(**{**required, name: default}), NOTHING) is not None
