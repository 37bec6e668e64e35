"""Explain of two requests: what tells them apart is named, and for which matchers it matters."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import grpc
import pytest

from askonce.v1 import admin_service_pb2, decision_pb2, descriptor_pb2, reason_pb2
from rpc.harness import DEADLINE_SECONDS, running
from rpc.replies import malformed, refused
from rpc.requests import describe, dumps, parts, request, target, with_body

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


@pytest.fixture(scope="module")
def server():
    with running(embedders={"own": {"kind": "provided", "dim": 8}}, rules=RULES) as one:
        yield one


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


class Planted(NamedTuple):
    segment: str
    path: str
    says: str
    matchers: set[str]
    change: Callable[[Base], Any]


def param(name: str, value: Any) -> Callable[[Base], Any]:
    return lambda base: base.params.update({name: value})


def without(name: str) -> Callable[[Base], Any]:
    return lambda base: base.params.pop(name)


def field(name: str, value: Any) -> Callable[[Base], Any]:
    return lambda base: base.fields.update({name: value})


def last(text: str) -> Callable[[Base], Any]:
    return lambda base: base.messages[2].update(content=text)


def system(text: Any) -> Callable[[Base], Any]:
    return lambda base: setattr(base, "system", text)


PLANTED = {
    "temperature": Planted("material", "params.temperature", "0 ↔ 1.0", ALL, param("temperature", 1.0)),
    "absent temperature": Planted(
        "material", "params.temperature", "0 ↔ absent", ALL, without("temperature")
    ),
    "top_p": Planted("material", "params.top_p", "0.5 ↔ 0.9", ALL, param("top_p", 0.9)),
    "max_tokens": Planted("material", "params.max_tokens", "64 ↔ 65", ALL, param("max_tokens", 65)),
    "seed": Planted("material", "params.seed", "7 ↔ 8", ALL, param("seed", 8)),
    "stop": Planted("material", "params.stop[0]", '"END" ↔ "STOP"', ALL, param("stop", ["STOP"])),
    "response format": Planted(
        "material",
        "params.response_format.type",
        '"json_object" ↔ "text"',
        ALL,
        param("response_format", {"type": "text"}),
    ),
    "tool choice": Planted(
        "material", "params.tool_choice", '"auto" ↔ "none"', ALL, param("tool_choice", "none")
    ),
    "user": Planted("material", "params.user", '"ann" ↔ "bob"', ALL, param("user", "bob")),
    "an odd name": Planted(
        "material", 'params.logit_bias["50256"]', "-100 ↔ 1", ALL, param("logit_bias", {"50256": 1})
    ),
    "an unknown param": Planted("material", "params.novel", "absent ↔ true", ALL, param("novel", True)),
    "metadata": Planted(
        "material", "params.metadata", "absent ↔ an object", set(), param("metadata", {"a": "b"})
    ),
    "number spelling": Planted(
        "material", "params.temperature", "0 ↔ 0.0: the same number", set(), param("temperature", 0.0)
    ),
    "last message": Planted(
        "material",
        "messages[2].content",
        f"differs at character {len(LONG) + 3}: ",
        {"exact", "normalized"},
        last(LONG + "Be long."),
    ),
    "first message": Planted(
        "material",
        "messages[0].content",
        'differs at character 10: "What is a kettle?" ↔ "What is a kitten?"'.replace("10", "11"),
        ALL,
        lambda base: base.messages[0].update(content="What is a kitten?"),
    ),
    "a turn more": Planted(
        "material",
        "messages[1]",
        'absent ↔ a turn of "assistant"',
        ALL,
        lambda base: base.messages.insert(1, {"role": "assistant", "content": "Hm."}),
    ),
    "a role": Planted(
        "material",
        "messages[0].role",
        '"user" ↔ "developer"',
        ALL,
        lambda base: base.messages[0].update(role="developer"),
    ),
    "white space": Planted(
        "material",
        "messages[2].content",
        "differs only in white space, first at character 10",
        EXACT,
        last(LONG.replace("Summarize ", "Summarize  ", 1) + "Be brief."),
    ),
    "Unicode form": Planted(
        "material",
        "system",
        "differs only in Unicode form (NFC ↔ NFD), first at character 10",
        ALL,
        system("Terse: cafe\u0301."),
    ),
    "case": Planted(
        "material", "system", "differs only in case, first at character 7", ALL, system("Terse: Café.")
    ),
    "a tool's name": Planted(
        "material",
        "tools[1].function.name",
        '"refund" ↔ "refuse"',
        ALL,
        lambda base: base.tools[1]["function"].update(name="refuse"),
    ),
    "tool order": Planted(
        "material", "tools", "the tools are the same in another order", ALL, lambda base: base.tools.reverse()
    ),
    "no system": Planted("material", "system", '"Terse: café." ↔ absent', ALL, system(None)),
    "a cache mark": Planted(
        "material",
        "messages[0].cache_control",
        "absent ↔ an object",
        set(),
        lambda base: base.messages[0].update(cache_control={"type": "ephemeral"}),
    ),
    "versions": Planted("versions", "guardrail", '"7" ↔ "8"', ALL, field("versions", {"guardrail": "8"})),
    "headers": Planted(
        "headers", "anthropic-beta", "the values differ", ALL, field("headers", {"anthropic-beta": "other"})
    ),
    "a header more": Planted(
        "headers",
        "x-more",
        "absent ↔ present",
        ALL,
        field("headers", {"anthropic-beta": "marked-header-value", "x-more": "1"}),
    ),
    "scope": Planted("scope", "tenant", "the values differ", ALL, field("scope", {"tenant": "globex"})),
    "a dim of no rule": Planted(
        "scope",
        "team",
        "absent ↔ present",
        set(),
        field("scope", {"tenant": "marked-tenant-value", "team": "x"}),
    ),
    "namespace": Planted(
        "namespace", "", "absent ↔ present", ALL, lambda base: base.controls.update(namespace="blue")
    ),
    "stream": Planted("stream", "", "json ↔ stream", ALL, field("stream", True)),
    "model": Planted(
        "model", "", '"gpt-4o" ↔ "gpt-4o-mini"', ALL, field("served", target("openai", "gpt-4o-mini"))
    ),
    "provider": Planted(
        "provider", "", '"openai" ↔ "azure"', ALL, field("served", target("azure", "gpt-4o"))
    ),
    "dialect": Planted("dialect", "", '"openai" ↔ "custom"', ALL, field("dialect", "custom")),
    "a route that is not keyed": Planted(
        "route", "route_version", '"1" ↔ "2"', set(), field("route_version", "2")
    ),
    "what was asked for": Planted(
        "requested", "", '"router/fast" ↔ "router/slow"', set(), field("requested", target("router", "slow"))
    ),
    "mode": Planted(
        "controls", "mode", "default ↔ read_only", set(), lambda base: base.controls.update(mode=4)
    ),
    "attributes": Planted("attributes", "app", "absent ↔ present", set(), field("attributes", {"app": "x"})),
    "personalized": Planted("personalized", "", "absent ↔ present", set(), field("personalized", True)),
}


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


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_difference_is_named_and_nothing_else_is(server, name):
    planted, base, changed = PLANTED[name], Base(), Base()
    planted.change(changed)
    explained = explain(server, base.lookup(), changed.lookup())
    where = {(found.segment, found.path): found for found in explained.differences}
    found = where.pop((planted.segment, planted.path))
    assert planted.says in found.description
    assert names(found.matchers) == planted.matchers
    assert set(where) <= {("material", "messages")}, "only how many turns there are besides"
    if not explained.other.bypass_reason:
        assert consistent(explained)
        assert {
            name for one in explained.keys if not one.same for name in names([one.matcher])
        } == planted.matchers
    assert "marked-" not in str(explained)


def test_two_spellings_of_one_request_have_the_same_keys(server):
    first = with_body("acme", {"model": "m", "messages": MESSAGES, "temperature": 0}, served=target())
    second = describe("acme", MESSAGES, params=b'{"temperature": 0.0, "metadata": null}')
    explained = explain(server, request(first), request(second))
    assert [(one.path, one.matchers) for one in explained.differences] == [("params.temperature", [])]
    assert [one.same for one in explained.keys] == [True] * 3
    assert explained.summary == "both have the same keys: what one stores, the other is served"


def test_under_a_rule_that_keys_the_route_its_parts_are_named(server):
    base, changed = Base(), Base()
    for one in (base, changed):
        one.fields["attributes"] = {"rule": "asked-for"}
    changed.fields |= {"route_version": "2", "rule_branch": "b", "requested": target("router", "slow")}
    explained = explain(server, base.lookup(), changed.lookup())
    told = {(one.segment, one.path): one.description for one in explained.differences}
    assert told == {
        ("model", ""): '"fast" ↔ "slow"',
        ("route", "version"): '"1" ↔ "2"',
        ("route", "branch"): "absent ↔ present",
    }
    assert consistent(explained)


def test_other_rules_are_told_with_what_picked_them_and_what_their_keys_leave_out(server):
    base, changed = Base(), Base()
    changed.fields["attributes"] = {"rule": "ignoring"}
    explained = explain(server, base.lookup(), changed.lookup())
    told = {(one.segment, one.path): one for one in explained.differences}
    assert told["rule", ""].description == (
        "calm ↔ ignoring; the first does not meet match.attributes.rule of ignoring"
    )
    assert told["key_policy", "key.ignore_params"].description == "none ↔ user"
    assert names(told["key_policy", "key.ignore_params"].matchers) == {"exact", "normalized"}
    assert names([one.matcher for one in explained.keys if one.same]) == set()
    assert explained.keys[2].description == "the second has no key for it"
    assert explained.lookup.rule_id == "calm"
    assert explained.other.rule_id == "ignoring"


def test_shapes_that_share_are_told_and_part_of_no_key(server):
    first = describe("acme", stream=False, attributes={"rule": "shapes"})
    second = describe("acme", stream=True, attributes={"rule": "shapes"})
    explained = explain(server, request(first), request(second))
    assert [(one.segment, one.description, one.matchers) for one in explained.differences] == [
        ("stream", "json ↔ stream", [])
    ]
    assert all(one.same for one in explained.keys)


def test_digests_are_compared_by_their_names(server):
    def digests(exact: bytes, version: str = "1") -> Any:
        facts = descriptor_pb2.DigestFacts(
            sampling=False, remote_content=False, stateful=False, personalized=False
        )
        return request(
            describe(
                "acme",
                digests=descriptor_pb2.Digests(
                    exact_sha256=exact * 32,
                    normalized_sha256=b"n" * 32,
                    canonicalization="own",
                    canonicalization_version=version,
                    facts=facts,
                ),
                endpoint="messages",
            )
        )

    explained = explain(server, digests(b"a"), digests(b"b", "2"))
    told = {one.path: names(one.matchers) for one in explained.differences}
    assert told == {
        "digests.exact_sha256": EXACT,
        "digests.canonicalization_version": {"exact", "normalized"},
    }
    assert consistent(explained)


CAUSES = {
    "scope.tenant": ("scope_missing", "is missing", {"scope": {}}),
    "personalized": ("personalized", "no dim user", {"personalized": True}),
    "params.temperature": (
        "sampled_request",
        "is 0.7",
        {"parts": parts(MESSAGES, params={"temperature": 0.7})},
    ),
    "messages[0].content[1].image_url": (
        "remote_content",
        "points to content elsewhere",
        {
            "parts": parts(
                [
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "What is this?"},
                            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                        ],
                    }
                ],
                params={"temperature": 0},
            )
        },
    ),
    "params.previous_response_id": (
        "stateful_request",
        "what the provider keeps",
        {"parts": parts(MESSAGES, params={"temperature": 0, "previous_response_id": "r"})},
    ),
    "tools[0]": (
        "stateful_request",
        "what the provider keeps",
        {"parts": parts(MESSAGES, params={"temperature": 0}, tools=[{"type": "web_search"}])},
    ),
    "parts.params": (
        "unrepresentable_content",
        "a key twice",
        {"parts": parts(MESSAGES, params=b'{"a": 1, "a": 2}')},
    ),
    "params": (
        "unrepresentable_content",
        "beyond",
        {"parts": parts(MESSAGES, params=b'{"temperature": 0, "a": 1e400}')},
    ),
    "rules[strict]": ("no_rule", "match.endpoint (it is 'rerank')", {"endpoint": "rerank"}),
}


@pytest.mark.parametrize("path", CAUSES)
def test_a_request_that_is_not_eligible_has_its_reason_and_the_member_that_caused_it(server, path):
    reason, says, changes = CAUSES[path]
    changes = {"endpoint": "messages", **changes}
    asked = describe("acme", MESSAGES, **changes)
    if changes.get("scope") == {}:
        asked.scope.clear()
    explained = explain(server, request(asked), request(describe("acme", MESSAGES, endpoint="messages")))
    told = reason_pb2.BypassReason.Name(explained.lookup.bypass_reason).removeprefix("BYPASS_REASON_")
    assert told.lower() == reason
    causes = {cause.path: cause.description for cause in explained.lookup.causes}
    assert says in causes[path]
    assert explained.summary.startswith(f"the first request is never looked up: {reason} (")
    assert explained.other.bypass_reason == 0


def test_a_matcher_that_is_skipped_says_which_text_is_to_blame(server):
    code = [{"role": "user", "content": "Fix:\n\n```\na  = 1\n```"}]
    explained = explain(server, request(describe("acme", code)), request(describe("acme", MESSAGES)))
    assert [(one.matcher, one.reason) for one in explained.lookup.skipped] == [
        (decision_pb2.MATCH_KIND_NORMALIZED, reason_pb2.BYPASS_REASON_WHITESPACE_SIGNIFICANT)
    ]
    assert [cause.path for cause in explained.lookup.causes] == ["messages[0]"]
    assert explained.keys[1].description == "has no key in the first: whitespace_significant"


def test_malformed_requests_are_named_by_their_fields_in_both(server):
    good = request(describe("acme"))
    broken = request(describe("acme", parts=parts(b"[", params=b"{")))
    fields = malformed(lambda: explain(server, broken, request(describe("acme", dialect=""))))
    assert set(fields) == {
        "lookup.descriptor.parts.messages",
        "lookup.descriptor.parts.params",
        "other.descriptor.dialect",
    }
    assert "at byte" in fields["lookup.descriptor.parts.messages"]
    assert set(malformed(lambda: explain(server, None, good))) == {"lookup"}


def test_the_gateways_listener_does_not_answer_it(server):
    wanted = admin_service_pb2.ExplainRequest(lookup=request(describe("acme")))
    refusal = refused(lambda: server.gateway.admin.Explain(wanted, timeout=DEADLINE_SECONDS))
    assert refusal.code is grpc.StatusCode.UNIMPLEMENTED


def test_the_answer_is_bounded_and_says_so(server):
    first = describe("acme", [{"role": "user", "content": f"{at}"} for at in range(3000)])
    second = describe("acme", [{"role": "user", "content": f"-{at}"} for at in range(3000)])
    explained = explain(server, request(first), request(second))
    assert len(explained.differences) == 100
    assert explained.differences_left_out
    assert explained.ByteSize() < 32_000


def test_what_is_asked_is_not_counted(server):
    before = server.stats().decisions
    explain(server, request(describe("acme")), request(describe("globex")))
    assert server.stats().decisions == before


def test_a_message_beyond_the_limit_is_refused(server):
    much = request(describe("acme", [{"role": "user", "content": "a" * (5 << 20)}]))
    refusal = refused(lambda: explain(server, much, much))
    assert refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert dumps("") == b'""'
