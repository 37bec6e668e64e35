"""One sidecar, clients in three languages: a request is one entry, whoever stored it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from askonce import AskOnce, Descriptor, Target
from faults.sidecar_process import sidecar
from gateways.fake_provider import FakeProvider
from gateways.harness import RULES, World, gateway_config, serving, started
from rpc.harness import Place, short_folder

pytestmark = pytest.mark.timeout(600)  # both gateways are compiled here

GPT = Target("openai", "gpt-4o-2024-08-06")
EMBED = Target("openai", "text-embedding-3-small")
CLAUDE = Target("anthropic", "claude-sonnet-4-20250514")
TURNS = [{"role": "user", "content": "Crème brûlée\u2028 \U0001f36e?"}]
REQUESTS: dict[str, tuple[Any, Target, dict[str, Any]]] = {
    "/v1/chat/completions": (
        Descriptor.openai_chat,
        GPT,
        {"model": "smart", "temperature": 1.0, "messages": TURNS},
    ),
    "/v1/responses": (Descriptor.openai_responses, GPT, {"model": "smart", "input": TURNS[0]["content"]}),
    "/v1/embeddings": (Descriptor.openai_embeddings, EMBED, {"model": "embed", "input": ["a", "b"]}),
    "/v1/messages": (
        Descriptor.anthropic_messages,
        CLAUDE,
        {"model": "claude", "max_tokens": 9, "messages": TURNS},
    ),
}

SHAPES = [
    (path, stream) for path in REQUESTS for stream in (False, True) if path != "/v1/embeddings" or not stream
]


@dataclass(slots=True)
class Both:
    """Two gateways on one sidecar, and where that is."""

    worlds: Mapping[str, World]
    target: str


@pytest.fixture(scope="module")
def both(go_gateway, node_gateway) -> Iterator[Both]:
    provider, spare = FakeProvider(), FakeProvider()
    with short_folder() as folder, serving(provider, spare):
        place = Place(folder, rules=RULES, store={"max_bytes": "256MiB"})
        config = folder / "gateway.json"
        config.write_text(json.dumps(gateway_config(place, provider, spare, 10_000)))
        with sidecar(place) as process:
            process.wait_until_serving().close()
            with (
                started([*go_gateway, str(config)]) as (go, go_url, go_log),
                started([*node_gateway, str(config)]) as (node, node_url, node_log),
            ):
                worlds = {
                    "go": World(go_url, provider, spare, process, go, go_log),
                    "node": World(node_url, provider, spare, process, node, node_log),
                }
                yield Both(worlds, place.unix)


@pytest.mark.parametrize(("first", "second"), [("go", "node"), ("node", "go")])
@pytest.mark.parametrize(("path", "stream"), SHAPES)
def test_what_one_language_stored_the_others_find(both, path, stream, first, second):
    describe, served, given = REQUESTS[path]
    body = {**given, **({"stream": True} if stream else {}), "user": f"{first}-{stream}"}
    filled = both.worlds[first].fill(path, body)
    calls = len(both.worlds[first].calls)
    found = both.worlds[second].post(path, json.dumps(body, indent=1).encode())
    assert found.data == filled.data
    assert "hit" in found.headers["cache-status"]
    assert len(both.worlds[first].calls) == calls
    with AskOnce(both.target, budget=10.0) as python:
        raw = json.dumps({**body, "model": served.model}, ensure_ascii=False).encode()
        decision = python.lookup(describe(raw, served=served, scope={"tenant": "acme"}))
    assert decision.body == filled.data
    assert decision.candidate.entry_id == found.headers["x-askonce-cache-entry"]
