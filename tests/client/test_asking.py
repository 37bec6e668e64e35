"""How requests are encoded, and that a value that cannot be sent costs a bypass, not an exception."""

from __future__ import annotations

import math
import struct
from datetime import datetime, timedelta
from types import MappingProxyType

import pytest
from google.protobuf.duration_pb2 import Duration

import askonce
from askonce import encoding, fields
from askonce.v1 import decision_service_pb2 as pb
from askonce.v1 import descriptor_pb2
from client.scripted import ANSWER, BODY, CHAT, GPT


def encode(descriptor, **options):
    return encoding.lookup_request(askonce.Lookup(descriptor, **options), budget_seconds=1)


def test_every_part_of_a_descriptor_is_sent():
    descriptor = askonce.Descriptor(
        dialect="openai",
        endpoint="chat",
        content=askonce.Content(
            messages=[{"role": "user", "content": "hi"}],
            system="French",
            tools=b"[ ]",
            params={"temperature": 0},
        ),
        served=GPT,
        requested=askonce.Target("openai", "gpt"),
        route_id="r",
        route_version="1",
        rule_branch="b",
        stream=False,
        scope={"tenant": "acme"},
        versions={"prompt": "7"},
        headers={"anthropic-beta": "x"},
        embedding=askonce.Embedding("mine", [0.5, -1]),
        personalized=True,
        attributes={"team": "red"},
    )
    assert encode(descriptor).descriptor == descriptor_pb2.RequestDescriptor(
        dialect="openai",
        endpoint="chat",
        parts={
            "messages": b'[{"role":"user","content":"hi"}]',
            "system": b'"French"',
            "tools": b"[ ]",
            "params": b'{"temperature":0}',
        },
        served={"provider": "openai", "model": "gpt-4o"},
        requested={"provider": "openai", "model": "gpt"},
        route_id="r",
        route_version="1",
        rule_branch="b",
        stream=False,
        scope={"tenant": "acme"},
        versions={"prompt": "7"},
        headers={"anthropic-beta": "x"},
        embedding={"embedder": "mine", "values": struct.pack("<2f", 0.5, -1)},
        personalized=True,
        attributes={"team": "red"},
    )


def test_what_is_absent_is_not_sent():
    descriptor = askonce.Descriptor(dialect="x", endpoint="y", content=askonce.Content(messages=[]))
    sent = encode(descriptor).descriptor
    assert sent.WhichOneof("content") == "parts"
    assert [field.name for field, _ in sent.parts.ListFields()] == ["messages"]
    for field in ("served", "requested", "stream", "embedding"):
        assert not sent.HasField(field)


def test_falsy_json_values_are_not_absent():
    content = askonce.Content(messages=[], system="", tools=0, params=False)
    sent = encode(askonce.Descriptor(dialect="x", endpoint="y", content=content)).descriptor.parts
    assert (sent.messages, sent.system, sent.tools, sent.params) == (b"[]", b'""', b"0", b"false")


def test_digests_keep_unsaid_facts_apart_from_false():
    facts = askonce.DigestFacts(sampling=False, stateful=True)
    digests = askonce.Digests(
        exact_sha256=b"e" * 32, canonicalization="mine", canonicalization_version="2", facts=facts
    )
    sent = encode(askonce.Descriptor(dialect="x", endpoint="chat", content=digests)).descriptor
    assert sent.digests == descriptor_pb2.Digests(
        exact_sha256=b"e" * 32,
        canonicalization="mine",
        canonicalization_version="2",
        facts={"sampling": False, "stateful": True},
    )
    assert not sent.digests.facts.HasField("remote_content")


