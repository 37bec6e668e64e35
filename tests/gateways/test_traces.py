"""One trace from a gateway through AskOnce to the provider, as a real OpenTelemetry Collector receives it."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from gateways.conftest import fresh
from gateways.golang import needs_go
from gateways.harness import world
from gateways.otel import CLIENT, INTERNAL, SERVER, collector

pytestmark = pytest.mark.thorough  # building the Collector takes minutes where nothing is compiled yet

LOOKUP, STORE = "askonce.v1.DecisionService/Lookup", "askonce.v1.DecisionService/Store"
INFO = "askonce.v1.AdminService/GetServerInfo"
"""What a client asks once, on its first call."""
CALLER = "00f067aa0ba902b7"


@pytest.fixture(scope="module", params=["go_gateway"])
def traced(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory):
    """A gateway and its sidecar that send their spans to a collector."""
    needs_go()
    command = request.getfixturevalue(request.param)
    folder: Path = tmp_path_factory.mktemp("traces")
    with collector(folder) as receiving, pytest.MonkeyPatch.context() as environ:
        environ.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", receiving.endpoint)
        environ.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
        environ.delenv("OTEL_SERVICE_NAME", raising=False)
        with world(command) as running:
            yield SimpleNamespace(world=running, collector=receiving)


@pytest.fixture
def around(traced):
    for _ in fresh(traced.world):
        yield traced


def asked(around, text, *, sampled=True, key="sk-acme"):
    """Ask within a trace of its own; return its id."""
    trace_id = os.urandom(16).hex()
    headers = {"traceparent": f"00-{trace_id}-{CALLER}-0{int(sampled)}"}
    body = around.world.chat(text)
    assert around.world.post("/v1/chat/completions", body, headers=headers, key=key).status == 200
    return trace_id


def only(spans, **wanted):
    (found,) = [span for span in spans if all(getattr(span, name) == value for name, value in wanted.items())]
    return found


def has(spans, *calls):
    """Whether the gateway's own span has come, and both sides of these calls to AskOnce."""
    gateway = {(span.name.removeprefix("/"), span.kind) for span in spans if span.service == "gateway"}
    server = {span.name for span in spans if span.service == "askonce"}
    ends = {(call, CLIENT) for call in calls} | {("POST /v1/chat/completions", SERVER)}
    return ends <= gateway and set(calls) <= server


@pytest.mark.timeout(900)
def test_a_miss_is_one_trace_from_the_caller_to_the_provider_and_the_store(around, text):
    trace = asked(around, text)
    spans = around.collector.trace(trace, lambda all_: has(all_, LOOKUP, STORE))
    gateway = only(spans, service="gateway", kind=SERVER)
    assert gateway.parent == CALLER
    assert gateway.name == "POST /v1/chat/completions"
    assert int(gateway.attributes["http.response.status_code"]) == 200
    called = [span for span in spans if span.service == "gateway" and span.kind == CLIENT]
    assert {span.parent for span in called} == {gateway.id}
    by_name = {span.name.removeprefix("/").removeprefix("HTTP "): span for span in called}
    assert set(by_name) - {INFO} == {LOOKUP, STORE, "POST"}
    assert int(by_name["POST"].attributes["http.response.status_code"]) == 200

    lookup = only(spans, service="askonce", name=LOOKUP)
    assert (lookup.parent, lookup.kind, lookup.error) == (by_name[LOOKUP].id, SERVER, False)
    assert lookup.events == ["askonce.decision"]
    wanted = {
        "rpc.system.name": "grpc",
        "rpc.method": LOOKUP,
        "rpc.response.status_code": "OK",
        "askonce.decision.outcome": "miss",
        "askonce.rule.id": "everything",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o-2024-08-06",
    }
    assert {name: lookup.attributes.get(name) for name in wanted} == wanted
    steps = [span for span in spans if span.parent == lookup.id]
    assert [span.name for span in steps] == ["read generations", "match exact", "match normalized"]
    assert {span.kind for span in steps} == {INTERNAL}
    store = only(spans, service="askonce", name=STORE)
    assert (store.parent, store.attributes["askonce.store.outcome"]) == (by_name[STORE].id, "stored")
    (call,) = around.world.calls
    assert "traceparent" not in {name.lower() for name in call["headers"]}, "the provider is another company"


@pytest.mark.timeout(900)
def test_a_hit_ends_at_askonce(around, text):
    asked(around, text)
    around.world.fill("/v1/chat/completions", around.world.chat(text))
    trace = asked(around, text)
    spans = around.collector.trace(trace, lambda all_: has(all_, LOOKUP))
    lookup = only(spans, service="askonce", kind=SERVER)
    assert (lookup.name, lookup.attributes["askonce.decision.outcome"]) == (LOOKUP, "hit")
    assert only(spans, name="match exact").attributes["askonce.step.result"] == "hit"
    (call,) = [span for span in spans if span.kind == CLIENT]
    assert (call.name.removeprefix("/"), call.id) == (LOOKUP, lookup.parent)


@pytest.mark.timeout(900)
def test_what_the_caller_does_not_sample_is_in_no_trace(around, text):
    quiet = asked(around, text, sampled=False)
    told = asked(around, f"{text} again")
    around.collector.trace(
        told, lambda all_: LOOKUP in {span.name for span in all_ if span.service == "askonce"}
    )
    assert quiet not in {span.trace for span in around.collector.spans()}
