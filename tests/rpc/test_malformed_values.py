"""Times, amounts, vectors and bytes that are none are refused by name."""

from __future__ import annotations

import os
import struct

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from askonce.v1 import descriptor_pb2
from rpc.answers import answer
from rpc.replies import filed, malformed, refused, verdict
from rpc.requests import describe, request, seconds, target

INVALID_DURATIONS = [
    Duration(seconds=1, nanos=-1),
    Duration(seconds=-1, nanos=1),
    Duration(nanos=1_000_000_000),
    Duration(seconds=315_576_000_001),
    Duration(seconds=-(2**63)),
    Duration(seconds=2**63 - 1, nanos=2**31 - 1),
]


@pytest.mark.parametrize("field", ["ttl", "max_age", "min_fresh", "max_stale", "budget", "wait_for_fill"])
@pytest.mark.parametrize("value", INVALID_DURATIONS, ids=lambda value: f"{value.seconds}s{value.nanos}n")
def test_a_duration_that_is_none_is_refused(gateway, tenant, field, value):
    found = malformed(lambda: gateway.ask(describe(tenant), **{field: value}))
    path = field if field in ("budget", "wait_for_fill") else f"controls.{field}"
    assert set(found) == {path}
    assert str(value.seconds) in found[path]


def test_the_ttl_that_a_rule_does_not_allow_is_named_with_everything_else(gateway, tenant):
    response = answer()
    response.cost_usd = -1
    wrong = describe(tenant, params=b"{", served=target("", "m"))
    named = malformed(lambda: gateway.store(wrong, response, ttl=seconds(10**6)))
    assert set(named) == {
        "descriptor.parts.params",
        "descriptor.served.provider",
        "response.cost_usd",
        "ttl",
    }
    token = gateway.ask(describe(tenant)).fill_token
    named = malformed(lambda: gateway.store(token, response, ttl=seconds(10**6)))
    assert set(named) == {"response.cost_usd", "ttl"}
    named = malformed(lambda: gateway.store(token[:-1], response, ttl=seconds(10**6)))
    assert set(named) == {"fill_token", "response.cost_usd"}


@pytest.mark.parametrize("value", [*INVALID_DURATIONS, seconds(0), seconds(-5)], ids=str)
def test_the_ttl_of_a_store_is_held_to_the_same(gateway, tenant, value):
    assert set(malformed(lambda: gateway.store(describe(tenant), ttl=value))) == {"ttl"}
    token = gateway.ask(describe(tenant)).fill_token
    assert set(malformed(lambda: gateway.store(token, ttl=value))) == {"ttl"}
    assert verdict(gateway.ask(describe(tenant))) == "miss"


@pytest.mark.parametrize("field", ["max_age", "min_fresh", "max_stale"])
def test_times_that_count_from_now_may_be_zero_and_not_less(gateway, tenant, field):
    assert verdict(gateway.ask(describe(tenant), **{field: seconds(0)})) == "miss"
    found = malformed(lambda: gateway.ask(describe(tenant), **{field: Duration(nanos=-1)}))
    assert set(found) == {f"controls.{field}"}


@pytest.mark.parametrize("budget", [0, -1, -1e-9])
def test_a_budget_is_positive(gateway, tenant, budget):
    assert set(malformed(lambda: gateway.ask(describe(tenant), budget=seconds(budget)))) == {"budget"}
    assert verdict(gateway.ask(describe(tenant), budget=seconds(1e-9))) == "miss"


@pytest.mark.parametrize(
    "moment",
    [Timestamp(seconds=-1), Timestamp(nanos=-1), Timestamp(nanos=10**9), Timestamp(seconds=253_402_300_800)],
    ids=str,
)
def test_a_start_time_that_is_none_is_refused(gateway, tenant, moment):
    response = answer(request_start_time=moment)
    found = malformed(lambda: gateway.store(describe(tenant), response))
    assert set(found) == {"response.request_start_time"}


@pytest.mark.parametrize("cost", [float("nan"), float("inf"), -0.01])
def test_a_cost_is_an_amount(gateway, tenant, cost):
    found = malformed(lambda: gateway.store(describe(tenant), answer(cost_usd=cost)))
    assert set(found) == {"response.cost_usd"}


@pytest.mark.parametrize(
    "value", ["text/html\r\nSet-Cookie: a=b", "application/json\n", "\0", "a\tb", "\x7f", "text/\x85"]
)
def test_a_media_type_that_would_end_the_header_that_it_is_sent_in_is_refused(gateway, tenant, value):
    named = malformed(lambda: gateway.store(describe(tenant), answer(content_type=value)))
    assert set(named) == {"response.content_type"}
    assert "control characters" in named["response.content_type"]
    token = gateway.ask(describe(tenant)).fill_token
    assert set(malformed(lambda: gateway.store(token, answer(content_type=value)))) == {
        "response.content_type"
    }
    assert verdict(gateway.ask(describe(tenant))) == "miss"


@pytest.mark.parametrize("value", ["", "application/json; charset=utf-8", 'text/plain; title="Größe\u2028"'])
def test_any_other_media_type_is_kept(gateway, tenant, value):
    assert filed(gateway.store(describe(tenant), answer(content_type=value))) == "stored"
    assert gateway.ask(describe(tenant)).candidate.body.content_type == value


@pytest.mark.parametrize(
    ("values", "good"),
    [
        (b"", False),
        (b"123", False),
        (struct.pack("<2f", 0, 0), False),
        (struct.pack("<2f", 1, float("nan")), False),
        (struct.pack("<2f", 1, float("inf")), False),
        (struct.pack("<2f", 1, 0), True),
    ],
)
def test_a_vector_is_one(gateway, tenant, values, good):
    asked = describe(tenant, embedding=descriptor_pb2.Embedding(embedder="mine", values=values))
    if good:
        assert verdict(gateway.ask(asked)) == "miss"
    else:
        assert set(malformed(lambda: gateway.ask(asked))) == {"descriptor.embedding.values"}


METHODS = ["Lookup", "BatchLookup", "Store", "BatchStore"]


GARBAGE = [
    b"\xff",
    b"\x0a",
    b"\x0a\xff\xff\xff\xff\x0f",
    b"\x07" * 40,
    b"\x0b" * 200,
    os.urandom(1) + b"\xff" * 64,
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("raw", GARBAGE, ids=range(len(GARBAGE)))
def test_bytes_that_are_no_message_are_refused(gateway, method, raw):
    refusal = refused(lambda: gateway.raw(f"DecisionService/{method}", raw))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert refusal.info.reason == "MALFORMED_REQUEST"


@pytest.mark.parametrize("text", [b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"a\x80"])
def test_text_that_is_not_utf_8_is_refused(gateway, tenant, text):
    whole = request(describe(tenant, dialect="TEXT")).SerializeToString()
    raw = whole.replace(b"TEXT", text.ljust(4, b"x"))
    assert set(malformed(lambda: gateway.raw("DecisionService/Lookup", raw))) == {"request"}
