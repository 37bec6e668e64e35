"""Malformed requests are refused by name: every bad field at once, with what is wrong and how to mend it."""

from __future__ import annotations

import json
from typing import Any

import grpc
import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from askonce.v1 import decision_service_pb2, descriptor_pb2
from rpc.answers import answer, storing
from rpc.harness import DEADLINE_SECONDS
from rpc.replies import filed, malformed, refused, verdict
from rpc.requests import HELLO, describe, parts, request, seconds, target, turns, with_body


def test_an_empty_lookup_names_everything_that_is_missing(gateway):
    found = malformed(lambda: gateway.stub.Lookup(decision_service_pb2.LookupRequest(), timeout=9))
    assert {"descriptor", "descriptor.dialect", "descriptor.endpoint", "descriptor.content"} <= set(found)


def test_an_empty_store_names_everything_that_is_missing(gateway):
    found = malformed(lambda: gateway.stub.Store(decision_service_pb2.StoreRequest(), timeout=9))
    assert set(found) == {"source", "response"}


def test_every_bad_field_of_a_lookup_is_named_at_once(gateway, tenant):
    asked = describe(
        tenant,
        dialect="d" * 65,
        endpoint="",
        served=target("p" * 257, "m" * 257),
        requested=target("p" * 257, "m" * 257),
        route_id="r" * 257,
        route_version="v" * 257,
        rule_branch="b" * 257,
        stream=None,
        parts=descriptor_pb2.Content(messages=b"{", system=b"nope", tools=b"[1,]", params=b"\xff"),
        headers={"A": "1", "a": "2"},
        versions={"long": "v" * 4097},
        embedding=descriptor_pb2.Embedding(),
    )
    asked.scope[""] = "x"
    call = request(
        asked,
        ttl=seconds(-5),
        namespace="n" * 257,
        max_age=seconds(-1),
        min_fresh=seconds(-1),
        max_stale=seconds(-1),
        budget=seconds(0),
        wait_for_fill=seconds(-1),
        request_id="i" * 257,
    )
    found = malformed(lambda: gateway.stub.Lookup(call, timeout=DEADLINE_SECONDS))
    assert set(found) == {
        "descriptor.dialect",
        "descriptor.endpoint",
        "descriptor.served.provider",
        "descriptor.served.model",
        "descriptor.requested.provider",
        "descriptor.requested.model",
        "descriptor.route_id",
        "descriptor.route_version",
        "descriptor.rule_branch",
        "descriptor.parts.messages",
        "descriptor.parts.system",
        "descriptor.parts.tools",
        "descriptor.parts.params",
        "descriptor.headers",
        "descriptor.versions['long']",
        "descriptor.scope",
        "descriptor.embedding.embedder",
        "descriptor.embedding.values",
        "controls.ttl",
        "controls.namespace",
        "controls.max_age",
        "controls.min_fresh",
        "controls.max_stale",
        "budget",
        "wait_for_fill",
        "request_id",
    }


