"""Reading a provider's document for what a Store must know."""

from __future__ import annotations

import json

import pytest

import askonce
from askonce import UpstreamResponse, Usage

USAGE = {"prompt_tokens": 3, "completion_tokens": 4}
IO_USAGE = {"input_tokens": 3, "output_tokens": 4}


def facts(response: UpstreamResponse) -> tuple:
    return (
        tuple(response.finish_reasons),
        response.usage,
        response.contains_tool_calls,
        response.refused,
    )


def read(make, document, status_code: int = 200) -> UpstreamResponse:
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    response = make(body, status_code=status_code)
    assert response.body is body
    assert response.status_code == status_code
    return response


@pytest.mark.parametrize(
    ("document", "want"),
    [
        (
            {"choices": [{"message": {"content": "x"}, "finish_reason": "stop"}], "usage": USAGE},
            (("stop",), Usage(3, 4), False, False),
        ),
        (
            {"choices": [{"message": {"tool_calls": [{}]}, "finish_reason": "tool_calls"}]},
            (("tool_calls",), None, True, False),
        ),
        (
            {"choices": [{"message": {"function_call": {"name": "f"}}, "finish_reason": "function_call"}]},
            (("function_call",), None, True, False),
        ),
        (
            {"choices": [{"message": {"refusal": "no"}, "finish_reason": "stop"}]},
            (("stop",), None, False, True),
        ),
        (
            {"choices": [{"finish_reason": "stop"}, {"finish_reason": "length"}]},
            (("stop", "length"), None, False, False),
        ),
        (
            {"choices": [{"finish_reason": "stop"}, {"finish_reason": None}]},
            (("stop", "null"), None, False, False),
        ),
    ],
)
def test_openai_chat(document, want):
    assert facts(read(UpstreamResponse.openai_chat, document)) == want


@pytest.mark.parametrize(
    ("document", "want"),
    [
        ({"status": "completed", "usage": IO_USAGE}, (("completed",), Usage(3, 4), False, False)),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            (("content_filter",), None, False, False),
        ),
        (
            {"status": "completed", "output": [{"type": "function_call"}], "incomplete_details": None},
            (("completed",), None, True, False),
        ),
        (
            {"status": "completed", "output": [{"type": "message", "content": [{"type": "refusal"}]}]},
            (("completed",), None, False, True),
        ),
    ],
)
def test_openai_responses(document, want):
    assert facts(read(UpstreamResponse.openai_responses, document)) == want


@pytest.mark.parametrize(
    ("document", "want"),
    [
        ({"stop_reason": "end_turn", "usage": IO_USAGE}, (("end_turn",), Usage(3, 4), False, False)),
        (
            {"stop_reason": "tool_use", "content": [{"type": "tool_use"}]},
            (("tool_use",), None, True, False),
        ),
        ({"stop_reason": "refusal"}, (("refusal",), None, False, True)),
        ({"stop_reason": None}, ((), None, False, False)),
    ],
)
def test_anthropic_messages(document, want):
    assert facts(read(UpstreamResponse.anthropic_messages, document)) == want


def test_openai_embeddings():
    assert facts(read(UpstreamResponse.openai_embeddings, {"usage": {"prompt_tokens": 3}})) == (
        (),
        Usage(3, 0),
        False,
        False,
    )


ALL = [
    UpstreamResponse.openai_chat,
    UpstreamResponse.openai_responses,
    UpstreamResponse.openai_embeddings,
    UpstreamResponse.anthropic_messages,
]
ODD = [
    b"",
    b"not json",
    b"\xff\xfe",
    b"[" * 100_000,
    [],
    None,
    7,
    {"choices": None, "output": 7, "content": {}, "usage": []},
    {"choices": [None, 7], "output": [None], "content": ["text"], "usage": {"prompt_tokens": -1}},
    {"choices": [{"message": None}], "usage": {"prompt_tokens": True, "input_tokens": 1e3}},
    {"output": [{"content": "text"}], "status": 7, "stop_reason": 7, "incomplete_details": "x"},
    {"usage": {"prompt_tokens": 1 << 70, "completion_tokens": 0}},
]


@pytest.mark.parametrize("make", ALL)
@pytest.mark.parametrize("document", ODD)
def test_what_cannot_be_read_stays_unsaid(make, document):
    _, usage, tool_calls, refused = facts(read(make, document, 500))
    assert (usage, tool_calls, refused) == (None, False, False)


def test_what_no_document_says_is_passed_on():
    served = askonce.Target("azure", "gpt-4o")
    response = UpstreamResponse.openai_chat(b"{}", status_code=200, served=served, cost_usd=0.5)
    assert (response.served, response.cost_usd) == (served, 0.5)
