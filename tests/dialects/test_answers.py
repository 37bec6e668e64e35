"""What a look into a body tells, whatever the dialect."""

import json
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askonce_server.core.finish import FILTERED, REFUSED, AnswerFacts, complete_reasons
from askonce_server.dialects import inspect
from dialects.bodies import chat, chunk, message, message_events, response, said, sse, tool_call

PAIRS = [("openai", "chat"), ("openai", "responses"), ("openai", "embeddings"), ("anthropic", "messages")]
NOTHING = AnswerFacts()


def look(body, pair=("openai", "chat"), *, stream=False, content_type="application/json"):
    return inspect(*pair, stream=stream, content_type=content_type, body=body)


@pytest.mark.parametrize("body", [b"", b"  ", b"\n\r\t", b"null", b" {} ", b"{\n }", b"[ ]", b'""', b'"  "'])
@pytest.mark.parametrize("pair", [*PAIRS, ("gemini", "chat"), ("openai", "images")])
@pytest.mark.parametrize("stream", [False, True])
def test_nothing_is_empty_anywhere(body, pair, stream):
    assert look(body, pair, stream=stream) == AnswerFacts(empty=True)
    assert look(b"\xef\xbb\xbf" + body, pair, stream=stream) == AnswerFacts(empty=True)


@pytest.mark.parametrize("body", [b"0", b"false", b'"a"', b"[0]", b'{"a":1}', b"{} {}", b"nullnull"])
def test_little_is_not_nothing(body):
    assert look(body, ("gemini", "chat")) == NOTHING


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    "body",
    [
        b"hello",
        b"\x89PNG\r\n\x1a\n\x00\xff",
        b"[1, 2]",
        b"7",
        b'{"id": "x"}',
        b"data: hello\n\ndata: world\n\n",
        b"data: [1]\n\n",
    ],
)
def test_what_is_not_understood_claims_nothing(pair, body):
    assert look(body, pair) == NOTHING
    assert look(body, pair, stream=True) == NOTHING


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("content_type", ["application/json", "text/html", ""])
@pytest.mark.parametrize("body", [b"<html>502</html>", b"\n<!DOCTYPE html>\n<p>Sign in", b"<?xml ?><Error/>"])
def test_the_page_of_a_proxy_is_no_answer(pair, body, stream, content_type):
    assert look(body, pair, stream=stream, content_type=content_type) == AnswerFacts(error=True)
    assert look(body, ("gemini", "chat"), stream=stream, content_type=content_type) == NOTHING


@pytest.mark.parametrize("pair", [*PAIRS, ("gemini", "chat")])
@pytest.mark.parametrize(
    "body",
    [
        b": only a comment\n\n",
        b": ping\r\n\r\n: ping\r\n\r\n",
        b"event: ping\n\n",
        b"data:\n\ndata: \n\n",
        b"retry: 10\n\nid: 3\n\n",
    ],
)
def test_a_stream_without_data_is_empty(pair, body):
    assert look(body, pair, stream=True).empty


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    "body", [b'data: {"choi', b'event: message_start\ndata: {"type"', b": ping\n\ndata: {", b"data: [DON"]
)
def test_a_stream_that_was_cut_in_its_first_event_has_no_end(pair, stream, body):
    facts = look(body, pair, stream=stream)
    assert (facts.terminal, facts.empty, facts.wrong_shape) == (False, False, not stream)


def test_a_text_that_begins_like_a_comment_is_none_to_an_unknown_dialect():
    assert look(b": )", ("gemini", "chat")) == NOTHING


def test_an_unknown_dialect_claims_nothing():
    assert look(chat({"content": ""}, finish="length"), ("mistral", "chat")) == NOTHING
    assert look(chat({"content": ""}, finish="length"), ("openai", "messages")) == NOTHING


@pytest.mark.parametrize(
    "content_type", ["", "application/json", "text/event-stream; charset=utf-8", "image/png"]
)
def test_the_body_outweighs_its_type(content_type):
    stream = sse(chunk({"content": "hi"}, finish="stop"), "[DONE]")
    assert look(stream, stream=True, content_type=content_type).terminal is True
    assert look(chat({"content": "hi"}), content_type=content_type).finish_reasons == ("stop",)


def test_a_stream_may_begin_with_an_unknown_field_when_its_type_says_so():
    body = b"x-first: 1\n\n" + sse(chunk({"content": "hi"}, finish="stop"), "[DONE]")
    assert look(body, stream=True, content_type="text/event-stream").understood
    assert look(body, stream=True, content_type="application/json") == NOTHING


