"""What a request must say, each shortfall named, all of them at once."""

from __future__ import annotations

import pytest

from askonce_server.core.descriptor import Content, Controls, Target
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.reasons import BypassReason
from askonce_server.core.rules import Identity
from askonce_server.service.asked import Asked, plan_for
from core.builders import USER_HI, body, content, descriptor, digests, dumps, plan, rule, run

HI = {"messages": USER_HI, "temperature": 0}


def faults(wanted, under=None, **asked):
    with pytest.raises(MalformedRequest) as caught:
        plan(wanted, under, **asked)
    return {violation.field: violation.description for violation in caught.value.violations}


# Stream


@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages"])
def test_generating_endpoints_must_say_whether_they_stream(endpoint):
    assert list(faults(descriptor(endpoint=endpoint, stream=None))) == ["descriptor.stream"]
    assert list(faults(descriptor(endpoint=endpoint, stream=None, content=digests()))) == [
        "descriptor.stream"
    ]


def test_other_endpoints_need_not():
    assert plan(descriptor(endpoint="embeddings", stream=None)).request.stream is False
    assert plan(descriptor(endpoint="rerank", stream=True)).request.stream is True


@pytest.mark.parametrize(
    ("said", "wanted"), [({}, False), ({"stream": False}, False), ({"stream": True}, True)]
)
def test_a_body_says_it_itself(said, wanted):
    assert plan(body("openai", "chat", {**HI, **said})).request.stream is wanted
    assert plan(body("openai", "chat", {**HI, **said}, stream=wanted)).request.stream is wanted
    assert list(faults(body("openai", "chat", {**HI, **said}, stream=not wanted))) == ["descriptor.stream"]


def test_params_may_repeat_it_but_not_replace_or_contradict_it():
    told = content(params={"temperature": 0, "stream": True})
    assert plan(descriptor(content=told, stream=True)).request.stream is True
    text = "is false but the content says true; say the same or leave it out"
    assert faults(descriptor(content=told, stream=False)) == {"descriptor.stream": text}
    assert list(faults(descriptor(content=told, stream=None))) == ["descriptor.stream"]


def test_a_stream_that_is_no_boolean_is_a_fault_where_it_stands():
    assert list(faults(body("openai", "chat", {**HI, "stream": "yes"}))) == ["descriptor.body_json.stream"]
    wrong = content(params={"stream": 1})
    assert list(faults(descriptor(content=wrong))) == ["descriptor.parts.params.stream"]


# Content


def test_a_request_without_messages_would_share_its_key_with_all_others():
    forgot = descriptor(content=content(None))
    assert list(faults(forgot)) == ["descriptor.parts.messages"]
    assert list(faults(descriptor(content=content(None, system="Be brief.")))) == [
        "descriptor.parts.messages"
    ]
    assert list(faults(descriptor(content=Content(messages=b"null")))) == ["descriptor.parts.messages"]
    assert list(faults(descriptor(endpoint="images", content=Content()))) == ["descriptor.parts"]
    assert plan(descriptor(endpoint="images", content=content(None, params={"prompt": "a cat"}))).scope


def test_what_stands_instead_of_messages_makes_the_request_stateful():
    wanted = descriptor(endpoint="responses", content=content(None, params={"prompt": {"id": "p"}}))
    assert plan(wanted).bypass_reason is BypassReason.STATEFUL_REQUEST
    whole = body("openai", "responses", {"model": "m", "previous_response_id": "r"})
    assert plan(whole).bypass_reason is BypassReason.STATEFUL_REQUEST


def test_a_body_without_messages_is_a_fault_too():
    assert list(faults(body("openai", "chat", {"temperature": 0}))) == ["descriptor.body_json.messages"]
    assert list(faults(body("openai", "embeddings", {"input": None}))) == ["descriptor.body_json.input"]


@pytest.mark.parametrize(
    ("dialect", "endpoint"),
    [("gemini", "chat"), ("openai", "rerank"), ("anthropic", "chat"), ("OpenAI", "chat")],
)
def test_a_body_of_an_unknown_layout_has_to_come_in_parts(dialect, endpoint):
    text = faults(body(dialect, endpoint, HI))["descriptor.body_json"]
    assert "send `parts` instead" in text


def test_json_that_does_not_parse_is_named_with_its_place():
    wanted = descriptor(content=Content(messages=b"[1,", params=b"{]"))
    found = faults(wanted)
    assert found["descriptor.parts.messages"].endswith("at byte 3")
    assert found["descriptor.parts.params"].endswith("at byte 1")
    assert faults(body("openai", "chat", {}, content=b"\xff"))["descriptor.body_json"].endswith("at byte 0")
    assert faults(body("openai", "chat", {}, content=b""))["descriptor.body_json"].endswith("at byte 0")


@pytest.mark.parametrize("params", [b"[]", b"7", b'"a"', b"true"])
def test_params_are_an_object(params):
    wanted = descriptor(content=Content(messages=dumps(USER_HI), params=params))
    assert list(faults(wanted)) == ["descriptor.parts.params"]


@pytest.mark.parametrize("raw", [b"[]", b"null", b"7", b'"a"'])
def test_a_body_is_an_object(raw):
    assert list(faults(body("openai", "chat", {}, content=raw))) == ["descriptor.body_json"]


