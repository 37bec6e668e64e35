"""Every decision is counted once, and told in the Cache-Status field (RFC 9211) as in the message."""

from __future__ import annotations

import re
from typing import Any

import pytest

from askonce.v1 import decision_pb2
from rpc.answers import answer
from rpc.replies import filed, verdict
from rpc.requests import describe, seconds, turns


def test_every_decision_is_counted_once(start):
    server = start(rules=[{"id": "off", "match": {"scope": {"tenant": "off"}}, "mode": "off"}, {"id": "on"}])
    gateway = server.gateway
    assert not server.stats().HasField("hit_rate")
    gateway.fill(describe())
    calls = [
        (lambda: gateway.ask(describe()), "hits"),
        (lambda: gateway.ask(describe(messages=turns(" hi"))), "hits"),
        (lambda: gateway.ask(describe("new")), "misses"),
        (lambda: gateway.ask(describe(), mode=3), "refreshes"),
        (lambda: gateway.ask(describe(), mode=2), "bypasses"),
        (lambda: gateway.ask(describe(), mode=99), "bypasses"),
        (lambda: gateway.ask(describe("")), "bypasses"),
        (lambda: gateway.ask(describe("off")), "bypasses"),
        (lambda: gateway.ask(describe(params={})), "bypasses"),
        (lambda: gateway.ask(describe(), max_age=seconds(0), min_fresh=seconds(9999)), "misses"),
    ]
    kinds = ("hits", "misses", "bypasses", "refreshes")
    for call, kind in calls:
        before = server.stats()
        call()
        after = server.stats()
        changed = {name: getattr(after, name) - getattr(before, name) for name in kinds}
        assert changed == {name: int(name == kind) for name in kinds}
        assert after.decisions == before.decisions + 1
    stats = server.stats()
    assert stats.hit_rate == pytest.approx(stats.hits / (stats.hits + stats.misses))
    assert stats.decisions == stats.hits + stats.misses + stats.bypasses + stats.refreshes
    told = dict(stats.tallies)
    assert told["hit.exact"] == 1
    assert told["hit.normalized"] == 1
    assert told["bypass.caller_bypass"] == 2
    assert told["bypass.scope_missing"] == told["bypass.disabled"] == told["bypass.sampled_request"] == 1
    assert told["miss.too_old"] == 1


def test_stores_are_counted_and_so_are_entries(start):
    server = start()
    for at in range(3):
        assert filed(server.gateway.store(describe(f"t{at}"))) == "stored"
    assert filed(server.gateway.store(describe("t"), answer(status_code=500))) == "upstream_error"
    stats = server.stats()
    assert (stats.stores, stats.refusals, stats.entries) == (3, 1, 6)
    assert dict(stats.tallies)["refusal.upstream_error"] == 1
    assert 1 <= stats.commits <= 3
    assert 0 < stats.store_bytes < stats.store_limit_bytes == 64 << 20
    assert (stats.shadow_agree, stats.shadow_disagree) == (0, 0)
    assert stats.uptime.ToMilliseconds() > 0


def test_a_shadow_hit_counts_as_a_miss(start):
    server = start(rules=[{"id": "s", "mode": "shadow"}])
    server.gateway.fill(describe())
    server.gateway.ask(describe())
    stats = server.stats()
    assert (stats.hits, stats.misses) == (0, 2)
    assert stats.hit_rate == 0


_PARAM = re.compile(r"; ([a-z][a-z0-9-]*)(?:=([a-z][a-z0-9_-]*|-?\d+))?")


def parsed(value: str) -> dict[str, Any]:
    """The parameters of the one member of the field; asserts its syntax."""
    name, rest = re.match(r"([a-z]+)(.*)", value).groups()
    assert name == "askonce"
    found, at = {}, 0
    while at < len(rest):
        match = _PARAM.match(rest, at)
        assert match, value
        assert match[1] not in found
        found[match[1]] = True if match[2] is None else match[2]
        at = match.end()
    assert set(found) <= {"hit", "fwd", "stored", "ttl", "detail", "collapsed"}
    assert ("hit" in found) != ("fwd" in found), value
    assert found.get("fwd", "miss") in ("bypass", "miss", "stale", "request", "uri-miss", "vary-miss")
    return found


def test_the_cache_status_says_the_same_as_the_decision(start, clock):
    gateway = start(rules=[{"id": "only", "ttl": "100s"}]).gateway
    assert parsed(gateway.ask(describe()).cache_status) == {"fwd": "miss"}
    stored = gateway.fill(describe(messages=turns("a  b")))
    assert parsed(stored.cache_status) == {"fwd": "miss", "stored": True}
    clock.advance(30_500)
    found = gateway.ask(describe(messages=turns("a  b")))
    assert parsed(found.cache_status) == {"hit": True, "ttl": "69", "detail": "exact"}
    found = gateway.ask(describe(messages=turns("a b")))
    assert parsed(found.cache_status) == {"hit": True, "ttl": "69", "detail": "normalized"}
    old = gateway.ask(describe(messages=turns("a b")), max_age=seconds(1))
    assert parsed(old.cache_status) == {"fwd": "request", "detail": "too_old"}
    forced = gateway.ask(describe(messages=turns("a b")), mode=3)
    assert parsed(forced.cache_status) == {"fwd": "request", "detail": "refresh"}
    bypassed = gateway.ask(describe(""))
    assert parsed(bypassed.cache_status) == {"fwd": "bypass", "detail": "scope_missing"}
    clock.advance(70_000)
    expired = gateway.ask(describe(messages=turns("a b")))
    assert parsed(expired.cache_status) == {"fwd": "stale", "detail": "expired"}


def test_a_hit_says_the_same_whatever_matched_and_whatever_shape(gateway, tenant):
    """Of a stream and a document, of an exact and a normalized match: the same fields are set."""
    gateway.fill(describe(tenant, turns("a  b")), usage=decision_pb2.Usage(input_tokens=3), cost_usd=0.5)
    asked = describe(tenant, turns("s"), stream=True)
    gateway.fill(asked, usage=decision_pb2.Usage(input_tokens=3), cost_usd=0.5)
    found = [
        gateway.ask(one) for one in (describe(tenant, turns("a  b")), describe(tenant, turns("a b")), asked)
    ]
    assert [verdict(decision) for decision in found] == ["hit exact", "hit normalized", "hit exact"]
    assert {decision_pb2.BodyShape.Name(decision.candidate.stream) for decision in found} == {
        "BODY_SHAPE_JSON",
        "BODY_SHAPE_STREAM",
    }
    fields = [{field.name for field, _ in decision.candidate.ListFields()} - {"age"} for decision in found]
    assert fields[0] == fields[1] == fields[2]
    assert {
        "entry_id",
        "entry_sha7",
        "scope_sha7",
        "ttl_left",
        "store_time",
        "expire_time",
        "usage",
    } <= fields[0]
    assert {"cost_avoided_usd", "stream", "body"} <= fields[0]
    for decision in found:
        candidate = decision.candidate
        assert candidate.entry_id.startswith(candidate.entry_sha7)
        assert len(candidate.entry_sha7) == len(candidate.scope_sha7) == 7
        assert len(bytes.fromhex(decision.decision_id)) == 16
        assert decision.rule_id == "default"


def test_decision_ids_are_never_the_same(gateway, tenant):
    ids = {gateway.ask(describe(tenant)).decision_id for _ in range(50)}
    ids |= {result.decision.decision_id for result in gateway.ask_all([describe(tenant)] * 50)}
    assert len(ids) == 100