@pytest.mark.parametrize(
    ("pair", "document", "events"),
    [
        (("openai", "chat"), chat({"content": "hi"}), sse(chunk({"content": "hi"}, finish="stop"), "[DONE]")),
        (
            ("anthropic", "messages"),
            message({"type": "text", "text": "hi"}),
            sse(*message_events(({"type": "text", "text": "hi"},))),
        ),
        (
            ("openai", "responses"),
            json.dumps(response(said("hi"))).encode(),
            sse({"type": "response.completed", "response": response(said("hi"))}),
        ),
    ],
)
def test_a_body_of_the_wrong_shape_is_seen(pair, document, events):
    assert not look(document, pair).wrong_shape
    assert look(document, pair).terminal is None
    assert look(document, pair, stream=True).wrong_shape
    assert look(document, pair, stream=True).terminal is False
    assert not look(events, pair, stream=True).wrong_shape
    assert look(events, pair, stream=True).terminal is True
    assert look(events, pair).wrong_shape


RECORDED = {
    ("openai", "chat"): sse(
        chunk({"role": "assistant", "content": ""}),
        chunk({"content": "Zürich"}),
        chunk({"tool_calls": [tool_call('{"a"', index=0)]}),
        chunk({"tool_calls": [{"index": 0, "function": {"arguments": ": 1}"}}]}),
        chunk({}, finish="tool_calls"),
        "[DONE]",
    ),
    ("openai", "responses"): sse(
        {"type": "response.created", "response": response(status="in_progress")},
        {"type": "response.output_item.added", "output_index": 0, "item": said("")},
        {"type": "response.output_text.delta", "output_index": 0, "delta": "Zürich"},
        {"type": "response.output_item.done", "output_index": 0, "item": said("Zürich")},
        {"type": "response.completed", "response": response(said("Zürich"))},
    ),
    ("anthropic", "messages"): sse(
        *message_events(
            ({"type": "text", "text": ""}, {"type": "text_delta", "text": "Zürich"}),
            (
                {"type": "tool_use", "id": "t", "name": "f", "input": {}},
                {"type": "input_json_delta", "partial_json": '{"a"'},
                {"type": "input_json_delta", "partial_json": ": 1}"},
            ),
            stop="tool_use",
        )
    ),
}


@pytest.mark.parametrize("pair", sorted(RECORDED))
def test_line_ends_comments_and_split_data_change_nothing(pair):
    body = RECORDED[pair]
    want = look(body, pair, stream=True)
    assert want.understood
    assert want.terminal is True
    assert not want.empty
    assert not want.invalid_tool_json
    variants = [
        body.replace(b"\n", b"\r\n"),
        body.replace(b"\n", b"\r"),
        b"\xef\xbb\xbf" + body,
        b": OPENROUTER PROCESSING\n\n" + body.replace(b"\n\n", b"\n\n: keep-alive\n\n"),
        body.replace(b"\n\n", b"\n\n\n\n"),
        body.replace(b"data: ", b"data:"),
        body.replace(b"data: ", b"id: 7\nretry: 10\ndata: "),
        body.replace(b", ", b",\ndata: "),  # one value over several data lines
        body.rstrip(),
    ]
    for variant in variants:
        assert variant != body
        assert look(variant, pair, stream=True) == want


@pytest.mark.parametrize("pair", sorted(RECORDED))
def test_a_stream_cut_anywhere_is_never_complete(pair):
    body = RECORDED[pair].rstrip()
    whole = look(body, pair, stream=True)
    for end in range(len(body)):
        facts = look(body[:end], pair, stream=True)
        assert facts.terminal is not True, body[:end]
        assert not facts.error
        assert not facts.refused
    assert whole.terminal is True


@pytest.mark.parametrize("pair", sorted(RECORDED))
def test_what_follows_the_end_is_not_read(pair):
    body = RECORDED[pair]
    late = sse({"error": {"message": "late"}}, chunk({"refusal": "no"}))
    if pair != ("openai", "responses"):
        assert look(body + late, pair, stream=True) == look(body, pair, stream=True)


def test_a_name_without_a_type_in_the_data_names_the_event():
    body = RECORDED["anthropic", "messages"]
    events = [line for line in body.split(b"\n\n") if line]
    for position, event in enumerate(events):
        name, data = event.split(b"\n")
        tree = json.loads(data.removeprefix(b"data: "))
        del tree["type"]
        events[position] = name + b"\ndata: " + json.dumps(tree).encode()
    pair = ("anthropic", "messages")
    assert look(b"\n\n".join(events), pair, stream=True) == look(body, pair, stream=True)


