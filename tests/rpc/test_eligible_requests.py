"""Which requests are looked up at all: content elsewhere, state, hosted tools, sampling."""

from __future__ import annotations

import json

import pytest

from rpc.replies import filed, verdict
from rpc.requests import HELLO, describe, with_body

IMAGE = "data:image/png;base64,iVBORw0KGgo="


FUNCTION = {"type": "function", "function": {"name": "search_books", "parameters": {"type": "object"}}}


@pytest.mark.parametrize(
    ("content", "remote"),
    [
        ({"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}, True),
        ({"type": "image_url", "image_url": {"url": IMAGE}}, False),
        ({"type": "input_image", "image_url": "https://example.org/a.png"}, True),
        ({"type": "input_image", "image_url": IMAGE}, False),
        ({"type": "input_image", "file_id": "file-1"}, True),
        ({"type": "input_file", "file_url": "https://example.org/a.pdf"}, True),
        ({"type": "file", "file": {"file_id": "file-1"}}, True),
        ({"type": "file", "file": {"file_data": IMAGE}}, False),
        ({"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}}, True),
        ({"type": "image", "source": {"type": "file", "file_id": "f"}}, True),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO"}}, False),
        ({"type": "text", "text": "see https://example.org/a.png"}, False),
    ],
)
def test_content_elsewhere_is_not_cached_and_content_at_hand_is(gateway, tenant, content, remote):
    asked = describe(tenant, [{"role": "user", "content": [content]}])
    if remote:
        assert verdict(gateway.ask(asked)) == "bypass remote_content"
        assert filed(gateway.store(asked)) == "remote_content"
        allowed = describe(tenant, [{"role": "user", "content": [content]}], attributes={"rule": "remote"})
        assert verdict(gateway.ask(allowed)) == "miss"
    else:
        gateway.fill(asked)
        assert verdict(gateway.ask(asked)) == "hit exact"


@pytest.mark.parametrize(
    "params",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"conversation": {"id": "conv_1"}},
        {"prompt": {"id": "pmpt_1"}},
        {"background": True},
        {"store": True},
        {"container": "c"},
        {"mcp_servers": [{"url": "x"}]},
        {"web_search_options": {}},
    ],
    ids=lambda params: next(iter(params)),
)
@pytest.mark.parametrize("form", ["parts", "body"])
def test_a_request_that_leans_on_the_provider_s_state_is_not_cached(gateway, tenant, params, form):
    if form == "parts":
        asked = describe(tenant, params={"temperature": 0, **params})
    else:
        asked = with_body(tenant, {"model": "m", "messages": HELLO, "temperature": 0, **params})
    assert verdict(gateway.ask(asked)) == "bypass stateful_request"
    assert filed(gateway.store(asked)) == "stateful_request"


@pytest.mark.parametrize(
    "hosted",
    [
        {"type": "web_search"},
        {"type": "web_search_preview"},
        {"type": "file_search", "vector_store_ids": ["v"]},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "mcp", "server_url": "https://example.org"},
        {"type": "image_generation"},
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "code_execution_20250522", "name": "code_execution"},
    ],
    ids=lambda hosted: hosted["type"],
)
def test_a_tool_that_runs_at_the_provider_is_not_cached(gateway, tenant, hosted):
    asked = describe(tenant, tools=[FUNCTION, hosted])
    assert verdict(gateway.ask(asked)) == "bypass stateful_request"


@pytest.mark.parametrize(
    ("params", "sampled"),
    [
        ({}, True),
        ({"temperature": 0}, False),
        ({"temperature": 0.0}, False),
        ({"temperature": 1}, True),
        ({"temperature": None}, True),
        ({"temperature": False}, True),
        ({"temperature": "0"}, True),
        ({"temperature": 1e-9}, True),
        ({"seed": 1}, False),
        ({"seed": 0}, False),
        ({"seed": None}, True),
        ({"seed": True}, True),
        ({"temperature": 1, "seed": 1}, False),
        ({"top_p": 0}, True),
    ],
    ids=json.dumps,
)
def test_a_sampled_request_is_not_cached(gateway, tenant, params, sampled):
    asked = describe(tenant, params=params)
    assert verdict(gateway.ask(asked)) == ("bypass sampled_request" if sampled else "miss")
    assert filed(gateway.store(asked)) == ("sampled_request" if sampled else "stored")
    everything = describe(f"{tenant}-b", params=params, attributes={"rule": "sampled"})
    assert verdict(gateway.ask(everything)) == "miss"


def test_a_sampled_request_of_an_endpoint_that_is_not_known_is_never_served(gateway, tenant):
    """Two of them could be answered differently."""
    asked = describe(tenant, endpoint="completions", params={"temperature": 0.7, "prompt": "hi"})
    assert verdict(gateway.ask(asked)) == "bypass sampled_request"
    assert filed(gateway.store(asked)) == "sampled_request"
    steady = describe(tenant, endpoint="completions", params={"temperature": 0, "prompt": "hi"})
    gateway.fill(steady)
    assert verdict(gateway.ask(steady)) == "hit exact"


def test_embeddings_count_as_deterministic(gateway, tenant):
    asked = with_body(tenant, {"model": "e", "input": ["a", "b"]}, endpoint="embeddings")
    gateway.fill(asked)
    assert verdict(gateway.ask(asked)) == "hit exact"
    other = with_body(tenant, {"model": "e", "input": ["b", "a"]}, endpoint="embeddings")
    assert verdict(gateway.ask(other)) == "miss"
