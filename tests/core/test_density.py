"""A document that would keep a parser busy is refused by its density, however it hides it; real ones pass."""

from __future__ import annotations

import base64
import json
import time
from typing import Any

import pytest

from askonce_server.core.canonical import parse
from askonce_server.core.density import (
    MAX_ANSWER_OPENINGS,
    MAX_BATCH_NODES,
    MAX_NODES,
    MAX_VALUES,
    Allowance,
    is_dense,
)
from askonce_server.core.errors import TooDense, Unrepresentable

MEBI = 1 << 20
SIZE = 8 * MEBI - 1024


def filled(item: bytes, *, behind: bytes = b"") -> bytes:
    """An array of nearly 8 MiB."""
    return b"[" + behind + b",".join([item] * ((SIZE - len(behind)) // (len(item) + 1))) + b"]"


def keyed() -> bytes:
    return b"{" + b",".join(b'"%x":0' % number for number in range(SIZE // 12)) + b"}"


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(filled(b"[0]"), id="arrays"),
        pytest.param(filled(b"[]"), id="empty arrays"),
        pytest.param(filled(b'{"a":{}}'), id="objects"),
        pytest.param(filled(b"0.1"), id="fractions"),
        pytest.param(filled(b"1e-5"), id="exponents"),
        pytest.param(filled(b"1E5"), id="exponents in upper case"),
        pytest.param(filled(b"0"), id="integers"),
        pytest.param(filled(b'""'), id="strings"),
        pytest.param(keyed(), id="members"),
        pytest.param(keyed()[:-1] + b',"0":0}', id="a key twice at the end"),
        pytest.param(filled(b"[0]")[:-1] + b"}", id="broken at the end"),
        pytest.param(b"[" * (SIZE // 2) + b"]" * (SIZE // 2), id="depth"),
        pytest.param(filled(b"[0]", behind=rb'"\\",'), id="behind an escaped backslash"),
        pytest.param(filled(b"[0]", behind=rb'"\"",'), id="behind an escaped quote"),
        pytest.param(filled(b"[0]", behind=rb'"\\\"\\",'), id="behind both"),
        pytest.param(filled(b"[0]", behind=rb'"\u005c\u0022",'), id="behind escapes by number"),
        pytest.param(filled(rb'{"\"":0}'), id="escaped quotes as keys"),
        pytest.param(filled(b"1e5") + b"t" * SIZE, id="broken, with letters behind"),
    ],
)
def test_a_dense_document_is_refused_before_it_is_parsed(raw):
    begin = time.process_time()
    with pytest.raises(Unrepresentable, match="nodes"):
        parse(raw)
    assert time.process_time() - begin < 0.3  # parsing takes 0.5 to 5 s


CODE = 'if (a[0] == {"x": 1.5e3}) { print("\\\\"); }\n'


@pytest.mark.parametrize(
    "body",
    [
        pytest.param([{"role": "user", "content": CODE * (MEBI // len(CODE))}], id="1 MiB of code"),
        pytest.param([{"role": "user", "content": json.dumps([[0]] * 200_000)}], id="JSON as text"),
        pytest.param(
            [{"role": "user", "content": [{"type": "text", "text": "Well, e.g. this: " * 50}] * 5}] * 200,
            id="200 turns",
        ),
        pytest.param(
            [
                {
                    "type": "function",
                    "function": {
                        "name": f"tool-{tool}",
                        "parameters": {
                            "type": "object",
                            "properties": {
                                f"p{number}": {"type": "string", "description": "A", "enum": ["a", "b"]}
                                for number in range(50)
                            },
                        },
                    },
                }
                for tool in range(128)
            ],
            id="128 tools of 50 parameters",
        ),
        pytest.param([{"data": base64.b64encode(bytes(range(256)) * 23_000).decode()}], id="8 MiB image"),
        pytest.param([[token % 100_000 for token in range(8192)]] * 36, id="300,000 tokens to embed"),
        pytest.param(["a sentence, and another"] * 2048, id="2,048 texts to embed"),
    ],
)
def test_real_requests_pass(body: Any):
    raw = json.dumps(body).encode()
    assert len(raw) > 50_000
    assert not is_dense(raw)
    assert parse(raw) == body


def test_the_limits_are_exact():
    pad = b'"' + b"a" * (64 << 10) + b'"'

    def nodes(count: int) -> bytes:
        return b"[" + b",".join([pad, *[b"[]"] * (count - 1)]) + b"]"

    def values(count: int) -> bytes:
        return b"[" + b",".join([pad, *[b"1"] * count]) + b"]"

    assert not is_dense(nodes(MAX_NODES))
    assert is_dense(nodes(MAX_NODES + 1))
    assert not is_dense(values(MAX_VALUES))
    assert is_dense(values(MAX_VALUES + 1))


SMALL = b"[" + b",".join([b"[]"] * 9_999) + b"]"
"""10,000 nodes in 30 kB: small, by itself."""


def test_what_is_small_by_itself_counts_together():
    allowance = Allowance()
    free = (64 << 10) // len(SMALL)
    for _ in range(free + MAX_BATCH_NODES // 10_000):
        allowance.take([SMALL])
    with pytest.raises(TooDense):
        allowance.take([SMALL])


def test_the_documents_of_one_request_count_together():
    with pytest.raises(TooDense):
        Allowance().take([SMALL] * 40)


def test_what_has_no_room_takes_none():
    allowance = Allowance()
    for _ in range(3):
        with pytest.raises(TooDense):
            allowance.take([filled(b"[0]")])
    allowance.take([SMALL] * (MAX_BATCH_NODES // 10_000))


def test_texts_and_images_have_room_in_any_number():
    allowance = Allowance()
    for times in (23_000, *[230] * 255):
        image = json.dumps([{"data": base64.b64encode(bytes(range(256)) * times).decode()}]).encode()
        text = json.dumps([{"role": "user", "content": CODE * (times // 46)}] * 20).encode()
        allowance.take([image, text])


CHOICE = {"index": 0, "delta": {"content": '{[ "x" ]} '}, "logprobs": None, "finish_reason": None}
CHUNK = {"id": "chatcmpl-9aZ", "object": "chat.completion.chunk", "model": "m", "choices": [CHOICE]}
EVENT = b"data: " + json.dumps(CHUNK).encode() + b"\n\n"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(EVENT * (SIZE // len(EVENT)), id="a stream of 8 MiB"),
        pytest.param(json.dumps({"data": [{"embedding": [0.0123456] * 1536}] * 256}).encode(), id="vectors"),
        pytest.param(json.dumps({"choices": [{"message": {"content": CODE * 100_000}}]}).encode(), id="code"),
    ],
)
def test_an_answer_as_large_as_they_come_may_be_looked_into(body):
    assert Allowance().take_answer(body)


@pytest.mark.parametrize("piece", [b"{}", b"[]", b"[0]", b'{"a":{}}', b'"\\"",[{}]', b'""'], ids=repr)
def test_answers_of_countless_pieces_have_no_room_in_one_message(piece):
    body = b'{"choices":[' + b",".join([piece] * (MEBI // (len(piece) + 1))) + b"]}"
    allowance = Allowance()
    begin = time.process_time()
    taken = [allowance.take_answer(body) for _ in range(8)]
    assert taken == sorted(taken, reverse=True)
    assert sum(taken) * (body.count(b"[") + body.count(b"{")) <= MAX_ANSWER_OPENINGS
    assert time.process_time() - begin < 2.0
    assert allowance.take_answer(b'{"choices":[{}]}') or sum(taken) == 0


def test_a_small_answer_has_room_behind_one_that_has_none():
    allowance = Allowance()
    assert not allowance.take_answer(filled(b"{}"))
    assert allowance.take_answer(SMALL)
