"""The promises of the product, one test each over a real server; the suites beside this one go into each."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from askonce.v1 import decision_pb2, decision_service_pb2
from rpc.answers import answer, chat_body
from rpc.harness import DEADLINE_SECONDS, Gateway
from rpc.replies import filed, outcome, refused, verdict
from rpc.requests import describe, request, seconds, target, turns, with_body


def test_promise_1_no_wrong_hit(gateway, tenant):
    """Whatever can change the response is in the key: of many that differ in one thing, none is another."""
    params = [{"temperature": 0}, {"temperature": 0, "n": 2}, {"seed": 1}, {"temperature": 0, "stop": ["a"]}]
    asked = [describe(tenant, turns("q"), params=one) for one in params]
    asked += [describe(tenant, turns(text)) for text in ("Q", "q?", "q q", "", "q\u200b", "\uff51")]
    asked += [describe(tenant, turns("q", "a", "q")), describe(tenant, turns("q"), system="be brief")]
    asked += [describe(tenant, turns("q"), tools=[{"type": "function", "function": {"name": "f"}}])]
    asked += [
        describe(tenant, turns("q"), served=target(model="m")),
        describe(tenant, turns("q"), stream=True),
    ]
    asked += [
        describe(tenant, turns("q"), versions={"a": "1"}),
        describe(tenant, turns("q"), headers={"a": "1"}),
    ]
    asked += [
        describe(tenant, turns("q"), dialect="other"),
        describe(tenant, turns("q"), endpoint="completions"),
    ]
    asked += [describe(f"{tenant}-b", turns("q")), with_body(tenant, {"messages": turns("q"), "seed": 2})]
    for at, one in enumerate(asked):
        text = f"answer {at}" if not one.stream else "stream"
        gateway.fill(one, text)
    for at, one in enumerate(asked):
        found = gateway.ask(one)
        assert outcome(found) == "hit"
        assert (f"answer {at}".encode() in found.candidate.body.data) or one.stream


def test_promise_2_isolation_by_construction(gateway, tenant):
    """Another tenant's entry cannot be addressed: no candidate is even seen, whatever the value."""
    tenant = f"{tenant}/ab"
    gateway.fill(describe(tenant), "secret of one tenant")
    for other in ("", "*", f"{tenant} ", tenant.upper(), f"{tenant}\0", "%", "null", "None", tenant[:-1]):
        decision = gateway.ask(describe(other))
        assert outcome(decision) != "hit"
        assert not decision.HasField("candidate")
    twin = gateway.fill(describe(f"{tenant}-b"), "secret of one tenant")
    mine = gateway.ask(describe(tenant)).candidate.entry_id
    assert mine not in {entry.entry_id for entry in twin.entries}


def test_promise_3_fails_open(server, tenant, monkeypatch):
    """A fault inside is a bypass within the caller's time, and a malformed request is an error."""

    def fail():
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(server.sidecar.store, "read", fail)
        started = time.monotonic()
        decision = server.gateway.ask(describe(tenant), timeout=1)
        assert verdict(decision) == "bypass store_failed"
        assert time.monotonic() - started < 1
    assert refused(lambda: server.gateway.ask(describe(tenant, dialect=""))).code.name == "INVALID_ARGUMENT"


def test_promise_4_the_lazy_reading_is_the_safe_reading(gateway, tenant):
    """Whoever looks only at HIT is right: in shadow, off, unknown mode, refresh, unknown fields, stale."""
    gateway.fill(describe(tenant))
    unknown = describe(tenant)
    unknown.MergeFromString(b"\xa2\x3e\x03new")
    lazily = [
        gateway.ask(describe(tenant, attributes={"rule": "shadow"})),
        gateway.ask(describe(tenant, attributes={"rule": "off"})),
        gateway.ask(describe(tenant), mode=99),
        gateway.ask(describe(tenant), mode=decision_service_pb2.CACHE_MODE_REFRESH),
        gateway.ask(unknown),
        gateway.ask(describe(tenant), min_fresh=seconds(100_000)),
    ]
    assert all(decision.outcome != decision_pb2.OUTCOME_HIT for decision in lazily)
    unsaid = decision_service_pb2.StoreRequest(
        descriptor=describe(f"{tenant}-unsaid"),
        response=decision_service_pb2.UpstreamResponse(body=chat_body()),
    )
    assert filed(gateway.stub.Store(unsaid, timeout=9)) == "upstream_error", (
        "what is left unsaid counts against it"
    )


