"""What comes back of an answer that was stored, and what rules may ask of one."""

from __future__ import annotations

import pytest

from askonce.v1 import decision_pb2
from rpc.answers import answer, chat_body
from rpc.replies import filed, verdict
from rpc.requests import describe, dumps, target

STRICT = {"attributes": {"rule": "strict-answers"}}


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


NO_USAGE = decision_pb2.Usage()


@pytest.mark.parametrize(
    ("changes", "body"),
    [
        ({"status_code": 200}, None),
        ({"status_code": 299}, None),
        ({"finish_reasons": ["tool_calls"]}, tool_call()),
        ({"finish_reasons": ["function_call"]}, None),
        ({"finish_reasons": ["completed"]}, None),
        ({"finish_reasons": ["stop", "stop"]}, choices("stop", "stop")),
        ({"cacheable": True}, None),
        ({"served": target()}, None),
        ({}, b'"' + b"x" * (2**20 - 2) + b'"'),
        ({}, b"not even JSON, and none of our business"),
        ({"finish_reasons": ["tool_calls"]}, tool_call("not json")),
        ({"content_type": ""}, None),
        ({"content_type": "text/plain; charset=\u00e9"}, None),
    ],
)
def test_an_answer_that_may_be_replayed_is_given_back_byte_by_byte(gateway, tenant, changes, body):
    response = answer(body if body is not None else "Hello.", **changes)
    stored = gateway.store(describe(tenant), response)
    assert filed(stored) == "stored"
    assert stored.cache_status == "askonce; fwd=miss; stored"
    found = gateway.ask(describe(tenant)).candidate
    assert found.body.data == response.body
    assert found.body.content_type == response.content_type


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, "no_usage"),
        ({"usage": NO_USAGE}, "stored"),
        ({"usage": decision_pb2.Usage(input_tokens=1, output_tokens=2)}, "stored"),
        ({"usage": NO_USAGE, "contains_tool_calls": True}, "tool_calls"),
        (
            {"usage": NO_USAGE, "body": tool_call(), "finish_reasons": ["tool_calls"]},
            "tool_calls",
        ),
        ({"usage": NO_USAGE, "body": chat_body("x" * 4096)}, "too_large"),
        ({"usage": NO_USAGE, "body": b"x" * 4096}, "stored"),
        ({"usage": NO_USAGE, "body": b"x" * 4097}, "too_large"),
    ],
)
def test_a_rule_may_ask_more_of_an_answer(gateway, tenant, changes, reason):
    asked = describe(tenant, **STRICT)
    assert filed(gateway.store(asked, answer(**changes))) == reason


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [("not json", "invalid_tool_json"), ("[1]", "invalid_tool_json"), ('{"a":1}', "stored")],
)
def test_a_rule_may_look_into_the_arguments_of_tool_calls(gateway, tenant, arguments, reason):
    asked = describe(tenant, attributes={"rule": "tool-json"})
    response = answer(tool_call(arguments), finish_reasons=["tool_calls"])
    assert filed(gateway.store(asked, response)) == reason


def test_a_hit_says_whether_the_answer_calls_tools(gateway, tenant):
    response = answer(tool_call(), finish_reasons=["tool_calls"])
    assert filed(gateway.store(describe(tenant), response)) == "stored"
    assert gateway.ask(describe(tenant)).candidate.contains_tool_calls
    assert filed(gateway.store(describe(f"{tenant}-2"), answer(contains_tool_calls=True))) == "stored"
    assert gateway.ask(describe(f"{tenant}-2")).candidate.contains_tool_calls
    assert filed(gateway.store(describe(f"{tenant}-3"), answer())) == "stored"
    assert not gateway.ask(describe(f"{tenant}-3")).candidate.contains_tool_calls


def test_a_caller_that_opted_out_of_logging_is_answered_and_never_written_for(gateway, tenant):
    gateway.fill(describe(tenant))
    assert verdict(gateway.ask(describe(tenant), logging_disabled=True)) == "hit exact"
    decision = gateway.ask(describe(f"{tenant}-new"), logging_disabled=True)
    assert verdict(decision) == "miss"
    assert not decision.fill_token
    assert not decision.store_answer
    token = gateway.ask(describe(f"{tenant}-new")).fill_token
    for source in (token, describe(f"{tenant}-new")):
        stored = gateway.store(source, answer(), logging_disabled=True)
        assert filed(stored) == "logging_disabled"
    assert verdict(gateway.ask(describe(f"{tenant}-new"))) == "miss"


def test_a_rule_may_look_at_words_and_size(gateway, tenant):
    rule = {"attributes": {"rule": "bounded"}}
    for text, reason in (
        ("what is new Today?", "time_sensitive"),
        ("x" * 1100, "too_large"),
        ("what is new todays?", None),
    ):
        asked = describe(tenant, [{"role": "user", "content": text}], **rule)
        assert verdict(gateway.ask(asked)) == (f"bypass {reason}" if reason else "miss")
    large = describe(tenant, [{"role": "user", "content": "x" * 1100}], **rule)
    assert filed(gateway.store(large)) == "too_large"
    today = describe(tenant, [{"role": "user", "content": "today"}], **rule)
    assert filed(gateway.store(today)) == "time_sensitive"


def test_a_later_answer_takes_the_place_of_an_earlier_one(gateway, tenant):
    first = gateway.store(describe(tenant), answer("first"))
    second = gateway.store(describe(tenant), answer("second"))
    assert first.entries == second.entries
    assert gateway.ask(describe(tenant)).candidate.body.data == chat_body("second")


def test_what_the_gateway_said_of_an_answer_comes_back_with_it(gateway, tenant):
    response = answer(
        usage=decision_pb2.Usage(input_tokens=12, output_tokens=34),
        cost_usd=0.25,
        source_request_id="request-7",
    )
    gateway.store(describe(tenant), response)
    found = gateway.ask(describe(tenant)).candidate
    assert (found.usage.input_tokens, found.usage.output_tokens) == (12, 34)
    assert found.cost_avoided_usd == 0.25
    assert found.source_request_id == "request-7"
    assert found.stream == decision_pb2.BODY_SHAPE_JSON


def test_what_is_unknown_of_an_answer_is_not_zero(gateway, tenant):
    gateway.store(describe(tenant), answer())
    found = gateway.ask(describe(tenant)).candidate
    assert not found.HasField("usage")
    assert not found.HasField("cost_avoided_usd")
    gateway.store(describe(tenant), answer(cost_usd=0.0, usage=decision_pb2.Usage()))
    found = gateway.ask(describe(tenant)).candidate
    assert found.HasField("usage")
    assert found.HasField("cost_avoided_usd")