@pytest.mark.parametrize(
    ("make", "dialect", "endpoint"),
    [
        (askonce.Descriptor.openai_chat, "openai", "chat"),
        (askonce.Descriptor.openai_responses, "openai", "responses"),
        (askonce.Descriptor.openai_embeddings, "openai", "embeddings"),
        (askonce.Descriptor.anthropic_messages, "anthropic", "messages"),
    ],
)
def test_provider_bodies(make, dialect, endpoint):
    sent = encode(make(b"{}", served=GPT, scope={"tenant": "a"}, stream=True)).descriptor
    assert (sent.dialect, sent.endpoint, sent.body_json) == (dialect, endpoint, b"{}")
    assert (sent.served.model, sent.scope["tenant"], sent.stream) == ("gpt-4o", "a", True)


def test_what_json_cannot_say_is_left_for_the_sidecar_to_judge():
    descriptor = askonce.Descriptor.openai_chat({"a": "\ud800", "b": math.nan}, served=GPT)
    assert encode(descriptor).descriptor.body_json == b'{"a":"\\ud800","b":NaN}'
    text = askonce.Descriptor.openai_chat('{"a":"\ud800"}', served=GPT)
    assert encode(text).descriptor.body_json == b'{"a":"\xed\xa0\x80"}'


def test_mappings_of_any_kind_are_json_objects():
    descriptor = askonce.Descriptor.openai_chat(MappingProxyType({"a": MappingProxyType({})}), served=GPT)
    assert encode(descriptor).descriptor.body_json == b'{"a":{}}'


@pytest.mark.parametrize(
    ("given", "want"),
    [
        (timedelta(days=365, microseconds=1), Duration(seconds=31_536_000, nanos=1000)),
        (timedelta(seconds=-1.5), Duration(seconds=-1, nanos=-500_000_000)),
        (0.1, Duration(nanos=100_000_000)),
        (3, Duration(seconds=3)),
        (0, Duration()),
        (-0.25, Duration(nanos=-250_000_000)),
    ],
)
def test_lengths_of_time(given, want):
    assert fields.duration(given, "ttl") == want


CYCLE: list = []
CYCLE.append(CYCLE)
DEEP: list = []
for _ in range(100_000):
    DEEP = [DEEP]


def described(**changes):
    fields = {"dialect": "openai", "endpoint": "chat", "content": askonce.ProviderBody(BODY)}
    return askonce.Descriptor(**{**fields, **changes})


BAD = {
    "descriptor": None,
    "descriptor.dialect": described(dialect=7),
    "descriptor.endpoint": described(endpoint="\ud800"),
    "descriptor.scope": described(scope={"tenant": 7}),
    "descriptor.headers": described(headers=["a"]),
    "descriptor.served.model": described(served=askonce.Target("openai", None)),
    "descriptor.requested.provider": described(requested="openai/gpt"),
    "descriptor.content": described(content={"messages": []}),
    "descriptor.body_json": described(content=askonce.ProviderBody({"at": datetime(2026, 1, 1)})),  # noqa: DTZ001
    "descriptor.parts.messages": described(content=askonce.Content(messages=CYCLE)),
    "descriptor.parts.tools": described(content=askonce.Content(tools=DEEP)),
    "descriptor.parts.params": described(content=askonce.Content(params={(1, 2): 3})),
    "descriptor.stream": described(stream="yes"),
    "descriptor.embedding.values": described(embedding=askonce.Embedding("e", ["a"])),
    "descriptor.digests.exact_sha256": described(
        content=askonce.Digests(exact_sha256=7, canonicalization="c", canonicalization_version="1")
    ),
}


@pytest.mark.parametrize("field", BAD)
def test_a_descriptor_that_cannot_be_sent_is_a_bypass_that_names_the_field(client, script, field):
    decision = client.lookup(askonce.Lookup(BAD[field]))
    assert decision.bypass_reason is askonce.BypassReason.REQUEST_REFUSED
    assert isinstance(decision.error, askonce.InvalidRequest)
    assert [violation.field for violation in decision.error.violations] == [field]
    assert script.received == []


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"budget": 0}, "budget"),
        ({"budget": -1}, "budget"),
        ({"budget": math.nan}, "budget"),
        ({"budget": math.inf}, "budget"),
        ({"budget": "1s"}, "budget"),
        ({"wait_for_fill": math.nan}, "wait_for_fill"),
        ({"controls": {"mode": 1}}, "controls"),
        ({"controls": askonce.Controls(ttl=1e300)}, "controls.ttl"),
        ({"controls": askonce.Controls(mode="refresh")}, "controls.mode"),
        ({"controls": askonce.Controls(namespace=b"\xff")}, "controls.namespace"),
        ({"request_id": 5}, "request_id"),
    ],
)
def test_options_that_cannot_be_sent_are_a_bypass_that_names_them(client, script, options, field):
    decision = client.lookup(CHAT, **options)
    assert [violation.field for violation in decision.error.violations] == [field]
    assert script.received == []


