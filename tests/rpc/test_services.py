"""Everything around the decisions: health, reflection, stats, admin, methods that are to come."""

from __future__ import annotations

import re
from typing import Any

import grpc
import pytest
from askonce.v1 import admin_service_pb2, decision_pb2, decision_service_pb2
from askonce_server.app import CannotStart
from google.protobuf.timestamp_pb2 import Timestamp
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc
from rpc.harness import (
    DEADLINE_SECONDS,
    Gateway,
    answer,
    describe,
    filed,
    outcome,
    refused,
    seconds,
    turns,
    verdict,
)

LATER = [
    ("stub", "Abandon", decision_service_pb2.AbandonRequest(fill_token=b"x")),
    ("stub", "RecordFeedback", decision_service_pb2.RecordFeedbackRequest(verdict=1, entry_id="a" * 64)),
    ("admin", "GetEntry", admin_service_pb2.GetEntryRequest(entry_id="a" * 64)),
    ("admin", "DeleteEntry", admin_service_pb2.DeleteEntryRequest(entry_id="a" * 64)),
    ("admin", "Purge", admin_service_pb2.PurgeRequest(everything=admin_service_pb2.Everything())),
    ("admin", "Explain", admin_service_pb2.ExplainRequest()),
    ("admin", "GetStats", admin_service_pb2.GetStatsRequest(rule_id="default")),
    ("admin", "GetStats", admin_service_pb2.GetStatsRequest(since=Timestamp(seconds=1))),
]


@pytest.mark.parametrize(("service", "method", "message"), LATER)
def test_what_is_to_come_says_so(server, service, method, message):
    client = server.gateway if service == "stub" else server.operator
    refusal = refused(lambda: getattr(getattr(client, service), method)(message, timeout=DEADLINE_SECONDS))
    assert refusal.code is grpc.StatusCode.UNIMPLEMENTED
    assert (refusal.info.reason, refusal.info.domain) == ("NOT_YET_IMPLEMENTED", "askonce")
    assert method in refusal.message


def test_a_method_that_never_was_is_unimplemented(gateway):
    assert refused(lambda: gateway.raw("DecisionService/Guess", b"")).code is grpc.StatusCode.UNIMPLEMENTED


def test_admin_methods_are_not_on_the_gateway_s_listener(server):
    call = admin_service_pb2.GetStatsRequest()
    refusal = refused(lambda: server.gateway.admin.GetStats(call, timeout=DEADLINE_SECONDS))
    assert refusal.code is grpc.StatusCode.UNIMPLEMENTED
    lookup = decision_service_pb2.LookupRequest(descriptor=describe())
    refusal = refused(lambda: server.operator.stub.Lookup(lookup, timeout=DEADLINE_SECONDS))
    assert refusal.code is grpc.StatusCode.UNIMPLEMENTED


@pytest.fixture(params=["unix", "tcp", "admin"])
def listener(request, server):
    with Gateway(getattr(server.place, request.param)) as client:
        yield client


def test_health_is_told_on_every_listener(listener):
    for service in ("", "askonce.v1.DecisionService", "askonce.v1.AdminService", "askonce.store"):
        assert listener.serving(service) == "SERVING"
    assert refused(lambda: listener.serving("nonsense")).code is grpc.StatusCode.NOT_FOUND


def test_reflection_is_on_for_every_listener(server, listener):
    stub = reflection_pb2_grpc.ServerReflectionStub(listener.channel)

    def ask(**wish: str) -> Any:
        wanted = reflection_pb2.ServerReflectionRequest(**wish)
        return next(iter(stub.ServerReflectionInfo(iter([wanted]), timeout=DEADLINE_SECONDS)))

    names = {service.name for service in ask(list_services="").list_services_response.service}
    own = (
        "askonce.v1.AdminService" if listener.address == server.place.admin else "askonce.v1.DecisionService"
    )
    assert names == {own, "grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection"}
    assert ask(file_containing_symbol=own).file_descriptor_response.file_descriptor_proto


def test_both_listeners_of_the_gateway_decide_alike(server, tenant):
    server.gateway.fill(describe(tenant))
    with Gateway(server.place.tcp) as over_tcp:
        over_unix = server.gateway.ask(describe(tenant))
        assert verdict(over_tcp.ask(describe(tenant))) == "hit exact"
        assert over_tcp.ask(describe(tenant)).candidate.entry_id == over_unix.candidate.entry_id


