"""Answers that must not be stored are refused, each for its own reason, and are never found later."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from askonce.v1 import decision_pb2, decision_service_pb2, reason_pb2
from rpc.answers import answer, answer_for, chat_body, chat_stream, storing, streamed
from rpc.harness import DEADLINE_SECONDS
from rpc.replies import filed, outcome, verdict
from rpc.requests import describe, dumps, target


def tool_call(arguments: str = "{}") -> bytes:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    return dumps({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": message}]})


def choices(*finish: str) -> bytes:
    said = [
        {"index": at, "finish_reason": reason, "message": {"role": "assistant", "content": "x"}}
        for at, reason in enumerate(finish)
    ]
    return dumps({"object": "chat.completion", "choices": said})


NO_SUCCESS = (0, 199, 300, 301, 400, 401, 429, 500, 503, -1, 2**31 - 1)
NO_USAGE = decision_pb2.Usage()
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    *(
        (f"status {code}", {"status_code": code}, "upstream_error")
        for code in (0, 199, 300, 301, 400, 401, 429)
    ),
    *((f"status {code}", {"status_code": code}, "upstream_error") for code in (500, 503, -1, 2**31 - 1)),
    ("an error in spite of its status", {"body": dumps({"error": {"message": "no"}})}, "upstream_error"),
    ("the page of a proxy", {"body": b"<html>Sign in</html>", "content_type": "text/html"}, "upstream_error"),
    ("length", {"finish_reasons": ["length"]}, "truncated"),
    ("max_tokens", {"finish_reasons": ["max_tokens"]}, "truncated"),
    ("incomplete", {"finish_reasons": ["incomplete"]}, "truncated"),
    ("no finish reason", {"finish_reasons": []}, "truncated"),
    ("an empty finish reason", {"finish_reasons": [""]}, "truncated"),
    ("one of two choices", {"finish_reasons": ["stop", "length"]}, "truncated"),
    ("another dialect's reason", {"finish_reasons": ["end_turn"]}, "truncated"),
    ("a reason nobody knows", {"finish_reasons": ["paused"]}, "truncated"),
    ("a reason of other case", {"finish_reasons": ["STOP"]}, "truncated"),
    ("the body says length", {"body": chat_body(finish="length")}, "truncated"),
    ("one choice of the body says length", {"body": choices("stop", "length")}, "truncated"),
    ("content_filter", {"finish_reasons": ["content_filter"]}, "content_filtered"),
    ("the body says content_filter", {"body": chat_body(finish="content_filter")}, "content_filtered"),
    ("refused", {"refused": True}, "refusal"),
    ("a refusal as reason", {"finish_reasons": ["refusal"]}, "refusal"),
    (
        "a refusal in the body",
        {"body": dumps({"choices": [{"finish_reason": "stop", "message": {"refusal": "I will not."}}]})},
        "refusal",
    ),
    ("no body", {"body": b""}, "empty"),
    ("white space", {"body": b" \n"}, "empty"),
    ("null", {"body": b"null"}, "empty"),
    ("an empty object", {"body": b"{}"}, "empty"),
    ("no choices", {"body": dumps({"object": "chat.completion", "choices": []})}, "empty"),
    ("a choice that says nothing", {"body": chat_body("")}, "empty"),
    ("a choice of white space", {"body": chat_body(" \n ")}, "empty"),
    ("guardrail changed it", {"output_guardrail_modified": True}, "guardrail_modified"),
    ("guardrail failed open", {"guardrail_failed_open": True}, "guardrail_failed_open"),
    ("not cacheable", {"cacheable": False}, "not_cacheable"),
    ("a stream where a document was asked for", {"body": chat_stream()}, "not_cacheable"),
    ("another model", {"served": target(model="gpt-4o-mini")}, "served_mismatch"),
    ("another provider", {"served": target("azure", "gpt-4o")}, "served_mismatch"),
    ("half a target", {"served": target("openai", "")}, "served_mismatch"),
    ("a fallback", {"fallback_used": True}, "fallback_served"),
    ("a fallback of another model", {"fallback_used": True, "served": target(model="x")}, "served_mismatch"),
    ("an answer of 1970", {"request_start_time": Timestamp(seconds=1)}, "expired"),
    ("one byte too much", {"body": b'"' + b"x" * (2**20 - 1) + b'"'}, "too_large"),
    ("a nested body of 5 MB", {"body": dumps({"a": [{"b": ["x" * 50] * 10}] * 8000})}, "too_large"),
]


@pytest.mark.parametrize(("changes", "reason"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED])
@pytest.mark.parametrize("by", ["token", "descriptor"])
def test_an_answer_that_must_not_be_replayed_is_refused(gateway, tenant, changes, reason, by):
    asked = describe(tenant)
    source = gateway.ask(asked).fill_token if by == "token" else asked
    refused = gateway.store(source, answer(**changes))
    assert filed(refused) == reason
    assert refused.cache_status == f"askonce; fwd=miss; detail={reason}"
    assert verdict(gateway.ask(asked)) == "miss"
    assert filed(gateway.store(asked, answer())) == "stored"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"stream_complete": False}, "stream_incomplete"),
        ({"body": chat_stream(done=False)}, "stream_incomplete"),
        ({"body": chat_stream()[:150]}, "stream_incomplete"),
        ({"body": chat_stream()[:20]}, "stream_incomplete"),
        ({"body": b": ping\n\n: ping\n\n"}, "empty"),
        ({"body": chat_stream(finish="length")}, "truncated"),
        ({"body": chat_stream("")}, "empty"),
        ({"body": b'data: {"error":{"message":"x"}}\n\ndata: [DONE]\n\n'}, "upstream_error"),
        ({"finish_reasons": []}, "truncated"),
        ({}, "stored"),
    ],
)
def test_a_stream_is_stored_only_whole(gateway, tenant, changes, reason):
    asked = describe(tenant, stream=True)
    assert filed(gateway.store(asked, streamed(**changes))) == reason
    assert outcome(gateway.ask(asked)) == ("hit" if reason == "stored" else "miss")


def test_an_interrupted_stream_of_every_dialect_is_refused(gateway, tenant):
    for dialect, endpoint in (("openai", "chat"), ("openai", "responses"), ("anthropic", "messages")):
        asked = describe(tenant, dialect=dialect, endpoint=endpoint, stream=True)
        whole = answer_for(asked, "some text")
        cut = whole.body[: whole.body.rindex(b"data:") + 9]
        assert filed(gateway.store(asked, answer_for(asked, body=cut))) == "stream_incomplete", endpoint
        assert filed(gateway.store(asked, answer_for(asked, stream_complete=False))) == "stream_incomplete"
        assert filed(gateway.store(asked, whole)) == "stored"


@pytest.mark.parametrize(
    ("reason", "complete"),
    [
        ("end_turn", True),
        ("stop_sequence", True),
        ("tool_use", True),
        ("max_tokens", False),
        ("pause_turn", False),
    ],
)
def test_finish_reasons_are_those_of_the_dialect(gateway, tenant, reason, complete):
    asked = describe(tenant, dialect="anthropic", endpoint="messages")
    stored = gateway.store(asked, answer_for(asked, finish_reasons=[reason]))
    assert filed(stored) == ("stored" if complete else "truncated")


@pytest.mark.parametrize(("rule", "reason"), [("none", "stop"), ("strict-answers", "done")])
def test_finish_reasons_of_other_dialects_are_the_rule_s(gateway, tenant, rule, reason):
    asked = describe(tenant, dialect="ollama", attributes={"rule": rule})
    usage = decision_pb2.Usage(input_tokens=1)
    for said in ("stop", "done", "length", "end_turn"):
        stored = gateway.store(asked, answer(finish_reasons=[said], usage=usage))
        assert filed(stored) == ("stored" if said == reason else "truncated"), said


def test_embeddings_need_no_finish_reason(gateway, tenant):
    asked = describe(tenant, endpoint="embeddings", stream=None)
    assert filed(gateway.store(asked, answer_for(asked, finish_reasons=[]))) == "stored"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"attributes": {"rule": "off"}}, "disabled"),
        ({"scope": {}}, "scope_missing"),
        ({"scope": {"tenant": ""}}, "scope_missing"),
        ({"personalized": True}, "personalized"),
    ],
)
def test_an_answer_to_what_is_not_looked_up_is_refused_for_the_same_reason(gateway, tenant, changes, reason):
    asked = describe(tenant, **changes)
    assert verdict(gateway.ask(asked)) == f"bypass {reason}"
    assert filed(gateway.store(asked)) == reason


def test_answers_refused_in_a_batch_leave_the_others_alone(gateway, tenant):
    small = [(changes, reason) for _, changes, reason in REFUSED if len(changes.get("body", b"")) < 9999]
    wanted = ["stored", *(reason for _, reason in small), "stored"]
    items = [storing(describe(f"{tenant}-first"), answer())]
    items += [storing(describe(tenant), answer(**changes)) for changes, _ in small]
    items += [storing(describe(f"{tenant}-last"), answer())]
    assert [filed(result.response) for result in gateway.store_all(items)] == wanted
    assert verdict(gateway.ask(describe(tenant))) == "miss"
    assert verdict(gateway.ask(describe(f"{tenant}-last"))) == "hit exact"


def test_every_reason_to_refuse_that_needs_no_later_part_is_shown_here():
    shown = {reason for _, _, reason in REFUSED}
    shown |= {"stream_incomplete", "no_usage", "tool_calls", "invalid_tool_json", "logging_disabled"}
    shown |= {"disabled", "scope_missing", "personalized", "time_sensitive", "no_matcher"}
    elsewhere = {
        "no_rule",
        "sampled_request",
        "remote_content",
        "stateful_request",
        "unmodelled_param",
        "unrepresentable_content",
        "token_expired",
        "store_full",
        "store_failed",
    }
    later = {"unspecified", "generation_changed", "read_only"}
    names = reason_pb2.RefusalReason.keys()
    assert {name.removeprefix("REFUSAL_REASON_").lower() for name in names} == shown | elsewhere | later


def test_a_store_without_a_status_is_no_success(gateway, tenant):
    call = decision_service_pb2.StoreRequest(
        descriptor=describe(tenant),
        response=decision_service_pb2.UpstreamResponse(body=chat_body(), finish_reasons=["stop"]),
    )
    assert filed(gateway.stub.Store(call, timeout=DEADLINE_SECONDS)) == "upstream_error"