def test_every_bad_field_of_a_store_is_named_at_once(gateway, tenant):
    response = answer(
        served=target("p" * 257, "m" * 257),
        source_request_id="i" * 257,
        content_type="c" * 257,
        cost_usd=float("nan"),
        request_start_time=Timestamp(seconds=-1),
    )
    call = storing(
        describe(tenant, endpoint="", parts=descriptor_pb2.Content(messages=b"{")),
        response,
        ttl=seconds(0),
        namespace="n" * 257,
    )
    found = malformed(lambda: gateway.stub.Store(call, timeout=DEADLINE_SECONDS))
    assert set(found) == {
        "descriptor.endpoint",
        "descriptor.parts.messages",
        "response.served.provider",
        "response.served.model",
        "response.source_request_id",
        "response.content_type",
        "response.cost_usd",
        "response.request_start_time",
        "ttl",
        "namespace",
    }


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"dialect": ""}, "descriptor.dialect"),
        ({"dialect": "d" * 65}, "descriptor.dialect"),
        ({"dialect": "é" * 33}, "descriptor.dialect"),
        ({"endpoint": ""}, "descriptor.endpoint"),
        ({"endpoint": "e" * 65}, "descriptor.endpoint"),
        ({"served": None}, "descriptor.served.provider"),
        ({"served": target("", "m")}, "descriptor.served.provider"),
        ({"served": target("p", "")}, "descriptor.served.model"),
        ({"served": target("p", "é" * 129)}, "descriptor.served.model"),
        ({"route_id": "r"}, "descriptor.route_version"),
        ({"stream": None}, "descriptor.stream"),
        ({"parts": None}, "descriptor.content"),
        ({"scope": {"tenant": "x" * 4097}}, "descriptor.scope['tenant']"),
        ({"scope": {"tenant": "é" * 2049}}, "descriptor.scope['tenant']"),
        ({"scope": {f"d{at}": "x" for at in range(65)}}, "descriptor.scope"),
        ({"versions": {"é" * 129: "x"}}, "descriptor.versions"),
        ({"versions": {"": "x"}}, "descriptor.versions"),
        ({"attributes": {f"a{at}": "x" for at in range(65)}}, "descriptor.attributes"),
        ({"headers": {"x" * 257: "v"}}, "descriptor.headers"),
        ({"headers": {"Anthropic-Beta": "a", "anthropic-beta": "a"}}, "descriptor.headers"),
        ({"parts": parts(HELLO, params=[])}, "descriptor.parts.params"),
        ({"parts": parts(HELLO, params="x")}, "descriptor.parts.params"),
        ({"parts": parts(HELLO, params={"stream": "yes"})}, "descriptor.parts.params.stream"),
        ({"stream": True, "parts": parts(HELLO, params={"stream": False})}, "descriptor.stream"),
        ({"stream": None, "parts": parts(HELLO, params={"stream": True})}, "descriptor.stream"),
    ],
)
def test_each_bad_field_of_a_descriptor_is_named(gateway, tenant, changes, field):
    asked = describe(tenant, **changes)
    if "parts" in changes and changes["parts"] is None:
        asked.ClearField("parts")
    alike = {"descriptor.served.provider": "descriptor.served.model"}
    alike["descriptor.content"] = "descriptor.parts.messages"  # absent just as well
    found = malformed(lambda: gateway.ask(asked))
    assert field in found
    assert set(found) <= {field, alike.get(field)}
    assert field in malformed(lambda: gateway.store(asked, answer()))


