"""Traces: spans of calls under the callers', sampled as OpenTelemetry is told to, and no harm to any call."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
import time
from collections import Counter

import grpc
import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from askonce.v1 import admin_service_pb2, decision_service_pb2
from askonce_server.ports import StoreUnavailable
from askonce_server.telemetry import setup, spans, tracing
from askonce_server.telemetry.logs import JsonLines
from askonce_server.telemetry.otlp import Server
from rpc.answers import answer_for, storing
from rpc.harness import running
from rpc.marked import MARKS, marked, torture, use_everything
from rpc.replies import outcome
from rpc.requests import describe, request
from rpc.semantic import asking, at, semantic
from telemetry.collector import Collector

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
LOOKUP = "askonce.v1.DecisionService/Lookup"
DEADLINE = 60


def within(*, sampled=True):
    return [("traceparent", f"00-{TRACE}-{SPAN}-0{int(sampled)}"), ("tracestate", "vendor=opaque")]


def lookup(server, asked, metadata=(), **rest):
    return server.gateway.stub.Lookup(request(asked, **rest), metadata=metadata, timeout=DEADLINE).decision


def attributes(of):
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in of.attributes}


@pytest.fixture
def collector():
    started = Collector()
    yield started
    started.close()


@pytest.fixture
def environ(monkeypatch, collector):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{collector.endpoint}/v1/traces")
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "20")
    return monkeypatch


def test_a_call_is_a_span_under_its_callers_with_its_steps(environ, collector):
    with running(**semantic(low_threshold=0.0)) as server:
        server.gateway.fill(asking("how tall is it", at(1)))
        decision = lookup(server, asking("how tall is that", at(0.99)), within(), request_id="r-1")
    mine = [one for one in collector.spans() if one[0].trace_id.hex() == TRACE]
    by_name = {span.name: span for span, _, _ in mine}
    call = by_name[LOOKUP]
    assert (call.parent_span_id.hex(), call.kind) == (SPAN, Span.SPAN_KIND_SERVER)
    assert call.trace_state == "vendor=opaque"
    assert call.status.code == Status.STATUS_CODE_UNSET
    assert attributes(call) == {
        "rpc.system.name": "grpc",
        "rpc.method": LOOKUP,
        "rpc.response.status_code": "OK",
        "askonce.decision.outcome": "hit",
        "askonce.decision.kind": "semantic",
        "askonce.rule.id": "near",
        "askonce.entry.sha7": decision.candidate.entry_sha7,
        "askonce.scope.sha7": decision.candidate.scope_sha7,
        "askonce.candidate.zone": "above",
        "askonce.candidate.similarity": pytest.approx(0.99),
        "askonce.request.id": "r-1",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "gpt-4o",
    }
    (event,) = call.events
    assert event.name == "askonce.decision"
    assert attributes(event) == {
        "askonce.decision.id": decision.decision_id,
        "askonce.decision.outcome": "hit",
        "askonce.decision.kind": "semantic",
    }
    inner = by_name["match semantic"]
    assert {by_name[name].parent_span_id for name in ("embed", "recall")} == {inner.span_id}
    assert {by_name[name].parent_span_id for name in ("match exact", "match semantic")} == {call.span_id}
    for span, resource, scope in mine:
        assert call.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= call.end_time_unix_nano <= time.time_ns()
        assert (resource["service.name"], scope.name) == ("askonce", "askonce")


def test_every_method_of_both_services_has_a_span(environ, collector):
    with running() as server:
        gateway, admin = server.gateway, server.operator.admin
        asked = describe("all")
        token = lookup(server, asked).fill_token
        gateway.store(token, answer_for(asked, "Hello."))
        gateway.ask_all([asked, describe("other")])
        gateway.store_all([storing(describe("two"), answer_for(describe("two"), "Hi."))])
        gateway.stub.Abandon(decision_service_pb2.AbandonRequest(fill_token=token))
        admin.GetServerInfo(admin_service_pb2.GetServerInfoRequest())
        admin.GetStats(admin_service_pb2.GetStatsRequest())
    named = {span.name: span for span, _, _ in collector.spans() if span.kind == Span.SPAN_KIND_SERVER}
    decisions = {
        f"askonce.v1.DecisionService/{one}" for one in "Lookup BatchLookup Store BatchStore Abandon".split()
    }
    assert set(named) == decisions | {
        f"askonce.v1.AdminService/{one}" for one in ("GetServerInfo", "GetStats")
    }
    assert attributes(named["askonce.v1.DecisionService/Store"])["askonce.store.outcome"] == "stored"
    batch = named["askonce.v1.DecisionService/BatchLookup"]
    assert attributes(batch)["askonce.batch.size"] == 2
    told = [attributes(event) for event in batch.events]
    assert [one["askonce.batch.item"] for one in told] == [0, 1]
    assert [one["askonce.decision.outcome"] for one in told] == ["hit", "miss"]


def test_a_hit_that_is_given_again_has_its_step_too(environ, collector):
    with running() as server:
        server.gateway.fill(asked := describe("again"))
        lookup(server, asked)
        lookup(server, asked, within())
    steps = [span for span, _, _ in collector.spans() if span.trace_id.hex() == TRACE and span.name != LOOKUP]
    assert [(span.name, attributes(span)) for span in steps] == [
        ("match exact", {"askonce.step.result": "hit", "askonce.decision.again": True})
    ]


def test_statuses_that_are_the_servers_fault_are_errors(environ, collector, monkeypatch):
    judged = decision_service_pb2.RecordFeedbackRequest(entry_id="ab" * 32, verdict="VERDICT_WRONG")
    with running() as server:

        def fail():
            raise StoreUnavailable("it is away")

        monkeypatch.setattr(server.sidecar.store, "read", fail)
        broken = {
            "DecisionService/Lookup": b"\xff",
            "DecisionService/RecordFeedback": judged.SerializeToString(),
        }
        for method, message in broken.items():
            with pytest.raises(grpc.RpcError):
                server.gateway.raw(method, message)
    told = {span.name.partition("/")[2]: span for span, _, _ in collector.spans()}
    malformed, broke = told["Lookup"], told["RecordFeedback"]
    assert attributes(malformed)["rpc.response.status_code"] == "INVALID_ARGUMENT"
    assert malformed.status.code == Status.STATUS_CODE_UNSET
    assert attributes(broke)["rpc.response.status_code"] == attributes(broke)["error.type"] == "UNAVAILABLE"
    assert broke.status.code == Status.STATUS_CODE_ERROR


def test_a_caller_that_is_not_sampled_has_nothing_built(environ, collector):
    built = Counter()

    def fail(*_, **__):
        built["anything"] += 1
        raise AssertionError

    with running() as server:
        server.gateway.fill(asked := describe("quiet"))
        before = len(collector.spans())
        for module, name in (
            (spans, "ReadableSpan"),
            (spans, "Event"),
            (spans, "SpanContext"),
            (tracing, "SpanContext"),
            (tracing, "Recording"),
            (tracing, "Steps"),
            (tracing.TraceState, "from_header"),
        ):
            environ.setattr(module, name, fail)
        for _ in range(20):
            assert outcome(lookup(server, asked, within(sampled=False))) == "hit"
            assert outcome(lookup(server, describe("new"), within(sampled=False))) == "miss"
        assert built == Counter()
        assert outcome(lookup(server, asked, within())) == "hit"  # what fails here fails nobody's call
        assert built == {"anything": 1}
    assert TRACE not in {span.trace_id.hex() for span, _, _ in collector.spans()[before:]}


@pytest.mark.parametrize(
    ("sampler", "argument", "parent", "kept"),
    [
        ("parentbased_always_on", "", True, True),
        ("parentbased_always_on", "", False, False),
        ("parentbased_always_on", "", None, True),
        ("parentbased_always_off", "", True, True),
        ("parentbased_always_off", "", None, False),
        ("parentbased_traceidratio", "0", True, True),
        ("parentbased_traceidratio", "0", None, False),
        ("parentbased_traceidratio", "1", False, False),
        ("always_on", "", False, True),
        ("always_off", "", True, False),
        ("traceidratio", "0", True, False),
        ("traceidratio", "1", False, True),
    ],
)
def test_samplers_are_those_of_the_environment(environ, sampler, argument, *, parent, kept):
    environ.setenv("OTEL_TRACES_SAMPLER", sampler)
    environ.setenv("OTEL_TRACES_SAMPLER_ARG", argument)
    metadata = () if parent is None else within(sampled=parent)
    following = setup.tracing(os.environ, Server("0", "i", 0))
    assert (following.begin(LOOKUP, metadata) is not None) == kept
    following.close()


def test_a_ratio_is_drawn_once_and_by_the_traces_id(environ):
    environ.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    environ.setenv("OTEL_TRACES_SAMPLER_ARG", "0.25")
    following = setup.tracing(os.environ, Server("0", "i", 0))
    kept = [found for _ in range(8000) if (found := following.begin(LOOKUP, ())) is not None]
    bound = round(0.25 * (1 << 64))
    assert all(found.span.trace_id & (1 << 64) - 1 < bound for found in kept)
    assert 1700 < len(kept) < 2300  # 8 standard deviations
    following.close()


def test_callers_can_be_left_aside(environ):
    environ.setenv("OTEL_PROPAGATORS", "none")
    following = setup.tracing(os.environ, Server("0", "i", 0))
    assert following.begin(LOOKUP, within()).parent is None
    following.close()


OFF = [
    {},
    {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
    {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
    {"OTEL_TRACES_EXPORTER": "zipkin"},
]


@pytest.mark.parametrize("said", OFF, ids=str)
def test_off_means_that_nothing_of_opentelemetry_is_there(said):
    program = (
        "import os, sys; from askonce_server import app; from askonce_server.telemetry import otlp, setup;"
        "tracing = setup.tracing(os.environ, otlp.Server('', '', 0));"
        "print(tracing, any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    environ = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | said
    ran = subprocess.run(
        [sys.executable, "-c", program], env=environ, capture_output=True, text=True, check=True
    )
    assert ran.stdout == "None False\n"


@pytest.mark.parametrize(
    "said",
    [
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"},
        {"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"},
        {"OTEL_BSP_MAX_QUEUE_SIZE": "-1"},
        {"OTEL_EXPORTER_OTLP_TIMEOUT": "soon"},
    ],
    ids=str,
)
def test_what_cannot_be_done_is_logged_and_the_server_serves(environ, collector, caplog, said):
    for name, value in said.items():
        environ.setenv(name, value)
    with running() as server:
        assert outcome(server.gateway.ask(describe("serves"))) == "miss"


def test_a_line_of_the_log_names_its_trace(environ, collector, caplog):
    with running() as server:
        handler = logging.StreamHandler()
        logging.getLogger().addHandler(handler)
        lines = []
        handler.emit = lambda record: lines.append(JsonLines().format(record))
        server.sidecar._tracing.start()
        try:
            environ.setattr(server.sidecar._servicer, "_check_size", None)  # a fault inside
            with pytest.raises(grpc.RpcError):
                lookup(server, describe("log"), within())
        finally:
            logging.getLogger().removeHandler(handler)
    (line,) = [json.loads(line) for line in lines if TRACE in line]
    span = next(span for span, _, _ in collector.spans() if span.trace_id.hex() == TRACE)
    assert line["span_id"] == span.span_id.hex()


@pytest.mark.timeout(300)
def test_nothing_that_was_said_is_in_a_span(environ, collector, caplog):
    environ.setenv("OTEL_EXPORTER_OTLP_HEADERS", "api-key=mark-key")
    with running() as server:
        use_everything(server.gateway)
        torture(server.gateway)
        asked = request(marked()).SerializeToString()
        call = server.gateway.channel.unary_unary(f"/{LOOKUP}")
        call(asked, metadata=[*within(), ("authorization", "mark-bearer")], timeout=DEADLINE)
    assert {"match exact", LOOKUP} < {span.name for span, _, _ in collector.spans()}
    sent = b"".join(collector.bodies)
    allowed = {"model", "request"}  # what a gateway says of a route, and for traces
    for name, mark in MARKS.items():
        if name not in allowed:
            assert mark.encode() not in sent, name
    for mark in ("mark-key", "mark-bearer", "the-answer-itself"):
        assert mark.encode() not in sent
        assert mark not in caplog.text


def test_a_collector_that_is_away_is_no_harm(environ, caplog):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        environ.setenv(
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}/v1/traces"
        )
        environ.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "256")
        environ.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "64")
        environ.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
        with running() as server:
            server.gateway.fill(asked := describe("away"))
            assert [outcome(lookup(server, asked)) for _ in range(600)] == ["hit"] * 600
            began = time.monotonic()
        assert time.monotonic() - began < DEADLINE
    told = [
        one for one in caplog.records if one.name.startswith(("opentelemetry", "askonce_server.telemetry"))
    ]
    assert len(told) <= 2
    assert {one.levelname for one in told} <= {"WARNING"}


def test_a_collector_that_never_answers_is_no_harm(environ):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        environ.setenv(
            "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"http://127.0.0.1:{silent.getsockname()[1]}/v1/traces"
        )
        environ.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "256")
        environ.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "64")
        with running() as server:
            server.gateway.fill(asked := describe("silent"))
            assert [outcome(lookup(server, asked)) for _ in range(600)] == ["hit"] * 600
            waiting = [one for one in threading.enumerate() if "Otel" in one.name]
            assert len(waiting) == 1
