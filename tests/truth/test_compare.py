"""Whether two answers say the same."""

from __future__ import annotations

import json
import math
from zlib import crc32

import numpy as np
import pytest

from askonce_server.core.said import Said, ToolCall
from askonce_server.dialects.said import said
from askonce_server.ports import Embedded, EmbedderFailed
from askonce_server.truth.compare import Comparator, verdict_of
from askonce_server.truth.likeness import Likeness
from askonce_server.truth.passages import sentences
from askonce_server.truth.verdict import Verdict

SAME, DIFFERENT, UNKNOWN = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNKNOWN
NEVER = math.inf


class BagOfWords:
    """An embedder whose cosines are the shares of common words."""

    name, dim, max_tokens = "bag", 512, None
    fingerprint = b"f" * 32
    broken = False

    def embed(self, text, *, deadline):
        if self.broken:
            raise EmbedderFailed("down")
        vector = np.zeros(self.dim, dtype=np.float32)
        for word in text.lower().replace(".", "").split():
            vector[crc32(word.encode()) % self.dim] += 1
        return Embedded(vector / np.linalg.norm(vector), None, None)

    def close(self):
        pass


class Judge:
    """Says what it is told to."""

    def __init__(self, says, fingerprint=b"judge"):
        self.says, self.fingerprint, self.asked = says, fingerprint, []

    def same(self, one, other, *, deadline):
        self.asked.append((one, other))
        return self.says


def compared(one, other, *, judge=None, embedder=None):
    made = [Said(text) if isinstance(text, str) else text for text in (one, other)]
    both = {
        Comparator(embedder or BagOfWords(), judge).compare(*pair, deadline=NEVER)
        for pair in (made, made[::-1])
    }
    assert len(both) == 1
    return both.pop()


LONG = "Your card arrives within five working days. You can follow it in the app. It costs 3 euros."


def test_what_is_equal_is_the_same_without_any_model():
    assert Comparator().compare(Said(LONG), Said(LONG), deadline=NEVER) is SAME
    assert Comparator().compare(Said(LONG), Said(LONG + " Really."), deadline=NEVER) is UNKNOWN


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ("Yes", "**yes**.", SAME),
        ("Paris", "paris!", SAME),
        ("The Eiffel Tower", "Eiffel Tower", SAME),
        ("Yes", "No", DIFFERENT),
        ("billing", "technical", DIFFERENT),
        ("Paris", "Paris, France", UNKNOWN),
        ("12", "13", DIFFERENT),
        ("Yes", LONG, UNKNOWN),
        ("...", "!", UNKNOWN),
    ],
)
def test_labels_are_compared_by_their_words(one, other, verdict):
    assert compared(one, other) is verdict


@pytest.mark.parametrize(
    ("one", "other", "verdict"),
    [
        ('{"a": 1, "b": [true, null]}', '```json\n{"b": [true, null], "a": 1.0}\n```', SAME),
        ('{"intent": "Refund"}', '{"intent": "refund"}', SAME),
        ('{"a": 1}', '{"a": 2}', DIFFERENT),
        ('{"a": 1}', '{"a": true}', DIFFERENT),
        ('{"a": 1}', '{"b": 1}', DIFFERENT),
        ("[1, 2]", "[2, 1]", DIFFERENT),
        ("[1]", "[1, 2]", DIFFERENT),
        ('{"a": 1}', LONG, UNKNOWN),
        (f'{{"answer": "{LONG}", "n": 1}}', f'{{"answer": "Sure! {LONG}", "n": 1}}', SAME),
    ],
)
def test_json_is_compared_by_its_values(one, other, verdict):
    assert compared(one, other) is verdict


def test_tool_calls_are_compared_by_name_and_arguments():
    call = ToolCall("find", b'{"city":"Oslo"}')
    one = Said("Let me look.", (call,))
    assert compared(one, Said("", (call,))) is SAME
    assert compared(one, Said("", (call._replace(arguments=b'{"city":"Rome"}'),))) is DIFFERENT
    assert compared(one, Said("", (call, call))) is DIFFERENT
    assert compared(one, Said("Let me look.")) is DIFFERENT


def test_courtesies_layout_and_order_make_no_difference():
    points = (
        "It costs 3 euros.",
        "You can follow it in the app.",
        "Your card arrives within five working days.",
    )
    listed = "\n".join(f"- {point}" for point in points)
    assert compared(LONG, f"Sure!\n\n{listed}\n\nLet me know if you have any other questions.") is SAME


@pytest.mark.parametrize(
    ("old", "new"),
    [("five", "seven"), ("3 euros", "5 euros"), ("You can follow", "You cannot follow")],
)
def test_the_same_wording_with_another_fact_is_different(old, new):
    assert compared(LONG, LONG.replace(old, new)) is DIFFERENT


def test_what_is_about_something_else_is_different():
    other = "Open an account by sending us two documents. Our branch in town opens at nine every morning."
    assert compared(LONG, other) is DIFFERENT


def test_refusing_is_no_answer():
    assert compared(Said(LONG), Said(LONG, refused=True)) is DIFFERENT


@pytest.mark.parametrize("other", [None, Said()])
def test_what_cannot_be_read_is_like_nothing(other):
    assert Comparator().compare(Said(LONG), other, deadline=NEVER) is UNKNOWN
    assert Comparator().compare(other, other, deadline=NEVER) is UNKNOWN


def test_the_judge_is_asked_when_nothing_else_decides():
    for says, verdict in ((True, SAME), (False, DIFFERENT), (None, UNKNOWN)):
        judge = Judge(says)
        assert compared("Paris", "Paris, France", judge=judge) is verdict
        assert judge.asked
    unasked = Judge(True)
    assert compared("Yes", "No", judge=unasked) is DIFFERENT
    assert not unasked.asked


