"""What a newer client says in words that this version does not know is read the safe way."""

from __future__ import annotations

from typing import Any

import pytest
from google.protobuf.duration_pb2 import Duration

from askonce.v1 import decision_service_pb2, descriptor_pb2
from rpc.answers import answer, answer_for, storing
from rpc.harness import DEADLINE_SECONDS
from rpc.replies import filed, malformed, outcome, verdict
from rpc.requests import describe, request, seconds, target

UNKNOWN = b"\xa2\x3e\x03new"
"""Field 996, three bytes: no message has it."""
UNKNOWN_NUMBER = b"\xa0\x3e\x01"


def unknown_in(message: Any) -> Any:
    """The same message with a field that nobody knows."""
    changed = type(message)()
    changed.CopyFrom(message)
    changed.MergeFromString(UNKNOWN)
    return changed


def digests(**facts: bool) -> descriptor_pb2.Digests:
    known = {"sampling": False, "remote_content": False, "stateful": False, "personalized": False}
    return descriptor_pb2.Digests(
        exact_sha256=bytes(32),
        canonicalization="own",
        canonicalization_version="1",
        facts=descriptor_pb2.DigestFacts(**{**known, **facts}),
    )


def descriptors(tenant: str) -> dict[str, descriptor_pb2.RequestDescriptor]:
    """Requests with an unknown field at every place where there can be one."""
    plain = describe(tenant)
    of_digests = describe(tenant, digests=digests())
    found = {
        "descriptor": unknown_in(plain),
        "descriptor, by number": descriptor_pb2.RequestDescriptor.FromString(
            plain.SerializeToString() + UNKNOWN_NUMBER
        ),
        "served": describe(tenant, served=unknown_in(target())),
        "requested": describe(tenant, requested=unknown_in(target())),
        "parts": describe(tenant, parts=unknown_in(plain.parts)),
        "digests": describe(tenant, digests=unknown_in(of_digests.digests)),
        "embedding": describe(
            tenant, embedding=unknown_in(descriptor_pb2.Embedding(embedder="e", values=b"\0\0\x80\x3f"))
        ),
    }
    facts = describe(tenant, digests=digests())
    facts.digests.facts.MergeFromString(UNKNOWN)
    return {**found, "facts": facts}


PLACES = [
    "descriptor",
    "descriptor, by number",
    "served",
    "requested",
    "parts",
    "digests",
    "embedding",
    "facts",
]


@pytest.mark.parametrize("place", PLACES)
def test_an_unknown_field_of_a_descriptor_may_be_key_material(gateway, tenant, place):
    asked = descriptors(tenant)[place]
    gateway.store(describe(tenant))
    decision = gateway.ask(asked)
    assert verdict(decision) == "bypass unrepresentable_content"
    assert not decision.fill_token
    assert filed(gateway.store(asked, answer())) == "unrepresentable_content"
    batch = gateway.ask_all([asked, describe(tenant)])
    assert [verdict(result.decision) for result in batch] == ["bypass unrepresentable_content", "hit exact"]


def test_an_unknown_kind_of_content_may_be_what_is_asked(gateway, tenant):
    asked = describe(tenant)
    asked.ClearField("parts")
    asked.MergeFromString(UNKNOWN)
    assert verdict(gateway.ask(asked)) == "bypass unrepresentable_content"
    assert filed(gateway.store(asked, answer())) == "unrepresentable_content"


def test_an_unknown_source_of_a_store_is_refused_and_nothing_is_stored(gateway):
    call = unknown_in(decision_service_pb2.StoreRequest(response=answer()))
    assert filed(gateway.stub.Store(call, timeout=DEADLINE_SECONDS)) == "unrepresentable_content"


def test_unknown_controls_bypass(gateway, tenant):
    gateway.fill(describe(tenant))
    call = request(describe(tenant), namespace="")
    call.controls.MergeFromString(UNKNOWN)
    assert verdict(gateway.stub.Lookup(call, timeout=9).decision) == "bypass unrepresentable_content"
    call = request(describe(tenant), ttl=unknown_in(seconds(60)))
    assert verdict(gateway.stub.Lookup(call, timeout=9).decision) == "bypass unrepresentable_content"


def test_unknown_fields_beside_descriptor_and_controls_do_no_harm(gateway, tenant):
    gateway.fill(describe(tenant))
    call = unknown_in(request(describe(tenant)))
    assert verdict(gateway.stub.Lookup(call, timeout=9).decision) == "hit exact"
    call = request(describe(tenant), budget=unknown_in(seconds(9)))
    assert verdict(gateway.stub.Lookup(call, timeout=9).decision) == "hit exact"