def test_without_an_admin_section_there_is_no_admin_service(start):
    server = start(admin=None)
    assert (
        refused(lambda: server.gateway.serving("askonce.v1.AdminService")).code is grpc.StatusCode.NOT_FOUND
    )


def test_the_server_says_what_it_is(server):
    info = server.operator.admin.GetServerInfo(admin_service_pb2.GetServerInfoRequest(), timeout=9)
    assert re.fullmatch(r"\d+\.\d+\.\d+.*", info.version)
    assert info.key_schema == "askonce/1"
    assert info.store_serving
    rules = {rule.id: rule for rule in info.rules}
    assert [rule.id for rule in info.rules][-1] == "default"
    assert rules["default"].mode == "serve"
    assert list(rules["default"].strategy) == [1, 2]
    assert list(rules["default"].scope) == ["tenant"]
    assert rules["default"].ttl.ToMilliseconds() == 3_600_000
    assert rules["off"].mode == "off"
    assert list(rules["user-first"].scope) == ["user", "tenant"]
    assert list(rules["exact-only"].strategy) == [1]
    assert rules["ttl"].ttl.ToMilliseconds() == 100_000


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


# --- Cache-Status (RFC 9211): a list of structured field items with parameters ---------------------------

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


@pytest.fixture
def guarded(start, monkeypatch):
    monkeypatch.setenv("ADMIN_TOKEN", "open sesame")
    return start(admin={"token_env": "ADMIN_TOKEN"})


@pytest.mark.parametrize(
    "shown",
    [
        (),
        (("authorization", "Bearer wrong"),),
        (("authorization", "Bearer"),),
        (("authorization", "Bearer "),),
        (("authorization", "open sesame"),),
        (("authorization", "Basic open sesame"),),
        (("authorization", "Bearer open sesame "),),
        (("authorization", "Bearer open sesam"),),
        (("authorization-bin", b"Bearer open sesame"),),
    ],
)
def test_operators_show_a_token_where_one_is_set(guarded, shown):
    call = admin_service_pb2.GetStatsRequest()
    refusal = refused(lambda: guarded.operator.admin.GetStats(call, timeout=9, metadata=shown))
    assert refusal.code is grpc.StatusCode.UNAUTHENTICATED
    assert (refusal.info.reason, refusal.info.domain) == ("UNAUTHENTICATED", "askonce")
    assert "open sesame" not in refusal.message


def test_the_right_token_opens_and_health_needs_none(guarded):
    shown = (("authorization", "Bearer open sesame"),)
    stats = guarded.operator.admin.GetStats(admin_service_pb2.GetStatsRequest(), timeout=9, metadata=shown)
    assert stats.decisions == 0
    assert guarded.operator.serving() == "SERVING"
    stub = reflection_pb2_grpc.ServerReflectionStub(guarded.operator.channel)
    wanted = [reflection_pb2.ServerReflectionRequest(list_services="")]
    closed = refused(lambda: list(stub.ServerReflectionInfo(iter(wanted), timeout=9)))
    assert closed.code is grpc.StatusCode.UNAUTHENTICATED
    assert list(stub.ServerReflectionInfo(iter(wanted), timeout=9, metadata=shown))
    assert outcome(guarded.gateway.ask(describe())) == "miss", "the data plane has no token"


@pytest.mark.parametrize("value", [None, ""])
@pytest.mark.parametrize("setting", ["admin.token_env", "fill_token_key_env"])
def test_a_secret_that_is_not_there_stops_the_start_by_name(start, monkeypatch, value, setting):
    """An empty token would be shown by anybody, an empty key would sign anybody's tokens."""
    monkeypatch.delenv("THE_SECRET", raising=False)
    if value is not None:
        monkeypatch.setenv("THE_SECRET", value)
    settings = {"fill_token_key_env": "THE_SECRET"}
    if setting == "admin.token_env":
        settings = {"admin": {"token_env": "THE_SECRET"}}
    with pytest.raises(CannotStart, match=f"{re.escape(setting)} names the variable THE_SECRET"):
        start(**settings)
