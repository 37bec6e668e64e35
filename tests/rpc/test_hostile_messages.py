"""One message of 8 MiB made of nothing but small pieces must not keep the server from everybody else."""

from __future__ import annotations

import time
from collections.abc import Callable

import grpc
import pytest

from askonce.v1 import decision_service_pb2, descriptor_pb2
from rpc.answers import answer, storing
from rpc.replies import filed, refused, verdict
from rpc.requests import describe, request, with_body

SIZE = (8 << 20) - 4096
UNKNOWN = b"\xf8\x07\x01"  # field 127, a varint
LOOKUP = decision_service_pb2.LookupRequest.DESCRIPTOR.fields_by_name


def field(number: int, content: bytes) -> bytes:
    """A field with bytes in it (protobuf.dev/programming-guides/encoding)."""
    return varint(number << 3 | 2) + varint(len(content)) + content


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])


def many(piece: bytes) -> bytes:
    return piece * (SIZE // len(piece))


def scopes() -> bytes:
    number = descriptor_pb2.RequestDescriptor.DESCRIPTOR.fields_by_name["scope"].number
    return b"".join(field(number, field(1, b"%06d" % one) + field(2, b"x")) for one in range(SIZE // 20))


BASE = request(describe()).SerializeToString()
ACCEPTS = LOOKUP["accepts"].number
CASES: dict[str, Callable[[], tuple[str, bytes]]] = {
    "unknown fields": lambda: ("Lookup", BASE + many(UNKNOWN)),
    "unknown fields in the descriptor": lambda: ("Lookup", BASE + field(1, many(UNKNOWN))),
    "unknown groups": lambda: ("Lookup", BASE + many(b"\xfb\x07\xfc\x07")),
    "scope dims": lambda: ("Lookup", BASE + field(1, scopes())),
    "shapes": lambda: ("Lookup", BASE + many(varint(ACCEPTS << 3) + b"\x01")),
    "shapes, packed": lambda: ("Lookup", BASE + field(ACCEPTS, many(b"\x01"))),
    "descriptors": lambda: ("Lookup", BASE + many(field(1, b""))),
    "items": lambda: ("BatchLookup", many(field(1, b""))),
    "fields of items": lambda: ("BatchLookup", field(1, BASE + many(UNKNOWN))),
    "finish reasons": lambda: (
        "Store",
        storing(describe(), answer()).SerializeToString() + field(3, many(field(4, b""))),
    ),
    "answers": lambda: ("BatchStore", many(field(1, b""))),
}


@pytest.mark.parametrize("case", CASES)
def test_a_message_of_countless_fields_is_refused_at_once(gateway, case):
    method, raw = CASES[case]()
    begin = time.process_time()  # the server is in this process
    refusal = refused(lambda: gateway.raw(f"DecisionService/{method}", raw))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "fields" in refusal.message
    assert time.process_time() - begin < 1.0


def test_a_vector_of_countless_dimensions_is_refused(gateway, tenant):
    vector = descriptor_pb2.Embedding(embedder="e", values=b"\0\0\x80\x3f" * (1 << 20))
    refusal = refused(lambda: gateway.ask(describe(tenant, embedding=vector)))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.fields == {"descriptor.embedding.values"}


def test_a_body_of_countless_values_bypasses_at_once(gateway, tenant):
    body = b'{"model":"m","messages":[' + b",".join([b"[0]"] * (SIZE // 4)) + b"]}"
    wanted = with_body(tenant, body)
    begin = time.process_time()
    assert verdict(gateway.ask(wanted)) == "bypass unrepresentable_content"
    assert time.process_time() - begin < 1.0
    assert filed(gateway.store(wanted, answer())) == "unrepresentable_content"


DENSE = {"arrays": b"[]", "objects": b'{"a":1}', "numbers": b"1"}


def dense_items(tenant, piece):
    """The most items of a batch, each of 30 kB, which is small by itself."""
    many = b",".join([piece] * (29_900 // (len(piece) + 1)))
    return [with_body(tenant, b'{"temperature":0,"messages":[%d,%b]}' % (at, many)) for at in range(256)]


@pytest.mark.parametrize("piece", DENSE.values(), ids=DENSE.keys())
def test_a_batch_of_countless_values_is_decided_in_part(gateway, tenant, piece):
    items = dense_items(tenant, piece)
    told = [verdict(result.decision) for result in gateway.ask_all(items)]
    first = told.index("bypass too_large")
    assert told == ["miss"] * first + ["bypass too_large"] * (256 - first)
    assert 20 < first < 128  # all of them would cost seconds
    assert verdict(gateway.ask(items[-1])) == "miss"


def test_a_batch_of_countless_values_is_stored_in_part(gateway, tenant):
    items = dense_items(tenant, b"1")
    told = [filed(result.response) for result in gateway.store_all([storing(one, answer()) for one in items])]
    first = told.index("too_large")
    assert told == ["stored"] * first + ["too_large"] * (256 - first)
    assert filed(gateway.store(items[-1], answer())) == "stored"


def test_answers_of_countless_values_are_looked_into_and_stored_in_part(gateway, tenant):
    """`{}` as a choice is what costs most to look into: of 8 MiB all would cost seconds."""
    dense = b'{"choices":[' + b",".join([b"{}"] * 300_000) + b"]}"
    items = [storing(describe(f"{tenant}-{at}"), answer(dense)) for at in range(8)]
    items.append(storing(describe(tenant), answer()))
    told = [filed(result.response) for result in gateway.store_all(items)]
    assert told[1:] == ["too_large"] * 7 + ["stored"]
    assert told[0] != "too_large"


def test_a_batch_of_two_large_images_and_much_text_is_none_of_these(gateway, tenant):
    image = "data:image/png;base64," + "iVBORw0KGgo{[:e.E" * 200_000
    shown = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": image}}]}]
    text = [{"role": "user", "content": "[0],{:e.E" * 500}]
    items = [describe(tenant, shown), *[describe(f"{tenant}{at}", text) for at in range(255)]]
    assert {verdict(result.decision) for result in gateway.ask_all(items)} == {"miss"}


def test_a_request_with_every_map_full_and_much_text_is_none_of_these(gateway, tenant):
    full = {f"name-{number}": "x" * 500 for number in range(64)}
    wanted = describe(
        tenant,
        [{"role": "user", "content": "x" * 100_000}],
        scope={**dict(list(full.items())[:63]), "tenant": tenant},
        versions=full,
        headers=full,
        attributes=full,
    )
    assert verdict(gateway.ask(wanted)) == "miss"
    assert [verdict(one.decision) for one in gateway.ask_all([wanted] * 20)] == ["miss"] * 20