@pytest.mark.parametrize("mode", [5, 99, -1, 2**31 - 1])
def test_an_unknown_mode_neither_reads_nor_writes(gateway, tenant, mode):
    gateway.fill(describe(tenant))
    decision = gateway.ask(describe(tenant), mode=mode)
    assert verdict(decision) == "bypass caller_bypass"
    assert not decision.fill_token


def test_a_mode_that_is_not_said_is_the_default(gateway, tenant):
    gateway.fill(describe(tenant))
    assert verdict(gateway.ask(describe(tenant), mode=0)) == "hit exact"
    assert verdict(gateway.ask(describe(tenant), mode=1)) == "hit exact"


@pytest.mark.parametrize(
    ("accepts", "stream", "found"),
    [
        ([], False, "hit exact"),
        ([], True, "miss stream_shape"),
        ([99], False, "hit exact"),
        ([99], True, "miss stream_shape"),
        ([0], True, "miss stream_shape"),
        ([1], True, "miss stream_shape"),
        ([2], True, "hit exact"),
        ([1, 2], True, "hit exact"),
        ([99, 2], True, "hit exact"),
        ([1], False, "miss stream_shape"),
    ],
)
def test_shapes_that_are_unknown_are_not_accepted(gateway, tenant, accepts, stream, found):
    def asking(*, stream: bool) -> Any:
        return describe(tenant, stream=stream, attributes={"rule": "shapes"})

    gateway.fill(asking(stream=False))
    assert verdict(gateway.ask(asking(stream=stream), accepts=accepts)) == found


def stores(tenant: str, source: Any) -> dict[str, decision_service_pb2.StoreRequest]:
    """Stores with an unknown field at every place where there can be one."""
    usage = answer_for(describe(tenant))
    usage.usage.MergeFromString(UNKNOWN)
    return {
        "store": unknown_in(storing(source, answer())),
        "response": storing(source, unknown_in(answer())),
        "usage": storing(source, usage),
        "served": storing(source, answer(served=unknown_in(target()))),
        "ttl": storing(source, answer(), ttl=unknown_in(Duration(seconds=60))),
    }


@pytest.mark.parametrize("place", ["store", "response", "usage", "served", "ttl"])
@pytest.mark.parametrize("by", ["token", "descriptor"])
def test_an_unknown_field_of_an_answer_may_speak_against_storing_it(gateway, tenant, place, by):
    source = describe(tenant) if by == "descriptor" else gateway.ask(describe(tenant)).fill_token
    call = stores(tenant, source)[place]
    assert filed(gateway.stub.Store(call, timeout=DEADLINE_SECONDS)) == "unrepresentable_content"
    batch = gateway.store_all([call, storing(describe(f"{tenant}-other"), answer())])
    assert [filed(result.response) for result in batch] == ["unrepresentable_content", "stored"]
    assert verdict(gateway.ask(describe(tenant))) == "miss"


def test_an_unknown_field_does_not_hide_a_mistake(gateway, tenant):
    assert "descriptor.dialect" in malformed(lambda: gateway.ask(unknown_in(describe(tenant, dialect=""))))
    call = storing(describe(tenant, dialect=""), unknown_in(answer()))
    assert "descriptor.dialect" in malformed(lambda: gateway.stub.Store(call, timeout=9))


def test_a_field_of_another_wire_type_counts_as_unknown(gateway, tenant):
    raw = describe(tenant).SerializeToString() + b"\x58\x01"  # body_json as a number
    call = decision_service_pb2.LookupRequest.FromString(b"\x0a" + bytes([len(raw)]) + raw)
    assert verdict(gateway.stub.Lookup(call, timeout=9).decision) == "bypass unrepresentable_content"


def test_a_client_that_looks_only_at_hit_is_right(gateway, tenant):
    """The lazy reading is the safe one: in all of these the provider is called."""
    gateway.fill(describe(tenant))
    rules = [describe(tenant, attributes={"rule": rule}) for rule in ("off", "shadow")]
    decisions = [
        *(gateway.ask(one) for one in rules),
        *(gateway.ask(describe(tenant), mode=mode) for mode in (2, 3, 99)),
        gateway.ask(describe("")),
        gateway.ask(unknown_in(describe(tenant))),
        gateway.ask(describe(tenant), max_age=seconds(0), min_fresh=seconds(86_000)),
    ]
    assert "hit" not in {outcome(decision) for decision in decisions}
    assert not any(decision.candidate.body.data for decision in decisions)
