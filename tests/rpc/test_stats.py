"""What GetStats tells: of rules, of times, of money, over restarts."""

from __future__ import annotations

import time
from typing import Any

import grpc
import pytest

from askonce.v1 import admin_service_pb2
from rpc.answers import answer
from rpc.harness import DEADLINE_SECONDS, Place, Running
from rpc.replies import filed, outcome, refused, verdict
from rpc.requests import describe, turns

RULES = [
    {"id": "first", "match": {"scope": {"tenant": "first"}}},
    {"id": "second", "match": {"scope": {"tenant": "second"}}},
]


def stats(server: Running, rule: str = "", since: float | None = None) -> Any:
    request = admin_service_pb2.GetStatsRequest(rule_id=rule)
    if since is not None:
        request.since.FromMilliseconds(int(since * 1000))
    return server.operator.admin.GetStats(request, timeout=DEADLINE_SECONDS)


def test_rules_are_told_apart(start):
    server = start(rules=RULES)
    for _ in range(2):
        server.gateway.ask(describe("first"))
    server.gateway.fill(describe("second"))
    server.gateway.ask(describe("second"))
    assert filed(server.gateway.store(describe("second"), answer(status_code=500))) == "upstream_error"
    server.gateway.ask(describe("third"))
    first, second, both = stats(server, "first"), stats(server, "second"), stats(server)
    assert (first.misses, first.hits, first.entries, first.stores) == (2, 0, 0, 0)
    assert (second.misses, second.hits, second.entries, second.stores, second.refusals) == (1, 1, 2, 1, 1)
    assert (both.misses, both.hits, both.entries, both.bypasses) == (3, 1, 2, 1)
    assert second.calls_avoided == both.calls_avoided == 1
    assert dict(both.tallies)["bypass.no_rule"] == 1


def test_a_rule_that_is_not_there_is_named(start):
    server = start(rules=RULES)
    refusal = refused(lambda: stats(server, "third"))
    assert refusal.code is grpc.StatusCode.NOT_FOUND
    assert "third" in refusal.message
    refusal = refused(lambda: stats(server, since=-9.0))
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT
    assert "since" in refusal.message


def test_money_is_told_where_it_is_known(start):
    server = start()
    priced, free, unknown = (describe(f"tenant {at}") for at in range(3))
    server.gateway.fill(priced, cost_usd=0.0125)
    server.gateway.fill(unknown)
    assert not stats(server).HasField("cost_avoided_usd")
    server.gateway.ask(unknown)
    assert not stats(server).HasField("cost_avoided_usd")
    assert stats(server).unpriced_hits == 1
    for _ in range(3):
        assert verdict(server.gateway.ask(priced)) == "hit exact"
    server.gateway.fill(free, cost_usd=0.0)
    server.gateway.ask(free)
    told = stats(server)
    assert told.cost_avoided_usd == pytest.approx(0.0375, abs=1e-9)
    assert (told.unpriced_hits, told.calls_avoided) == (1, 5)


def test_how_long_calls_took_is_told_apart(start):
    server = start()
    assert not stats(server).HasField("hit_latency")
    server.gateway.fill(describe())
    for _ in range(20):
        server.gateway.ask(describe())
    told = stats(server)
    assert (told.hit_latency.count, told.miss_latency.count) == (20, 1)
    for latency in (told.hit_latency, told.miss_latency):
        p50, p95, p99 = (one.ToMicroseconds() for one in (latency.p50, latency.p95, latency.p99))
        assert 0 < p50 <= p95 <= p99 <= 10_000_000
        assert 0 < latency.mean.ToMicroseconds() <= 10_000_000


def test_counts_outlive_the_server(tmp_path):
    began = time.time()
    place = Place(tmp_path, rules=RULES, stats={"flush": "10m"})
    for round_number in range(3):
        server = Running(place)
        try:
            for at in range(5):
                assert outcome(server.gateway.ask(describe("first", turns(f"{round_number} {at}")))) == "miss"
            assert filed(server.gateway.store(describe("second", turns(f"{round_number}")))) == "stored"
            now, ever = stats(server), stats(server, since=began)
            assert (now.misses, now.stores) == (5, 1)
            assert (ever.misses, ever.stores) == (5 * (round_number + 1), round_number + 1)
            assert stats(server, "first", since=began).misses == ever.misses
            assert stats(server, "second", since=began).misses == 0
            assert began - 3600 <= ever.counted_since.ToMilliseconds() / 1000 <= began
        finally:
            server.stop()


def test_counts_are_kept_while_the_server_runs(start):
    server = start(stats={"flush": "100ms"})
    server.gateway.ask(describe())

    def kept() -> int:
        past = server.sidecar.store.counts_since(0, server=b"nobody")
        return past.counted.get("default", {}).get("miss.no_entry", 0)

    deadline = time.monotonic() + 30
    while not kept():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert kept() == 1
    assert stats(server, since=time.time()).misses == 1
