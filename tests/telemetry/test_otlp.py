"""Metrics by OTLP: what a collector receives is what a scrape tells, and no collector is any harm."""

from __future__ import annotations

import time

import pytest
from opentelemetry.proto.metrics.v1 import metrics_pb2

from askonce_server.telemetry import otlp
from askonce_server.telemetry.otlp import Wanted, exporter_of, wanted
from faults.sidecar_process import sidecar
from rpc.harness import Place, running
from rpc.requests import describe, turns
from telemetry.collector import Collector, attributes, pushed, scraped

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
METRICS_ENDPOINT = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"


@pytest.fixture
def collector():
    started = Collector()
    yield started
    started.close()


@pytest.fixture
def environ(monkeypatch, collector):
    """An environment that pushes to the collector ten times a second."""
    monkeypatch.setenv(ENDPOINT, collector.endpoint)
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "100")
    return monkeypatch


def use(server):
    gateway = server.gateway
    gateway.fill(describe("acme"), cost_usd=0.125)
    for _ in range(3):
        gateway.ask(describe("acme"))
    gateway.ask(describe("acme", turns("new")))
    gateway.ask(describe("acme"), mode=2)


def test_a_push_is_what_a_scrape_tells(environ, collector):
    with running(telemetry={"listen": "127.0.0.1:0"}) as server:
        use(server)
        push = pushed(collector.wait(lambda _: True))
        scrape = scraped(f"127.0.0.1:{server.sidecar.web.port}")
    assert push == {name: value for name, value in scrape.items() if name in push}
    left_out = {name for name, _ in set(scrape) - set(push)}
    assert {name for name in left_out if not name.startswith("askonce_")} == left_out
    decision = {"rule": "default", "outcome": "hit", "kind": "exact"}
    assert push["askonce_decisions_total", frozenset(decision.items())] == 3
    assert push["askonce_cost_avoided_usd_total", frozenset({("rule", "default")})] == 0.375


def test_values_are_cumulative_from_the_start_on(environ, collector):
    before = time.time_ns()
    with running() as server:
        use(server)
        first, second = (collector.wait(lambda _: True) for _ in range(2))
    assert pushed(first) == pushed(second)
    metrics = {one.name: one for one in second.resource_metrics[0].scope_metrics[0].metrics}
    decisions = metrics["askonce.decisions"].sum
    assert decisions.is_monotonic
    assert decisions.aggregation_temporality == metrics_pb2.AGGREGATION_TEMPORALITY_CUMULATIVE
    point = decisions.data_points[0]
    assert before <= point.start_time_unix_nano < point.time_unix_nano <= time.time_ns()
    assert metrics["askonce.entry.count"].WhichOneof("data") == "gauge"
    durations = metrics["askonce.decision.duration"].histogram.data_points[0]
    assert not durations.HasField("min")
    assert not durations.HasField("max")


def test_the_environment_says_what_the_service_is(environ, collector):
    with running():
        said = attributes(collector.wait(lambda _: True))
    assert said["service.name"] == "askonce"
    assert said["service.version"]
    assert len(said["service.instance.id"]) == 32
    environ.setenv("OTEL_SERVICE_NAME", "chat-cache")
    environ.setenv(
        "OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=staging,service.instance.id=pod-7"
    )
    environ.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x")
    environ.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    with running():
        said = attributes(collector.wait(lambda push: attributes(push)["service.name"] != "askonce"))
    assert said["service.name"] == "chat-cache"
    assert said["deployment.environment.name"] == "staging"
    assert said["service.instance.id"] == "pod-7"
    assert collector.paths[-1] == "/v1/metrics"
    sent = {name.lower(): value for name, value in collector.headers[-1].items()}
    assert (sent["authorization"], sent["content-encoding"]) == ("Bearer x", "gzip")


def test_what_was_counted_last_is_pushed_at_the_end(environ, collector):
    environ.setenv("OTEL_METRIC_EXPORT_INTERVAL", "600000")
    with running() as server:
        use(server)
    assert len(collector.received) == 1
    hits = frozenset({("rule", "default"), ("outcome", "hit"), ("kind", "exact")})
    assert pushed(collector.received[0])["askonce_decisions_total", hits] == 3