def test_anything_at_all_may_be_looked_up_without_an_exception(client):
    for thing in (None, 7, "text", {}, object()):
        assert client.lookup(thing).outcome is askonce.Outcome.BYPASS


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"body": "text"}, "response.body"),
        ({"status_code": "200"}, "response.status_code"),
        ({"status_code": 1 << 40}, "response.status_code"),
        ({"finish_reasons": "stop"}, "response.finish_reasons"),
        ({"finish_reasons": [None]}, "response.finish_reasons"),
        ({"usage": askonce.Usage(-1, 0)}, "response.usage.input_tokens"),
        ({"request_start_time": datetime(2026, 1, 1)}, "response.request_start_time"),  # noqa: DTZ001
        ({"request_start_time": 1.5}, "response.request_start_time"),
    ],
)
def test_a_response_that_cannot_be_sent_is_a_refusal_that_names_the_field(client, script, changes, field):
    fields = {"body": b"{}", "status_code": 200, **changes}
    result = client.store(b"t", askonce.UpstreamResponse(**fields))
    assert result.refusal_reason is askonce.RefusalReason.REQUEST_REFUSED
    assert [violation.field for violation in result.error.violations] == [field]
    assert script.received == []


def test_what_is_stored_under_must_be_something_to_store_under(client):
    for source in (None, "token", 7):
        result = client.store(source, ANSWER)
        assert [violation.field for violation in result.error.violations] == ["source"]


def test_metadata_that_grpc_refuses_is_a_bypass_and_no_failure_of_the_sidecar(client):
    for metadata in ([("UPPER", "x")], [("key", "caf\u00e9")], 7):
        decision = client.lookup(CHAT, metadata=metadata)
        assert decision.bypass_reason is askonce.BypassReason.REQUEST_REFUSED
        assert "UPPER" not in str(decision.error)
    assert client.lookup(CHAT).hit


def test_no_error_quotes_what_was_sent(client, log):
    secrets = [
        client.lookup(described(dialect=b"\xffSECRET")),
        client.lookup(described(scope={"tenant": ["SECRET"]})),
        client.lookup(described(content=askonce.ProviderBody({"SECRET": {"SECRET"}}))),
        client.lookup(described(content=["SECRET"])),
        client.lookup(CHAT, metadata=[("SECRET", "SECRET")]),
    ]
    for decision in secrets:
        assert decision.error is not None
        assert "SECRET" not in str(decision.error) + repr(decision)
        assert decision.error.__context__ is None
    assert len(log()) == 5
    assert "SECRET" not in "".join(log())


@pytest.mark.parametrize("options", [{"budget": 0}, {"store_timeout": -1}])
def test_a_client_without_time_is_refused_at_once(options):
    with pytest.raises(askonce.InvalidRequest):
        askonce.AskOnce("unix:///nowhere", **options)


@pytest.mark.parametrize(("target", "channels"), [("", 1), ([], 1), ("unix:///x", 0), ([""], 1)])
def test_a_client_without_a_target_is_refused_at_once(target, channels):
    with pytest.raises(ValueError, match="must be"):
        askonce.AskOnce(target, channels=channels)


def test_requests_parse_as_what_was_meant():
    request = encode(CHAT)
    assert pb.LookupRequest.FromString(request.SerializeToString()) == request