UNREPRESENTABLE = {
    "duplicate key": b'{"a":1,"a":1}',
    "duplicate key in another spelling": b'{"a":1,"\\u0061":2}',
    "NaN": b"NaN",
    "infinity": b"-Infinity",
    "beyond a double": b"1e999",
    "2^53": b"9007199254740992",
    "-2^53": b"-9007199254740992",
    "2^53 as a fraction": b"9007199254740992.0",
    "2^53 as an exponent": b"9.007199254740992e15",
    "integral and large": b"1e300",
    "half a surrogate pair": b'"\\ud800"',
    "the other half": b'"\\udc00"',
    "129 levels": b"[" * 129 + b"]" * 129,
}


@pytest.mark.parametrize("raw", UNREPRESENTABLE.values(), ids=UNREPRESENTABLE)
@pytest.mark.parametrize("part", ["messages", "system", "tools", "params"])
def test_json_without_one_reading_bypasses_whichever_part_it_is_in(raw, part):
    value = b'{"seed":1,"x":%s}' % raw if part == "params" else b'[{"type":"function","x":%s}]' % raw
    parts = {"messages": dumps(USER_HI), "params": b'{"seed":1}', part: value}
    wanted = descriptor(content=Content(**parts))
    decision = run(plan(wanted))
    assert decision.bypass_reason is BypassReason.UNREPRESENTABLE_CONTENT
    assert (decision.grant, decision.store_answer) == (None, False)


@pytest.mark.parametrize("raw", UNREPRESENTABLE.values(), ids=UNREPRESENTABLE)
def test_a_body_without_one_reading_bypasses(raw):
    whole = b'{"messages":[{"role":"user","content":"hi"}],"seed":1,"x":%s}' % raw
    decision = run(plan(body("openai", "chat", {}, content=whole)))
    assert decision.bypass_reason is BypassReason.UNREPRESENTABLE_CONTENT


def test_128_levels_are_representable():
    deep = b"[" * 126 + b"]" * 126
    whole = b'{"messages":[{"role":"user","content":"hi"}],"seed":1,"x":%s}' % deep
    assert plan(body("openai", "chat", {}, content=whole)).bypass_reason is None


# Targets and routes


def test_each_identity_needs_its_targets():
    no_model, nothing = Target("openai", ""), Target()
    assert list(faults(descriptor(served=no_model))) == ["descriptor.served.model"]
    served = ["descriptor.served.provider", "descriptor.served.model"]
    assert list(faults(descriptor(served=nothing))) == served
    target = rule(identity=Identity.TARGET)
    assert list(faults(descriptor(requested=no_model), target)) == ["descriptor.requested.model"]
    assert plan(descriptor(served=nothing, requested=Target("a", "b")), target).scope
    both = rule(identity=Identity.BOTH)
    assert list(faults(descriptor(served=nothing, requested=nothing), both)) == [
        *served,
        "descriptor.requested.provider",
        "descriptor.requested.model",
    ]


def test_without_a_rule_no_target_is_needed():
    planned = plan_for(Asked(descriptor(served=Target())), [])
    assert planned.bypass_reason is BypassReason.NO_RULE


# Times


@pytest.mark.parametrize("ttl", [-5_000, -1, 0, 999, 86_400_001])
def test_a_ttl_outside_the_rules_bounds_is_refused_not_clamped(ttl):
    assert list(faults(descriptor(), ttl_ms=ttl)) == ["controls.ttl"]


@pytest.mark.parametrize("ttl", [None, 1_000, 86_400_000])
def test_a_ttl_at_the_bounds_is_taken(ttl):
    assert plan(descriptor(), ttl_ms=ttl).bypass_reason is None


@pytest.mark.parametrize("ttl", [-5_000, 0])
def test_a_ttl_that_is_not_positive_is_a_fault_under_no_rule_too(ttl):
    with pytest.raises(MalformedRequest) as caught:
        plan_for(Asked(descriptor(), Controls(ttl_ms=ttl)), [])
    assert [violation.field for violation in caught.value.violations] == ["controls.ttl"]


@pytest.mark.parametrize("name", ["max_age", "min_fresh", "max_stale"])
def test_times_are_not_negative(name):
    assert list(faults(descriptor(), **{f"{name}_ms": -1})) == [f"controls.{name}"]
    assert plan(descriptor(), **{f"{name}_ms": 0}).bypass_reason is None


def test_everything_that_is_wrong_is_named_at_once():
    found = faults(
        descriptor(served=Target(), stream=None, content=Content(messages=b"[", system=b"{", params=b"1")),
        ttl_ms=0,
        max_age_ms=-1,
        violations=(Violation("request_id", "is too long"),),
    )
    assert set(found) == {
        "request_id",
        "descriptor.parts.messages",
        "descriptor.parts.system",
        "descriptor.stream",
        "descriptor.served.provider",
        "descriptor.served.model",
        "controls.ttl",
        "controls.max_age",
    }


def test_a_message_with_fields_of_a_newer_version_is_left_alone_not_refused():
    newer = descriptor(stream=None, content=Content())
    planned = plan(newer, known_fields=False)
    assert planned.bypass_reason is BypassReason.UNREPRESENTABLE_CONTENT
