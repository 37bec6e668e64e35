"""Everything around the decisions: health, reflection, stats, admin, methods that are to come."""

from __future__ import annotations

import os
import re
from typing import Any

import grpc
import pytest
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from askonce.v1 import admin_service_pb2, decision_service_pb2
from askonce_server.needs import CannotStart
from rpc.harness import DEADLINE_SECONDS, Gateway
from rpc.replies import outcome, refused, verdict
from rpc.requests import describe


def test_a_method_that_never_was_is_unimplemented(gateway):
    assert refused(lambda: gateway.raw("DecisionService/Guess", b"")).code is grpc.StatusCode.UNIMPLEMENTED


def test_admin_methods_are_not_on_the_gateway_s_listener(server):
    call = admin_service_pb2.GetStatsRequest()
    refusal = refused(lambda: server.gateway.admin.GetStats(call, timeout=DEADLINE_SECONDS))
    assert refusal.code is grpc.StatusCode.UNIMPLEMENTED
    lookup = decision_service_pb2.LookupRequest(descriptor=describe())
    refusal = refused(lambda: server.operator.stub.Lookup(lookup, timeout=DEADLINE_SECONDS))
    assert refusal.code is grpc.StatusCode.UNIMPLEMENTED


def test_a_gateway_may_know_what_the_server_is_also_without_an_admin_section(server, start):
    asked = admin_service_pb2.GetServerInfoRequest()
    told = server.gateway.admin.GetServerInfo(asked, timeout=DEADLINE_SECONDS)
    assert told == server.operator.admin.GetServerInfo(asked, timeout=DEADLINE_SECONDS)
    alone = start(admin=None)
    assert alone.gateway.admin.GetServerInfo(asked, timeout=DEADLINE_SECONDS).key_schema == "askonce/1"


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


# --- Cache-Status (RFC 9211): a list of structured field items with parameters ---------------------------


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
    with pytest.raises(CannotStart, match=f"{re.escape(setting)} names the variable THE_SECRET"):
        start(**naming_the_secret(setting))


def naming_the_secret(setting):
    if setting == "admin.token_env":
        return {"admin": {"token_env": "THE_SECRET"}}
    return {setting: "THE_SECRET"}


def test_a_key_may_be_random_bytes_that_are_no_text(start, monkeypatch):
    monkeypatch.setitem(os.environb, b"THE_SECRET", b"\xff\xfe" * 8)
    server = start(fill_token_key_env="THE_SECRET")
    server.gateway.fill(describe())
    assert verdict(server.gateway.ask(describe())) == "hit exact"


@pytest.mark.parametrize(("setting", "least"), [("fill_token_key_env", 16), ("admin.token_env", 8)])
def test_a_secret_that_can_be_guessed_stops_the_start_by_name(start, monkeypatch, setting, least):
    short = "é" * (least // 2 - 1) + "a"
    monkeypatch.setenv("THE_SECRET", short)
    with pytest.raises(CannotStart, match=f"^{re.escape(setting)} names") as told:
        start(**naming_the_secret(setting))
    assert f"of {least - 1} bytes" in str(told.value)
    assert f"at least {least} random bytes" in str(told.value)
    assert short not in str(told.value)
    monkeypatch.setenv("THE_SECRET", short + "b")
    assert start(**naming_the_secret(setting)).gateway.serving() == "SERVING"
