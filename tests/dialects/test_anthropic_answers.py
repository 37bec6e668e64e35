"""Answers of Anthropic's messages endpoint."""

import pytest

from askonce_server.core.finish import AnswerFacts
from askonce_server.dialects import inspect
from dialects.bodies import dumps, message, message_events, sse

TEXT = {"type": "text", "text": "hi"}
BLANK = {"type": "text", "text": " \n"}
THINKING = {"type": "thinking", "thinking": "hm", "signature": "s"}
TOOL = {"type": "tool_use", "id": "t", "name": "f", "input": {"a": 1}}
ERROR = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}


def look(body, *, stream=False):
    return inspect("anthropic", "messages", stream=stream, content_type="", body=body)


def facts(*reasons, **claims):
    return AnswerFacts(understood=True, finish_reasons=reasons, **claims)


@pytest.mark.parametrize(
    ("body", "want"),
    [
        (message(TEXT), facts("end_turn")),
        (message(THINKING, TEXT), facts("end_turn")),
        (message(BLANK, TEXT), facts("end_turn")),
        (message(TEXT, stop="max_tokens"), facts("max_tokens")),
        (message(TEXT, stop=None), facts("")),
        (message(), facts("end_turn", empty=True)),
        (message(BLANK), facts("end_turn", empty=True)),
        (message({"type": "text"}), facts("end_turn", empty=True)),
        (message(THINKING), facts("end_turn", empty=True)),
        (message({"type": "redacted_thinking", "data": "x"}, BLANK), facts("end_turn", empty=True)),
        (message({"type": "something_new"}), facts("end_turn")),
        (message(TOOL, stop="tool_use"), facts("tool_use", contains_tool_calls=True)),
        (message({**TOOL, "input": {}}, stop="tool_use"), facts("tool_use", contains_tool_calls=True)),
        (
            message({**TOOL, "input": '{"a'}, stop="tool_use"),
            facts("tool_use", contains_tool_calls=True, invalid_tool_json=True),
        ),
        (
            message({"type": "server_tool_use", "input": {"query": "x"}}, TEXT),
            facts("end_turn", contains_tool_calls=True),
        ),
        (message(TEXT, stop="refusal"), facts("refusal", refused=True)),
        (message(stop="refusal"), facts("refusal", refused=True, empty=True)),
        (dumps(ERROR), facts(error=True)),
        (dumps({"type": "message", "content": None}), facts("", empty=True)),
        (dumps({"content": [TEXT], "stop_reason": "end_turn"}), facts("end_turn")),
    ],
)
def test_document(body, want):
    assert look(body) == want


@pytest.mark.parametrize(
    "tree", [{"type": "message", "content": "hi"}, {"content": {}}, {"completion": "hi"}]
)
def test_a_document_of_another_shape_claims_nothing(tree):
    assert look(dumps(tree)) == AnswerFacts()


def started(kind, **more):
    return {"type": kind, **more}


def text(value):
    return {"type": "text_delta", "text": value}


def partial(value):
    return {"type": "input_json_delta", "partial_json": value}


TOOL_START = started("tool_use", id="t", name="f", input={})


@pytest.mark.parametrize(
    ("blocks", "stop", "want"),
    [
        ([(started("text", text=""), text("h"), text("i"))], "end_turn", facts("end_turn", terminal=True)),
        ([(started("text", text="hi"),)], "end_turn", facts("end_turn", terminal=True)),
        ([(started("text", text=""), text(" "))], "end_turn", facts("end_turn", empty=True, terminal=True)),
        ([], "end_turn", facts("end_turn", empty=True, terminal=True)),
        (
            [(started("thinking", thinking=""), {"type": "thinking_delta", "thinking": "hm"})],
            "end_turn",
            facts("end_turn", empty=True, terminal=True),
        ),
        ([(started("text", text=""), text("a"))], "max_tokens", facts("max_tokens", terminal=True)),
        ([(started("text", text=""), text("a"))], "refusal", facts("refusal", refused=True, terminal=True)),
        (
            [
                (started("text", text=""), text("a")),
                (TOOL_START, partial(""), partial('{"a'), partial('": 1}')),
            ],
            "tool_use",
            facts("tool_use", contains_tool_calls=True, terminal=True),
        ),
        ([(TOOL_START,)], "tool_use", facts("tool_use", contains_tool_calls=True, terminal=True)),
        ([(TOOL_START, partial(""))], "tool_use", facts("tool_use", contains_tool_calls=True, terminal=True)),
        (
            [(TOOL_START, partial('{"a'))],
            "tool_use",
            facts("tool_use", contains_tool_calls=True, invalid_tool_json=True, terminal=True),
        ),
    ],
)
def test_stream(blocks, stop, want):
    assert look(sse(*message_events(*blocks, stop=stop)), stream=True) == want


def test_deltas_of_interleaved_blocks_stay_apart():
    events = message_events(
        (TOOL_START, partial('{"a"'), partial(": 1}")), (TOOL_START, partial("{"), partial("}"))
    )
    deltas = [event for event in events if event["type"] == "content_block_delta"]
    starts = [event for event in events if event["type"] == "content_block_start"]
    mixed = [events[0], *starts, deltas[0], deltas[2], deltas[1], deltas[3], *events[-2:]]
    assert look(sse(*mixed), stream=True) == facts("end_turn", contains_tool_calls=True, terminal=True)


def test_an_error_in_the_stream():
    begun = message_events((started("text", text=""), text("a")))[:3]
    assert look(sse(*begun, ERROR), stream=True) == facts("", error=True, terminal=False)
    assert look(sse(ERROR), stream=True) == facts(error=True, terminal=False)


def test_pings_and_unknown_events_change_nothing():
    events = message_events((started("text", text=""), text("a")))
    noisy = [
        item
        for event in events
        for item in ({"type": "ping"}, event, {"type": "new", "delta": {"text": "x"}})
    ]
    assert look(sse(*noisy), stream=True) == look(sse(*events), stream=True)


def test_a_stream_without_a_start_claims_nothing():
    assert look(sse(*message_events((started("text", text="a"),))[1:]), stream=True) == AnswerFacts()
    assert look(sse({"type": "ping"}), stream=True) == AnswerFacts()
