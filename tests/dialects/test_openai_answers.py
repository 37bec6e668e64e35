"""Answers of OpenAI's endpoints."""

import json

import pytest

from askonce_server.core.finish import AnswerFacts
from askonce_server.dialects import inspect
from dialects.bodies import chat, chunk, dumps, response, said, sse, tool_call

CALL = {"content": None, "tool_calls": [tool_call('{"a": 1}')]}


def look(body, endpoint="chat", *, stream=False):
    return inspect("openai", endpoint, stream=stream, content_type="", body=body)


def facts(*reasons, **claims):
    return AnswerFacts(understood=True, finish_reasons=reasons, **claims)


@pytest.mark.parametrize(
    ("body", "want"),
    [
        (chat({"content": "hi"}), facts("stop")),
        (chat({"content": "hi"}, finish="length"), facts("length")),
        (chat({"content": "hi"}, finish=None), facts("")),
        (chat({"content": "a"}, {"content": "b"}), facts("stop", "stop")),
        (chat({"content": ""}), facts("stop", empty=True)),
        (chat({"content": None}), facts("stop", empty=True)),
        (chat({"content": " \n\u2003"}), facts("stop", empty=True)),
        (chat({}), facts("stop", empty=True)),
        (chat({"content": "a"}, {"content": ""}), facts("stop", "stop", empty=True)),
        (chat(), facts(empty=True)),
        (dumps({"object": "chat.completion", "choices": None}), facts(empty=True)),
        (chat({"content": "", "reasoning_content": "hm"}), facts("stop", empty=True)),
        (chat({"content": "a"}, {"content": "", "audio": {"id": "x"}}), facts("stop", "stop")),
        (chat({"content": None, "images": [{"type": "image_url"}]}), facts("stop")),
        (chat({"content": [{"type": "text", "text": "hi"}]}), facts("stop")),
        (chat({"content": [{"type": "text", "text": ""}]}), facts("stop", empty=True)),
        (chat({"content": [{"type": "thinking", "thinking": []}]}), facts("stop", empty=True)),
        (chat({"content": ["hi"]}), facts("stop")),
        (chat({"content": {"unknown": 1}}), facts("stop")),
        (chat({"content": None, "refusal": "I cannot."}), facts("stop", refused=True)),
        (chat({"content": [{"type": "refusal", "refusal": "No."}]}), facts("stop", refused=True)),
        (chat({"content": "hi", "refusal": None}), facts("stop")),
        (chat({"content": "hi", "refusal": ""}), facts("stop")),
        (chat({}, finish="content_filter"), facts("content_filter", empty=True)),
        (chat(CALL, finish="tool_calls"), facts("tool_calls", contains_tool_calls=True)),
        (chat({"tool_calls": []}), facts("stop", empty=True)),
        (
            chat({"function_call": {"name": "f", "arguments": "{}"}}, finish="function_call"),
            facts("function_call", contains_tool_calls=True),
        ),
        (
            chat({"function_call": {"name": "f", "arguments": "{"}}, finish="function_call"),
            facts("function_call", contains_tool_calls=True, invalid_tool_json=True),
        ),
        (dumps({"error": {"message": "overloaded"}}), facts(error=True)),
        (dumps({"object": "error", "message": "overloaded"}), facts(error=True)),
        (chat({"content": "hi"}, error=None), facts("stop")),
        (chat({"content": ""}, error={"code": 502}), facts("stop", error=True)),
        (
            dumps(
                {"choices": [{"error": {"code": 502}, "message": {"content": ""}, "finish_reason": "error"}]}
            ),
            facts("error", error=True),
        ),
    ],
)
def test_chat_document(body, want):
    assert look(body) == want


@pytest.mark.parametrize(
    "tree",
    [{"choices": "x"}, {"choices": {}}, {"choices": [1]}, {"choices": [None]}, {"message": {"content": ""}}],
)
def test_a_chat_document_of_another_shape_claims_nothing(tree):
    assert look(dumps(tree)) == AnswerFacts()


@pytest.mark.parametrize(
    ("arguments", "invalid"),
    [
        ("{}", False),
        ('{"a": {"b": []}}', False),
        ({"a": 1}, False),
        (' {"a": 1} ', False),
        ("", True),
        ("{", True),
        ("{'a': 1}", True),
        ('{"a": NaN}', True),
        ('{"a": 1} trailing', True),
        ("[1]", True),
        ("null", True),
        (None, True),
        (7, True),
    ],
)
def test_arguments_of_a_call(arguments, invalid):
    assert look(chat({"tool_calls": [tool_call(arguments)]})).invalid_tool_json is invalid
    both = {"tool_calls": [tool_call("{}"), tool_call(arguments, id="c2")]}
    assert look(chat(both)).invalid_tool_json is invalid
    whole = sse(chunk({"tool_calls": [tool_call(arguments, index=0)]}, finish="tool_calls"), "[DONE]")
    assert look(whole, stream=True).invalid_tool_json is invalid