def test_an_embedder_that_is_down_leaves_it_unknown():
    embedder = BagOfWords()
    embedder.broken = True
    assert compared(LONG, "Sure! " + LONG, embedder=embedder) is UNKNOWN


def test_the_fingerprint_is_that_of_whatever_decides():
    other = BagOfWords()
    other.fingerprint = b"g" * 32
    made = [Comparator(), Comparator(BagOfWords()), Comparator(other), Comparator(BagOfWords(), Judge(True))]
    made.append(Comparator(BagOfWords(), Judge(True, b"another")))
    assert len({one.fingerprint for one in made}) == 5
    assert Comparator(BagOfWords()).fingerprint == Comparator(BagOfWords()).fingerprint


def test_an_answer_that_leaves_much_out_is_not_the_same():
    assert verdict_of(Likeness(0.9, contradicted=False, unmatched_facts=False, length_ratio=0.9)) is SAME
    assert verdict_of(Likeness(0.9, contradicted=False, unmatched_facts=False, length_ratio=0.3)) is UNKNOWN


def test_the_length_of_an_answer_does_not_decide():
    many = " ".join(f"Point number {at} is about subject{at}." for at in range(400))
    assert len(sentences(many)) == 48
    assert compared(many, "Sure! " + many) is SAME
    assert max(len(one.split()) for one in sentences("word " * 500)) == 60


# Reading answers


def read(dialect, endpoint, body, content_type="application/json"):
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return said(dialect, endpoint, content_type=content_type, body=raw)


def events(*rows):
    return b"".join(
        b"data: " + (row if isinstance(row, bytes) else json.dumps(row).encode()) + b"\n\n" for row in rows
    )


def call(arguments):
    return {"id": "call_1", "type": "function", "function": {"name": "find", "arguments": arguments}}


def test_a_chat_document_and_its_stream_say_the_same():
    message = {"role": "assistant", "content": "Hello there", "tool_calls": [call('{"b": 2, "a": 1}')]}
    document = {
        "id": "1",
        "created": 5,
        "usage": {},
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
    }
    first = {"index": 0, "id": "call_9", "function": {"name": "find", "arguments": '{"a":1,'}}
    stream = events(
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": "Hello "}}]},
        {"choices": [{"index": 0, "delta": {"content": "there", "tool_calls": [first]}}]},
        {
            "choices": [
                {"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": '"b":2}'}}]}}
            ]
        },
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": {"total_tokens": 3}},
        b"[DONE]",
    )
    wanted = Said("Hello there", (ToolCall("find", b'{"a":1,"b":2}'),))
    assert read("openai", "chat", document) == wanted
    assert read("openai", "chat", stream, "text/event-stream") == wanted


def test_a_message_and_its_stream_say_the_same():
    content = [
        {"type": "thinking", "thinking": "hm"},
        {"type": "text", "text": "Hello"},
        {"type": "tool_use", "id": "x", "name": "find", "input": {"a": 1}},
    ]
    stream = events(
        {"type": "message_start", "message": {"id": "m", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hello"}},
        {
            "type": "content_block_start",
            "index": 2,
            "content_block": {"type": "tool_use", "name": "find", "input": {}},
        },
        {
            "type": "content_block_delta",
            "index": 2,
            "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'},
        },
        {"type": "message_stop"},
    )
    wanted = Said("Hello", (ToolCall("find", b'{"a":1}'),))
    assert read("anthropic", "messages", {"id": "m", "type": "message", "content": content}) == wanted
    assert read("anthropic", "messages", stream, "text/event-stream") == wanted


def test_a_response_and_its_stream_say_the_same():
    output = [
        {"type": "reasoning", "id": "r", "summary": []},
        {
            "type": "message",
            "id": "m",
            "content": [{"type": "output_text", "text": "Hello", "annotations": []}],
        },
        {"type": "function_call", "id": "f", "call_id": "c", "name": "find", "arguments": '{"a": 1}'},
    ]
    done = [
        {"type": "response.output_item.done", "output_index": at, "item": item}
        for at, item in enumerate(output)
    ]
    wanted = Said("Hello", (ToolCall("find", b'{"a":1}'),))
    assert read("openai", "responses", {"object": "response", "output": output}) == wanted
    completed = {"type": "response.completed", "response": {"output": output}}
    for stream in (events(*done, {"type": "response.completed", "response": {}}), events(*done, completed)):
        assert read("openai", "responses", stream, "text/event-stream") == wanted


def test_a_refusal_is_seen():
    body = {"choices": [{"message": {"content": None, "refusal": "I cannot do that"}}]}
    assert read("openai", "chat", body) == Said("I cannot do that", refused=True)


def test_other_endpoints_say_their_document_but_for_what_differs_from_call_to_call():
    one = read("cohere", "generate", {"id": "1", "generations": [{"id": "2", "text": "hi"}]})
    other = read("cohere", "generate", {"id": "3", "generations": [{"text": "hi", "id": "4"}]})
    assert one == other == Said(rest=b'{"generations":[{"text":"hi"}]}')
    assert read("plain", "text", b"hello") == Said("hello")
    assert compared(one, Said(rest=b'{"generations":[]}')) is UNKNOWN


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe", b'{"a":', b"data: {\n\ndata: x\n\n"])
def test_what_is_broken_is_not_read(body):
    for place in (("openai", "chat"), ("anthropic", "messages"), ("openai", "responses"), ("x", "y")):
        assert not read(*place, body)
