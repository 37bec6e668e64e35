"""Every field of a descriptor is classified as key material or not, and the classification is true."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict

from askonce.v1 import decision_service_pb2, descriptor_pb2
from askonce_server.core.derive import CONTROLS_FIELDS, DESCRIPTOR_FIELDS
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Identity
from askonce_server.rpc import convert
from askonce_server.service.asked import plan_for
from core.builders import rule, run

BOTH, TARGET = rule(identity=Identity.BOTH), rule(identity=Identity.TARGET)
CHAT = b'{"messages":[{"role":"user","content":"hi"}],"temperature":0}'
FACTS = dict.fromkeys(("sampling", "remote_content", "stateful", "personalized"), False)
DIGESTS = {
    "exact_sha256": bytes(32),
    "normalized_sha256": bytes(32),
    "canonicalization": "c",
    "canonicalization_version": "1",
    "facts": FACTS,
}
PARTS = {"messages": b'[{"role":"user","content":"hi"}]', "params": b'{"temperature":0}'}


def fields_of(message: Any, before: str = "") -> Iterator[str]:
    """Yield the path of every field that holds a value, those of messages inside included."""
    for field in message.fields:
        inner = field.message_type
        if inner is not None and not inner.GetOptions().map_entry:
            yield from fields_of(inner, f"{before}{field.name}.")
        else:
            yield before + field.name


def request(content: dict[str, Any], **changes: Any) -> decision_service_pb2.LookupRequest:
    """Build a Lookup whose every descriptor field has a value."""
    found = decision_service_pb2.LookupRequest(
        descriptor=descriptor_pb2.RequestDescriptor(
            dialect="openai",
            endpoint="chat",
            served={"provider": "p", "model": "m"},
            requested={"provider": "q", "model": "n"},
            route_id="r",
            route_version="1",
            rule_branch="b",
            stream=False,
            scope={"tenant": "acme"},
            versions={"v": "1"},
            headers={"h": "1"},
            embedding={"embedder": "e", "values": b"\x00\x00\x80\x3f"},
            attributes={"a": "1"},
            **content,
        )
    )
    for path, value in changes.items():
        put(found.descriptor, path.split("."), value)
    return found


def put(message: Any, path: list[str], value: Any) -> None:
    *outer, name = path
    for step in outer:
        message = getattr(message, step)
    if isinstance(value, dict):
        getattr(message, name).clear()
        getattr(message, name).update(value)
    else:
        setattr(message, name, value)


def ids(wanted: decision_service_pb2.LookupRequest, under: Any) -> dict[Matcher, bytes]:
    decision = run(plan_for(convert.asked(wanted), [under]))
    assert decision.grant is not None, decision
    return {key.matcher: key.entry_id for key in decision.grant.keys}


BODY, IN_PARTS, DIGESTED = {"body_json": CHAT}, {"parts": PARTS}, {"digests": DIGESTS}

# field -> content of the plain request, a rule, another value, whether the key changes
FIELDS: dict[str, tuple[dict[str, Any], Any, Any, bool]] = {
    "dialect": (IN_PARTS, rule(), "mistral", True),
    "endpoint": (IN_PARTS, rule(), "responses", True),
    "served.provider": (BODY, rule(), "azure", True),
    "served.model": (BODY, rule(), "other", True),
    "requested.provider": (BODY, TARGET, "router", True),
    "requested.model": (BODY, TARGET, "other", True),
    "route_id": (BODY, TARGET, "r2", True),
    "route_version": (BODY, TARGET, "2", True),
    "rule_branch": (BODY, TARGET, "c", True),
    "stream": (IN_PARTS, rule(), True, True),
    "scope": (BODY, rule(), {"tenant": "globex"}, True),
    "parts.messages": (IN_PARTS, rule(), b'[{"role":"user","content":"ho"}]', True),
    "parts.system": (IN_PARTS, rule(), b'"Be brief."', True),
    "parts.tools": (IN_PARTS, rule(), b'[{"type":"function","name":"f"}]', True),
    "parts.params": (IN_PARTS, rule(), b'{"temperature":0,"top_k":1}', True),
    "body_json": (BODY, rule(), CHAT.replace(b"hi", b"ho"), True),
    "digests.exact_sha256": (DIGESTED, rule(strategy=(Matcher.EXACT,)), b"x" * 32, True),
    "digests.normalized_sha256": (DIGESTED, rule(strategy=(Matcher.NORMALIZED,)), b"x" * 32, True),
    "digests.canonicalization": (DIGESTED, rule(), "d", True),
    "digests.canonicalization_version": (DIGESTED, rule(), "2", True),
    "versions": (BODY, rule(), {"v": "2"}, True),
    "headers": (BODY, rule(), {"h": "2"}, True),
    "embedding.embedder": (BODY, rule(), "f", False),
    "embedding.values": (BODY, rule(), b"\x00\x00\x00\x40", False),
    "personalized": (BODY, rule(scope=("tenant", "user")), True, False),
    "attributes": (BODY, rule(), {"a": "2"}, False),
}
# Facts decide whether there is a key at all: what they change is told by other tests.
FACT_FIELDS = {f"digests.facts.{name}" for name in FACTS}


def test_every_field_of_the_descriptor_is_classified():
    message = descriptor_pb2.RequestDescriptor.DESCRIPTOR
    assert {field.name for field in message.fields} == set(DESCRIPTOR_FIELDS)
    assert set(fields_of(message)) == set(FIELDS) | FACT_FIELDS


def test_every_field_of_the_controls_is_classified():
    assert {field.name for field in decision_service_pb2.Controls.DESCRIPTOR.fields} == set(CONTROLS_FIELDS)


@pytest.mark.parametrize("path", FIELDS)
def test_the_classification_of_the_descriptor_is_true(path):
    content, under, value, changes = FIELDS[path]
    scope = {"scope": {"tenant": "acme", "user": "ada"}} if "user" in under.scope else {}
    plain, other = (
        ids(request(content, **scope), under),
        ids(request(content, **{**scope, path: value}), under),
    )
    assert set(plain) == set(other) == set(under.strategy)
    for matcher in under.strategy:
        assert (plain[matcher] != other[matcher]) is changes
    said = DESCRIPTOR_FIELDS[path.partition(".")[0]]
    assert said.startswith("not key material") is not changes


@pytest.mark.parametrize(
    "path", [path for path in FIELDS if path.startswith(("requested", "route", "rule_branch"))]
)
def test_what_was_asked_for_counts_under_both_and_not_under_served(path):
    value = FIELDS[path][2]
    changed, plain = request(BODY, **{path: value}), request(BODY)
    assert ids(changed, BOTH) != ids(plain, BOTH)
    assert ids(changed, rule()) == ids(plain, rule())


@pytest.mark.parametrize("path", ["served.provider", "served.model"])
def test_who_serves_counts_under_both_and_not_under_target(path):
    changed, plain = request(BODY, **{path: "other"}), request(BODY)
    assert ids(changed, BOTH) != ids(plain, BOTH)
    assert ids(changed, TARGET) == ids(plain, TARGET)


def test_the_shape_does_not_count_where_the_rule_shares_it():
    shared = rule(stream_shared=True)
    assert ids(request(IN_PARTS, stream=True), shared) == ids(request(IN_PARTS, stream=False), shared)


CONTROLS: dict[str, tuple[Any, bool]] = {
    "mode": ("CACHE_MODE_REFRESH", False),
    "ttl": ("7s", False),
    "namespace": ("blue", True),
    "max_age": ("7s", False),
    "min_fresh": ("7s", False),
    "max_stale": ("7s", False),
    "logging_disabled": (False, False),
}


@pytest.mark.parametrize("name", CONTROLS_FIELDS)
def test_the_classification_of_the_controls_is_true(name):
    value, changes = CONTROLS[name]
    changed = request(BODY)
    ParseDict({name: value}, changed.controls)
    assert (ids(changed, rule()) != ids(request(BODY), rule())) is changes
    assert CONTROLS_FIELDS[name].startswith("not key material") is not changes


@pytest.mark.parametrize("name", ["request_id", "trace", "omit_body", "after_upstream_error", "anchor"])
def test_what_stands_beside_the_descriptor_is_no_key_material(name):
    changed = request(BODY)
    setattr(changed, name, "x" if name == "request_id" else True)
    assert ids(changed, rule()) == ids(request(BODY), rule())