def test_the_input_of_a_custom_tool_is_free_text():
    call = {"id": "c", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    assert look(chat({"tool_calls": [call]})) == facts("stop", contains_tool_calls=True)


@pytest.mark.parametrize(
    ("events", "want"),
    [
        ([chunk({"content": "hi"}), chunk({}, finish="stop"), "[DONE]"], facts("stop", terminal=True)),
        ([chunk({"content": "hi"}), chunk({}, finish="stop")], facts("stop", terminal=False)),
        ([chunk({"content": "hi"}), "[DONE]"], facts("", terminal=True)),
        ([chunk({"content": "hi"}), chunk({}, finish="length"), "[DONE]"], facts("length", terminal=True)),
        (
            [chunk({"content": ""}), chunk({}, finish="stop"), "[DONE]"],
            facts("stop", empty=True, terminal=True),
        ),
        (["[DONE]"], facts(empty=True, terminal=True)),
        ([{"choices": []}, "[DONE]"], facts(empty=True, terminal=True)),
        (
            # Usage comes in a last chunk without choices; a null reason does not take the first back.
            [
                chunk({"content": "hi"}, finish="stop"),
                chunk({"content": ""}),
                {"choices": [], "usage": {}},
                "[DONE]",
            ],
            facts("stop", terminal=True),
        ),
        (
            [
                chunk({"content": "b"}, 1),
                chunk({"content": "a"}),
                chunk({}, 1, "length"),
                chunk({}, 0, "stop"),
                "[DONE]",
            ],
            facts("stop", "length", terminal=True),
        ),
        (
            [
                chunk({"content": "a"}),
                chunk({"content": ""}, 1),
                chunk({}, 0, "stop"),
                chunk({}, 1, "stop"),
                "[DONE]",
            ],
            facts("stop", "stop", empty=True, terminal=True),
        ),
        (
            [
                chunk({"content": "a"}),
                chunk({"refusal": "I "}),
                chunk({"refusal": "cannot"}, 0, "stop"),
                "[DONE]",
            ],
            facts("stop", refused=True, terminal=True),
        ),
        (
            [chunk({"content": "a"}), {"error": {"message": "overloaded"}}],
            facts("", error=True, terminal=False),
        ),
        ([{"error": {"message": "overloaded"}}], facts(error=True, terminal=False)),
        ([{"object": "error", "message": "x"}, "[DONE]"], facts(error=True, terminal=True)),
        ([{"type": "error", "message": "x"}], facts(error=True, terminal=False)),
        (
            [
                chunk({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": ""}}]}),
                chunk({"tool_calls": [{"index": 1, "id": "b", "function": {"name": "g", "arguments": "{"}}]}),
                chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{}"}}]}),
                chunk({"tool_calls": [{"index": 1, "function": {"arguments": "}"}}]}),
                chunk({}, finish="tool_calls"),
                "[DONE]",
            ],
            facts("tool_calls", contains_tool_calls=True, terminal=True),
        ),
        (
            # Without an index, each call comes whole under its id.
            [
                chunk({"tool_calls": [tool_call("{}", id="a")]}),
                chunk({"tool_calls": [tool_call("{}", id="b")]}, finish="tool_calls"),
                "[DONE]",
            ],
            facts("tool_calls", contains_tool_calls=True, terminal=True),
        ),
        (
            [
                chunk({"function_call": {"name": "f", "arguments": "{"}}),
                chunk({"function_call": {"arguments": '"a":1}'}}, finish="function_call"),
                "[DONE]",
            ],
            facts("function_call", contains_tool_calls=True, terminal=True),
        ),
        (
            [chunk({"tool_calls": [tool_call('{"a"', index=0)]}, finish="tool_calls"), "[DONE]"],
            facts("tool_calls", contains_tool_calls=True, invalid_tool_json=True, terminal=True),
        ),
    ],
)
def test_chat_stream(events, want):
    assert look(sse(*events), stream=True) == want


def test_an_error_named_by_its_event_alone():
    body = sse(chunk({"content": "a"})) + b'event: error\ndata: {"message": "gone"}\n\n'
    assert look(body, stream=True).error


CALLED = {"type": "function_call", "id": "fc_1", "name": "f", "arguments": '{"a": 1}'}
CUT = {"incomplete_details": {"reason": "max_output_tokens"}}
RESPONSES = [
    (response(said("hi")), facts("completed")),
    (response(said("")), facts("completed", empty=True)),
    (response(), facts("completed", empty=True)),
    (response({"type": "reasoning", "summary": []}), facts("completed", empty=True)),
    (response({"type": "reasoning"}, said("hi")), facts("completed")),
    (response(CALLED), facts("completed", contains_tool_calls=True)),
    (
        response({**CALLED, "arguments": '{"a'}),
        facts("completed", contains_tool_calls=True, invalid_tool_json=True),
    ),
    (
        response({"type": "custom_tool_call", "input": "SELECT 1"}),
        facts("completed", contains_tool_calls=True),
    ),
    (response(said("No.", "refusal")), facts("completed", refused=True)),
    (response({"type": "message", "content": "hi"}), facts("completed")),
    (response({"type": "something_new"}), facts("completed")),
    (response(said("a"), status="incomplete", **CUT), facts("max_output_tokens")),
    (response(said("a"), status="incomplete"), facts("incomplete")),
    (
        response(said("a"), status="incomplete", incomplete_details={"reason": "content_filter"}),
        facts("content_filter"),
    ),
    (response(status="failed", error={"code": "server_error"}), facts("failed", error=True)),
]


@pytest.mark.parametrize(("tree", "want"), RESPONSES)
def test_responses_document(tree, want):
    assert look(dumps(tree), "responses") == want


@pytest.mark.parametrize(("tree", "want"), RESPONSES)
def test_responses_terminal_event(tree, want):
    event = {"type": f"response.{tree['status']}", "response": tree}
    body = sse({"type": "response.created", "response": response(status="in_progress")}, event)
    got = look(body, "responses", stream=True)
    assert got.terminal is True
    assert got == AnswerFacts(**{name: getattr(want, name) for name in want.__slots__} | {"terminal": True})


def test_responses_error_documents():
    assert look(dumps({"error": {"message": "no"}}), "responses") == facts(error=True)
    assert look(dumps({"output": [said("hi")]}), "responses") == facts("")
    assert look(dumps(response(said("hi"), status="queued")), "responses") == facts("queued")


@pytest.mark.parametrize(
    ("events", "want"),
    [
        (
            # The terminal event says no more than that it came.
            [
                {"type": "response.output_item.done", "item": said("hi"), "output_index": 0},
                {"type": "response.completed", "response": {"id": "r"}},
            ],
            facts("completed", terminal=True),
        ),
        (
            [{"type": "response.output_text.delta", "delta": "hi"}, {"type": "response.completed"}],
            facts("completed", terminal=True),
        ),
        ([{"type": "response.completed"}], facts("completed", empty=True, terminal=True)),
        ([{"type": "response.incomplete"}], facts("incomplete", empty=True, terminal=True)),
        ([{"type": "response.failed"}], facts("failed", error=True, terminal=True)),
        ([{"type": "response.output_text.delta", "delta": "hi"}], facts("", terminal=False)),
        ([{"type": "response.refusal.delta", "delta": "No"}], facts("", refused=True, terminal=False)),
        ([{"type": "error", "message": "gone"}], facts(error=True, terminal=False)),
        (
            [
                {
                    "type": "response.output_item.added",
                    "output_index": 0,
                    "item": {**CALLED, "arguments": ""},
                },
                {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"a'},
                {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '": 1}'},
                {"type": "response.completed"},
            ],
            facts("completed", contains_tool_calls=True, terminal=True),
        ),
        (
            # Items are told apart by their ids where there is no index.
            [
                {"type": "response.output_item.added", "item": {**CALLED, "id": "x", "arguments": ""}},
                {"type": "response.output_item.added", "item": {**CALLED, "id": "y", "arguments": ""}},
                {"type": "response.function_call_arguments.delta", "item_id": "x", "delta": "{}"},
                {"type": "response.function_call_arguments.delta", "item_id": "y", "delta": "{"},
                {"type": "response.completed"},
            ],
            facts("completed", contains_tool_calls=True, invalid_tool_json=True, terminal=True),
        ),
    ],
)
def test_responses_stream(events, want):
    assert look(sse(*events), "responses", stream=True) == want


@pytest.mark.parametrize(
    ("rows", "empty"),
    [
        ([[0.1, 0.2]], False),
        (["AACAPw=="], False),
        ([[0.1], [0.2]], False),
        ([], True),
        ([[]], True),
        ([""], True),
        ([None], True),
        ([[0.1], []], True),
    ],
)
def test_embeddings(rows, empty):
    data = [{"object": "embedding", "index": i, "embedding": row} for i, row in enumerate(rows)]
    assert look(dumps({"object": "list", "data": data}), "embeddings") == facts(empty=empty)


def test_embeddings_of_another_shape():
    assert look(dumps({"data": [{}]}), "embeddings") == facts(empty=True)
    assert look(dumps({"error": {"message": "no"}}), "embeddings") == facts(error=True)
    assert look(dumps({"data": "x"}), "embeddings") == AnswerFacts()
    assert look(dumps({"data": [[0.1]]}), "embeddings") == AnswerFacts()
    assert look(sse({"data": []}), "embeddings", stream=True) == AnswerFacts()
    assert json.loads(dumps({"data": []})) == {"data": []}
