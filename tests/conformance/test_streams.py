"""The vectors about streams, against what the server itself makes of a recorded stream."""

from __future__ import annotations

import json

import pytest

from askonce_server.dialects import inspect
from conformance.replay import HERE

CASES = json.loads((HERE / "streams.json").read_text(encoding="utf-8"))["cases"]
RECORDED = [case for case in CASES if "stream" in case["given"]]
ENDPOINTS = {
    "openai-chat": ("openai", "chat"),
    "openai-responses": ("openai", "responses"),
    "anthropic-messages": ("anthropic", "messages"),
}


def test_names_are_unique_and_reasons_given():
    assert len({case["name"] for case in CASES}) == len(CASES) >= 65
    assert all(case["why"].endswith(".") for case in CASES)


def inspected(case, body, *, stream):
    dialect, endpoint = ENDPOINTS[case["given"]["api"]]
    return inspect(dialect, endpoint, stream=stream, content_type="", body=body)


@pytest.mark.parametrize("case", RECORDED, ids=lambda case: case["name"])
def test_the_server_reads_of_a_stream_what_the_clients_do(case):
    says = case["want"]["says"]
    facts = inspected(case, case["given"]["stream"].encode(), stream=True)
    if not facts.understood:
        return
    assert bool(facts.terminal) is says["complete"] or says["failed"]
    assert facts.error is says["failed"]
    assert [reason or "null" for reason in facts.finish_reasons] == (
        says["finish_reasons"] or ["null"] * len(facts.finish_reasons)
    )
    assert facts.contains_tool_calls is says["tool_calls"]
    assert facts.refused is says["refused"]


@pytest.mark.parametrize(
    "case", [case for case in RECORDED if "document" in case["want"]], ids=lambda case: case["name"]
)
def test_a_stream_and_the_document_that_it_becomes_say_the_same_of_themselves(case):
    streamed = inspected(case, case["given"]["stream"].encode(), stream=True)
    document = inspected(case, json.dumps(case["want"]["document"]).encode(), stream=False)
    if not streamed.understood:
        return
    for fact in ("empty", "error", "finish_reasons", "contains_tool_calls", "refused", "invalid_tool_json"):
        assert getattr(document, fact) == getattr(streamed, fact), fact