def test_a_collector_that_refuses_or_is_away_is_no_harm(environ, collector, caplog):
    collector.status = 400
    with running() as server:
        use(server)
        deadline = time.monotonic() + 60
        while len(collector.paths) < 3:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        collector.status = 200
        push = pushed(collector.wait(lambda _: True))
        hits = frozenset({("rule", "default"), ("outcome", "hit"), ("kind", "exact")})
        assert push["askonce_decisions_total", hits] == 3
    environ.setenv(ENDPOINT, "http://127.0.0.1:1")
    with running() as server:
        use(server)
        assert server.stats().hits == 3


@pytest.mark.parametrize(
    ("environ", "how"),
    [
        ({}, None),
        ({ENDPOINT: " "}, None),
        ({ENDPOINT: "http://c:4318"}, Wanted(grpc=False, seconds=60)),
        ({METRICS_ENDPOINT: "http://c:4318/x"}, Wanted(grpc=False, seconds=60)),
        ({ENDPOINT: "x", "OTEL_METRIC_EXPORT_INTERVAL": "5000"}, Wanted(grpc=False, seconds=5)),
        ({ENDPOINT: "x", "OTEL_SDK_DISABLED": "TRUE"}, None),
        ({ENDPOINT: "x", "OTEL_METRICS_EXPORTER": "none"}, None),
        ({ENDPOINT: "x", "OTEL_METRICS_EXPORTER": "otlp"}, Wanted(grpc=False, seconds=60)),
        ({ENDPOINT: "x", "OTEL_METRICS_EXPORTER": "console, otlp"}, Wanted(grpc=False, seconds=60)),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, None),
        ({ENDPOINT: "x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, Wanted(grpc=True, seconds=60)),
        (
            {
                ENDPOINT: "x",
                "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
                "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "http/protobuf",
            },
            Wanted(grpc=False, seconds=60),
        ),
    ],
)
def test_the_environment_says_whether_and_how(environ, how, caplog):
    assert wanted(environ) == how
    assert caplog.messages == []


@pytest.mark.parametrize(
    ("environ", "how", "told"),
    [
        ({"OTEL_METRICS_EXPORTER": "prometheus"}, None, "OTEL_METRICS_EXPORTER is prometheus"),
        ({"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, None, "http/json is no protocol of OTLP here"),
        (
            {"OTEL_METRIC_EXPORT_INTERVAL": "1s"},
            Wanted(grpc=False, seconds=60),
            "is '1s', which is no number",
        ),
        ({"OTEL_METRIC_EXPORT_INTERVAL": "0"}, Wanted(grpc=False, seconds=60), "is '0', which is no number"),
    ],
)
def test_what_the_environment_cannot_mean_is_said(environ, how, told, caplog):
    assert wanted({ENDPOINT: "x", **environ}) == how
    assert told in caplog.text


def broken():
    raise ValueError("planted")


def test_an_exporter_that_cannot_be_made_is_said_without_its_settings(monkeypatch, caplog):
    assert exporter_of(Wanted(grpc=True, seconds=1)) is None
    assert "OTLP by gRPC needs opentelemetry-exporter-otlp-proto-grpc" in caplog.text
    monkeypatch.setattr(otlp, "_http", broken)
    assert exporter_of(Wanted(grpc=False, seconds=1)) is None
    assert "OTEL_EXPORTER_OTLP_* cannot be used" in caplog.text
    assert all("planted" not in record.getMessage() for record in caplog.records)


def test_headers_that_cannot_be_read_are_not_told(environ, tmp_path):
    """The library's own warning shows them, and they hold the collector's key."""
    environ.setenv("OTEL_EXPORTER_OTLP_HEADERS", "planted-key-without-a-name")
    place = Place(tmp_path)
    with sidecar(place) as process:
        process.wait_until_serving().close()
        assert process.terminate() == 0
        assert "planted" not in process.log.read_text()