@pytest.mark.parametrize(
    "changes",
    [
        {"dialect": "d" * 64},
        {"endpoint": "e" * 64},
        {"served": target("p" * 256, "m" * 256)},
        {"scope": {"tenant": "t", **{f"d{at}": "x" * 4096 for at in range(63)}}},
        {"versions": {"v" * 256: "x" * 4096}},
        {"headers": {"X-A": "1", "X-B": "1"}},
        {"route_id": "r", "route_version": "1", "rule_branch": "b"},
        {"attributes": {"any": ""}},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_what_is_just_within_the_limits_is_taken(gateway, tenant, changes):
    asked = describe(tenant, **changes)
    asked.scope["tenant"] = tenant
    assert verdict(gateway.ask(asked)) == "miss"


BROKEN = [
    (b"{", 1),
    (b'{"messages":[}', 13),
    (b'{"a":1}x', 7),
    (b"{'a':1}", 1),
    (b'{"a":1,}', 7),
    (b"\xff", 0),
    (b'{"a":"\xff"}', 6),
    (b'{"a":"\xed\xa0\x80"}', 6),
    (b"\xef\xbb\xbf{}", 0),
    (b'{"a":01}', 6),
    (b'{"a":"\n"}', 6),
    (b'{"a":"caf\xc3\xa9", }', 14),
    (b" ", 1),
    (b"nul", 0),
]


@pytest.mark.parametrize(("document", "offset"), BROKEN)
@pytest.mark.parametrize("where", ["body_json", "messages", "system", "tools", "params"])
def test_what_is_no_json_is_refused_with_the_offset(gateway, tenant, document, offset, where):
    if where == "body_json":
        asked, field = with_body(tenant, document), "descriptor.body_json"
    else:
        content = descriptor_pb2.Content(**{"messages": b"[]", where: document})
        asked, field = describe(tenant, parts=content), f"descriptor.parts.{where}"
    found = malformed(lambda: gateway.ask(asked))
    assert set(found) == {field}
    said = found[field]
    assert "is not JSON" in said
    assert " at at " not in said
    assert abs(int(said.rpartition(" ")[2]) - offset) <= 1, said


@pytest.mark.parametrize(
    ("body", "changes", "field"),
    [
        (b"[]", {}, "descriptor.body_json"),
        (b"null", {}, "descriptor.body_json"),
        (b'"x"', {}, "descriptor.body_json"),
        (b"", {}, "descriptor.body_json"),
        ({"model": "m"}, {}, "descriptor.body_json.messages"),
        ({"messages": None}, {}, "descriptor.body_json.messages"),
        ({"messages": HELLO, "stream": "true"}, {}, "descriptor.body_json.stream"),
        ({"messages": HELLO}, {"dialect": "ollama"}, "descriptor.body_json"),
        ({"messages": HELLO}, {"endpoint": "completions"}, "descriptor.body_json"),
        ({"messages": HELLO}, {"dialect": "anthropic"}, "descriptor.body_json"),
        ({"messages": HELLO, "stream": True}, {"stream": False}, "descriptor.stream"),
        ({"messages": HELLO}, {"stream": True}, "descriptor.stream"),
    ],
)
def test_a_body_that_is_none_of_its_dialect_is_refused(gateway, tenant, body, changes, field):
    asked = with_body(tenant, body, **changes)
    assert field in malformed(lambda: gateway.ask(asked))


def test_a_body_without_messages_and_with_a_bad_stream_names_both(gateway, tenant):
    found = malformed(lambda: gateway.ask(with_body(tenant, {"stream": 1})))
    assert {"descriptor.body_json.messages", "descriptor.body_json.stream"} <= set(found)


def test_mistakes_without_end_still_arrive_as_invalid_argument(gateway, tenant):
    """A client refuses metadata beyond 8 KiB, and would see neither the code nor one field."""
    names = ["é" * 120 + str(at) for at in range(60)]
    asked = describe(
        tenant,
        dialect="d" * 1_000_000,
        endpoint="e" * 1_000_000,
        versions=dict.fromkeys(names, "v" * 5000),
        headers=dict.fromkeys(names, "v" * 5000),
        attributes=dict.fromkeys(names, "v" * 5000),
    )
    refusal = refused(lambda: gateway.ask(asked))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert {"descriptor.dialect", "descriptor.endpoint"} <= refusal.fields
    assert "more mistakes" in refusal.violations["request"]
    assert refusal.details is not None
    assert len(refusal.details) < 6000
    assert len(refusal.message.encode()) <= 1200


def test_many_mistakes_of_each_item_of_a_batch_still_arrive(gateway, tenant):
    names = ["é" * 120 + str(at) for at in range(60)]
    asked = describe(tenant, versions=dict.fromkeys(names[:4], "v" * 4097), dialect="")
    results = gateway.ask_all([asked] * 256)
    assert len(results) == 256
    assert {result.error.code for result in results} == {grpc.StatusCode.INVALID_ARGUMENT.value[0]}
    assert {result.error.reason for result in results} == {"MALFORMED_REQUEST"}
    assert {len(result.error.violations) for result in results} == {5}


def test_nothing_that_is_refused_is_counted_or_stored(start):
    server = start()
    for _ in range(3):
        malformed(lambda: server.gateway.ask(describe("t", dialect="")))
        malformed(lambda: server.gateway.store(describe("t", dialect=""), answer()))
    stats = server.stats()
    assert (stats.decisions, stats.stores, stats.refusals, stats.entries) == (0, 0, 0, 0)


def test_what_looks_broken_and_is_not_is_taken(gateway, tenant):
    for at, messages in enumerate(([], "just text", {"role": "user"}, 5, [None], [[]], turns(""))):
        asked = describe(f"{tenant}-{at}", json.dumps(messages).encode())
        assert verdict(gateway.ask(asked)) == "miss"
        assert filed(gateway.store(asked)) == "stored"
        assert verdict(gateway.ask(asked)) == "hit exact"


def test_details_survive_what_a_name_holds(gateway, tenant):
    asked = describe(tenant)
    asked.versions["a\n\x00%é\U0001f600'\""] = "v" * 5000
    found: dict[str, Any] = malformed(lambda: gateway.ask(asked))
    assert len(found) == 1
    assert next(iter(found)).startswith("descriptor.versions[")
