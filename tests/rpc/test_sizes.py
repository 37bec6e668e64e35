"""Sizes are bounded, and what is too large is told so with the limit and the size, never silently lost."""

from __future__ import annotations

import os

import grpc
import pytest

from askonce.v1 import decision_service_pb2
from rpc.answers import answer, chat_body, storing
from rpc.replies import filed, refused, verdict
from rpc.requests import describe, dumps, request, with_body

MIB = 1 << 20
MAX_REQUEST = 8 * MIB


def padded(tenant: str, size: int):
    """A lookup whose message has exactly `size` bytes."""

    def call(pad: int):
        return request(describe(tenant, b'[{"role":"user","content":"' + b"x" * pad + b'"}]'))

    pad = size - call(size).ByteSize() + size
    exact = call(pad)
    assert exact.ByteSize() == size
    return exact


def test_a_request_of_the_greatest_size_is_decided_and_stored(gateway, tenant):
    call = padded(tenant, MAX_REQUEST)
    decision = gateway.stub.Lookup(call, timeout=30).decision
    assert verdict(decision) == "miss"
    assert filed(gateway.store(decision.fill_token, answer("large"))) == "stored"
    assert verdict(gateway.stub.Lookup(call, timeout=30).decision) == "hit exact"


@pytest.mark.parametrize("over", [1, 1000, MIB, 7 * MIB])
def test_a_larger_one_is_refused_with_limit_and_size(gateway, tenant, over):
    call = padded(tenant, MAX_REQUEST + over)
    refusal = refused(lambda: gateway.stub.Lookup(call, timeout=30))
    assert refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert refusal.info.reason == "TOO_LARGE"
    assert dict(refusal.info.metadata) == {
        "limit": str(MAX_REQUEST),
        "size": str(MAX_REQUEST + over),
        "setting": "max_request",
    }
    assert str(MAX_REQUEST) in refusal.message
    assert str(MAX_REQUEST + over) in refusal.message


@pytest.mark.parametrize("size", [17 * MIB, 64 * MIB])
def test_a_far_larger_one_is_refused_before_it_is_read(gateway, tenant, size):
    """The transport itself refuses, without taking the message into memory; it names its own limit."""
    raw = bytes(size)
    refusal = refused(lambda: gateway.raw("DecisionService/Lookup", raw))
    assert refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert str(size) in refusal.message
    assert str(2 * MAX_REQUEST) in refusal.message
    assert verdict(gateway.ask(describe(tenant))) == "miss"


@pytest.mark.parametrize("method", ["BatchLookup", "Store", "BatchStore"])
def test_the_limit_is_that_of_every_method(gateway, method):
    refusal = refused(lambda: gateway.raw(f"DecisionService/{method}", bytes(MAX_REQUEST + 1)))
    assert refusal.info.reason == "TOO_LARGE"
    assert str(MAX_REQUEST + 1) in refusal.message


def test_the_limit_is_the_configured_one(start):
    server = start(max_request="4KiB")
    refusal = refused(lambda: server.gateway.stub.Lookup(padded("t", 4097), timeout=30))
    assert dict(refusal.info.metadata) == {"limit": "4096", "size": "4097", "setting": "max_request"}
    assert verdict(server.gateway.stub.Lookup(padded("t", 4096), timeout=30).decision) == "miss"


@pytest.mark.parametrize("size", [1, 2, 3000, 4096, 65_536, MIB - 1, MIB])
def test_a_body_comes_back_byte_by_byte(gateway, tenant, size):
    body = b"\x01" + os.urandom(size - 1) if size > 1 else b"7"
    asked = describe(tenant, dialect="custom")
    assert filed(gateway.store(asked, answer(body))) == "stored"
    assert gateway.ask(asked).candidate.body.data == body


@pytest.mark.parametrize("size", [MIB + 1, 2 * MIB, 7 * MIB])
def test_a_larger_body_is_refused_and_the_caller_told(gateway, tenant, size):
    assert filed(gateway.store(describe(tenant), answer(b"x" * size))) == "too_large"
    token = gateway.ask(describe(tenant)).fill_token
    results = gateway.store_all([storing(token, answer(b"x" * size)), storing(token, answer())])
    assert [filed(result.response) for result in results] == ["too_large", "stored"]


def test_the_size_of_a_body_is_that_of_its_bytes(gateway, tenant):
    """What looks small in another language's memory is measured as it was sent."""
    nested = dumps([{"k": ["é" * 20] * 20}] * 1500)
    assert len(nested) > MIB
    assert filed(gateway.store(describe(tenant), answer(nested))) == "too_large"


def test_a_large_image_inline_is_no_special_case(gateway, tenant):
    url = "data:image/png;base64," + "A" * (6 * MIB)
    part = {"type": "image_url", "image_url": {"url": url}}
    asked = with_body(tenant, {"temperature": 0, "messages": [{"role": "user", "content": [part]}]})
    gateway.fill(asked)
    assert verdict(gateway.ask(asked)) == "hit exact"
    changed = with_body(tenant, asked.body_json.replace(b"AAAA", b"AAAB", 1))
    assert verdict(gateway.ask(changed)) == "miss"


def test_more_than_the_server_holds_at_once_bypasses_and_refuses(start):
    server = start(max_in_flight_bytes="1KiB")
    large = describe("t", [{"role": "user", "content": "x" * 2000}])
    assert verdict(server.gateway.ask(large)) == "bypass over_budget"
    assert filed(server.gateway.store(describe("t"), answer("x" * 2000))) == "store_failed"
    results = server.gateway.ask_all([describe("t")] * 10)
    assert {verdict(result.decision) for result in results} == {"bypass over_budget"}
    for _ in range(20):  # nothing of that is held back
        assert verdict(server.gateway.ask(describe("t"))) in ("miss", "hit exact")
    server.gateway.fill(describe("t"))


def test_a_body_beyond_what_clients_take_by_default_can_be_fetched(start):
    server = start(rules=[{"id": "large", "admission": {"max_body": "6MiB"}}])
    body = os.urandom(5 * MIB)
    asked = describe("t", dialect="custom")
    assert filed(server.gateway.store(asked, answer(b"1" + body))) == "stored"
    assert server.gateway.ask(asked).candidate.body.data == b"1" + body
    result = server.gateway.ask_all([asked])[0]
    assert result.error.reason == "TOO_LARGE", "in a batch it is too large for the answer"


def test_a_full_batch_fits_into_one_request(gateway, tenant):
    items = [storing(describe(f"{tenant}-{at}"), answer(chat_body("x" * 30_000))) for at in range(256)]
    size = decision_service_pb2.BatchStoreRequest(items=items).ByteSize()
    assert 5 * MIB < size < MAX_REQUEST
    assert {filed(result.response) for result in gateway.store_all(items)} == {"stored"}