KEYS = st.sampled_from(
    [
        "choices",
        "index",
        "delta",
        "message",
        "content",
        "type",
        "text",
        "tool_calls",
        "function",
        "arguments",
        "finish_reason",
        "error",
        "object",
        "refusal",
        "output",
        "status",
        "incomplete_details",
        "reason",
        "response",
        "item",
        "item_id",
        "output_index",
        "data",
        "embedding",
        "content_block",
        "partial_json",
        "input",
        "stop_reason",
        "id",
        "custom",
        "function_call",
        "audio",
    ]
)
WORDS = st.sampled_from(
    [
        "message",
        "text",
        "refusal",
        "tool_use",
        "function_call",
        "response.completed",
        "response.output_item.done",
        "error",
        "thinking",
        "message_start",
        "content_block_start",
        "content_block_delta",
        "message_delta",
        "message_stop",
        "response",
        "response.output_text.delta",
        "response.function_call_arguments.delta",
        "chat.completion",
        "{",
        "{}",
        "stop",
    ]
)
TREES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 3)
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(KEYS, TREES, max_size=6)


@given(body=st.binary(max_size=200), pair=st.sampled_from(PAIRS), stream=st.booleans())
@example(body=b"data:", pair=PAIRS[0], stream=True)
@example(body=b"event:\xff\ndata:{}", pair=PAIRS[0], stream=True)
def test_no_bytes_raise(body, pair, stream):
    assert isinstance(look(body, pair, stream=stream), AnswerFacts)
    assert isinstance(look(b"data: " + body + b"\n\ndata: {}", pair, stream=stream), AnswerFacts)


@given(tree=OBJECTS, pair=st.sampled_from(PAIRS))
def test_no_document_raises(tree, pair):
    facts = look(json.dumps(tree).encode(), pair)
    if not facts.understood:
        assert facts in (NOTHING, AnswerFacts(empty=True), AnswerFacts(cut=True))
    assert not (facts.error and facts.empty)
    assert facts.terminal is None


@given(trees=st.lists(OBJECTS, min_size=1, max_size=5), pair=st.sampled_from(PAIRS))
def test_no_stream_raises(trees, pair):
    body = b"".join(b"data: " + json.dumps(tree).encode() + b"\n\n" for tree in trees)
    facts = look(body, pair, stream=True)
    assert (facts.terminal is None) == (not facts.understood)
    assert facts.understood or facts == NOTHING


@given(pair=st.sampled_from(sorted(RECORDED)), where=st.integers(0, 10**6), new=st.binary(max_size=3))
def test_no_damaged_stream_raises(pair, where, new):
    body = RECORDED[pair]
    where %= len(body)
    facts = look(body[:where] + new + body[where + 1 :], pair, stream=True)
    assert facts.understood or facts in (NOTHING, AnswerFacts(empty=True))


MIB = 1 << 20


@pytest.mark.parametrize(
    "body",
    [
        chat({"content": "lorem ipsum " * (MIB // 12)}),
        sse(chunk({"content": "x"})) * (MIB // 120),
        b"data:{}\n\n" * (MIB // 9),
        b"data:1" + b"\n\n" * (MIB // 2) + b"x",
        b"data:1\n" + b"a\n" * (MIB // 2) + b"x",
        b"data:\n" * (MIB // 6) + b"x",
        b'{"choices":' + b"[" * MIB,
        b" " * MIB + b"x" + b" x" * (MIB // 2),
        sse(chunk({"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]})) * (MIB // 140),
    ],
    ids=["json", "chunks", "least", "blank", "lines", "data", "deep", "spaces", "calls"],
)
def test_a_large_body_takes_linear_time(body):
    # Milliseconds when alone; the limit leaves room for a busy machine, none for a square.
    started = time.process_time()
    look(body, stream=True)
    assert time.process_time() - started < 2


def test_finish_reasons():
    assert complete_reasons("openai") == {"stop", "tool_calls", "function_call", "completed"}
    assert complete_reasons("anthropic") == {"end_turn", "stop_sequence", "tool_use"}
    assert complete_reasons("mistral") is None
    for dialect in ("openai", "anthropic"):
        assert not complete_reasons(dialect) & (FILTERED | REFUSED)
    assert "content_filter" in FILTERED
    assert {"refusal"} == REFUSED


@pytest.mark.parametrize("body", [b'{"choices": [', b'{"a": NaN}', b"[" * 5000])
@pytest.mark.parametrize("pair", PAIRS)
def test_what_begins_as_a_document_and_is_none_is_cut(pair, body):
    assert look(body, pair) == AnswerFacts(cut=True)


@pytest.mark.parametrize("size", [1, 20, 60])
def test_a_document_that_breaks_off_is_told_from_bytes_of_another_kind(size):
    whole = b'{"choices":[{"finish_reason":"stop","message":{"role":"assistant","content":"hello there"}}]}'
    cut = inspect("openai", "chat", stream=False, content_type="application/json", body=whole[:size])
    assert cut.cut
    assert not inspect("openai", "chat", stream=False, content_type="application/json", body=whole).cut
    assert not inspect("openai", "chat", stream=False, content_type="text/plain", body=b"hello").cut
