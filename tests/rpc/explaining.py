"""Explain of two requests, and the parts of a request to be changed."""

from __future__ import annotations

import copy
from typing import Any

from askonce.v1 import admin_service_pb2, decision_pb2
from rpc.harness import DEADLINE_SECONDS
from rpc.requests import describe, parts, request, target

ALL = {"exact", "normalized", "semantic"}
EXACT = {"exact"}
RULES: list[dict[str, Any]] = [
    {"id": "asked-for", "match": {"attributes": {"rule": "asked-for"}}, "key": {"identity": "target"}},
    {
        "id": "ignoring",
        "match": {"attributes": {"rule": "ignoring"}},
        "key": {"ignore_params": ["user"]},
        "eligibility": {"sampling": "all"},
    },
    {"id": "shapes", "match": {"attributes": {"rule": "shapes"}}, "key": {"stream": "shared"}},
    {"id": "per-user", "match": {"attributes": {"rule": "per-user"}}, "scope": ["tenant", "user"]},
    {
        "id": "calm",
        "match": {"endpoint": "chat", "model": "gpt-*"},
        "strategy": ["exact", "normalized", "semantic"],
        "semantic": {"embedder": "own", "threshold": 0.95, "low_threshold": 0.85},
        "eligibility": {"sampling": "all"},
    },
    {"id": "strict", "match": {"endpoint": ["messages", "embeddings"]}, "scope": ["tenant"]},
]


LONG = "Summarize the report on the harbour of Rotterdam in the year of the flood. " * 6
MESSAGES = [
    {"role": "user", "content": "What is a kettle?"},
    {"role": "assistant", "content": "A vessel."},
    {"role": "user", "content": LONG + "Be brief."},
]
TOOLS = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("find_order", "refund")
]
PARAMS: dict[str, Any] = {
    "temperature": 0,
    "top_p": 0.5,
    "max_tokens": 64,
    "seed": 7,
    "stop": ["END"],
    "response_format": {"type": "json_object"},
    "tool_choice": "auto",
    "user": "ann",
    "logit_bias": {"50256": -100},
}


class Base:
    """The parts of a request, to be changed."""

    def __init__(self) -> None:
        self.messages: Any = copy.deepcopy(MESSAGES)
        self.system: Any = "Terse: café."
        self.tools: Any = copy.deepcopy(TOOLS)
        self.params = copy.deepcopy(PARAMS)
        self.fields: dict[str, Any] = {
            "versions": {"guardrail": "7"},
            "headers": {"anthropic-beta": "marked-header-value"},
            "scope": {"tenant": "marked-tenant-value"},
            "requested": target("router", "fast"),
            "route_id": "r",
            "route_version": "1",
        }
        self.controls: dict[str, Any] = {}

    def lookup(self) -> Any:
        content = parts(self.messages, params=self.params, system=self.system, tools=self.tools)
        return request(describe("x", parts=content, **self.fields), **self.controls)


def explain(server: Any, lookup: Any, other: Any = None) -> Any:
    wanted = admin_service_pb2.ExplainRequest(lookup=lookup, other=other)
    return server.operator.admin.Explain(wanted, timeout=DEADLINE_SECONDS)


def names(matchers: Any) -> set[str]:
    return {decision_pb2.MatchKind.Name(one).removeprefix("MATCH_KIND_").lower() for one in matchers}


def consistent(explained: Any) -> bool:
    """Whether keys differ exactly where something is named that is part of them."""
    return all(
        one.same is not any(one.matcher in found.matchers for found in explained.differences)
        for one in explained.keys
    )