def test_promise_5_what_is_acknowledged_is_kept(gateway, server, tenant):
    """Visible to the next Lookup of anybody, at once."""
    with Gateway(server.place.tcp) as other:
        for at in range(50):
            asked = describe(tenant, turns(f"{at}"))
            assert filed(gateway.store(asked, answer(f"{at}"))) == "stored"
            assert other.ask(asked).candidate.body.data == chat_body(f"{at}")


def test_promise_8_everything_is_bounded(start):
    """Disk, messages, items, depth, bodies: each limit is said when it is met."""
    server = start(max_request="64KiB", max_response="8KiB", store={"max_bytes": "1MiB"})
    gateway = server.gateway
    large = describe("t", turns("x" * 70_000))
    assert refused(lambda: gateway.ask(large)).code.name == "RESOURCE_EXHAUSTED"
    assert refused(lambda: gateway.ask_all([describe("t")] * 257)).fields == {"items"}
    deep = describe("t", b"[" * 129 + b"]" * 129)
    assert verdict(gateway.ask(deep)) == "bypass unrepresentable_content"
    said = [filed(gateway.store(describe(f"t{at}"), answer(b"x" * 50_000))) for at in range(40)]
    assert said[0] == "stored"
    assert said[-1] == "stored"
    stats = server.stats()
    assert stats.store_bytes <= stats.store_limit_bytes == 1 << 20
    kept = [at for at in range(40) if verdict(gateway.ask(describe(f"t{at}"))) == "hit exact"]
    assert 3 <= len(kept) < 40
    cut = gateway.ask_all([describe(f"t{at}") for at in kept[:3]])
    assert {result.error.reason for result in cut} == {"TOO_LARGE"}


def test_promise_9_every_decision_is_counted_once(start):
    server = start()
    asked = [describe(), describe(), describe(""), describe("b"), describe(params={})]
    for one in asked:
        decision = server.gateway.ask(one)
        if decision.fill_token:
            server.gateway.store(decision.fill_token)
    stats = server.stats()
    assert (stats.hits, stats.misses, stats.bypasses, stats.refreshes, stats.decisions) == (1, 2, 2, 0, 5)
    assert sum(count for name, count in stats.tallies.items() if name.partition(".")[0] in KINDS) == 5
    assert stats.hit_rate == pytest.approx(1 / 3)


KINDS = ("hit", "miss", "bypass", "refresh")


def test_promise_9_what_is_not_known_is_not_zero(gateway, tenant):
    gateway.fill(describe(tenant))
    assert not gateway.ask(describe(tenant)).candidate.HasField("cost_avoided_usd")


def test_promise_10_the_same_request_has_the_same_key_everywhere(start, server, tenant):
    """In another process, over another store, in another spelling, through another listener."""
    other = start()
    here = server.gateway.fill(describe(tenant, params=b'{"temperature":0,"n":1}'))
    there = other.gateway.fill(describe(tenant, params=b'{"n":1.0, "temperature":0e0}'))
    assert here.entries == there.entries
    with Gateway(other.place.tcp) as over_tcp:
        found = over_tcp.ask(describe(tenant, params={"temperature": 0, "n": 1}))
        assert found.candidate.entry_id == here.entries[0].entry_id


def test_promise_11_a_sidecar_without_a_store_takes_nobody_down(start, tmp_path):
    """It starts, is healthy, answers at once, and stops in order."""
    occupied = Path(tmp_path) / "file"
    occupied.write_text("")
    server = start(store={"path": str(occupied)})
    assert server.gateway.serving() == "SERVING"
    assert server.gateway.serving("askonce.store") == "NOT_SERVING"
    call = decision_service_pb2.BatchLookupRequest(items=[request(describe())] * 256)
    results = server.gateway.stub.BatchLookup(call, timeout=DEADLINE_SECONDS).results
    assert {verdict(result.decision) for result in results} == {"bypass store_failed"}
