"""Metrics over HTTP: the same counts as GetStats, in the text format of Prometheus."""

from __future__ import annotations

import socket

import pytest
import urllib3
from prometheus_client.parser import text_string_to_metric_families

from askonce_server.rpc.listen import ListenError
from rpc.answers import answer
from rpc.harness import Place, Running, free_port
from rpc.replies import filed
from rpc.requests import describe, turns

LABELS = ("rule", "outcome", "kind", "reason", "le")
RULES = [{"id": "first", "match": {"scope": {"tenant": "first"}}}, {"id": "rest"}]


@pytest.fixture
def watched(start):
    return start(rules=RULES, telemetry={"listen": "127.0.0.1:0"})


def get(server: Running, path: str, **headers: str) -> urllib3.BaseHTTPResponse:
    assert server.sidecar.web is not None
    url = f"http://127.0.0.1:{server.sidecar.web.port}{path}"
    return urllib3.request("GET", url, headers=headers or None, retries=False, timeout=30)


def scraped(server: Running) -> dict[tuple[str, ...], float]:
    """Every sample, by its name and the values of its labels in the order of LABELS."""
    text = get(server, "/metrics").data.decode()
    return {
        (sample.name, *(sample.labels[name] for name in LABELS if name in sample.labels)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_scrape_tells_what_getstats_tells(watched):
    gateway = watched.gateway
    gateway.fill(describe("first"), cost_usd=0.25)
    for _ in range(3):
        gateway.ask(describe("first"))
    gateway.ask(describe("second", turns("new")))
    gateway.ask(describe("second"), mode=2)
    gateway.ask(describe("second"), mode=3)
    assert filed(gateway.store(describe("second"), answer(status_code=500))) == "upstream_error"
    told, stats = scraped(watched), watched.stats()
    assert told["askonce_decisions_total", "first", "hit", "exact", ""] == 3
    assert told["askonce_decisions_total", "first", "miss", "", "no_entry"] == 1
    assert told["askonce_decisions_total", "rest", "miss", "", "no_entry"] == 1
    assert told["askonce_decisions_total", "rest", "miss", "", "refresh"] == 1
    assert told["askonce_decisions_total", "rest", "bypass", "", "caller_bypass"] == 1
    decisions = sum(value for name, value in told.items() if name[0] == "askonce_decisions_total")
    assert decisions == stats.decisions == 7
    assert told["askonce_stores_total", "first"] == stats.stores == 1
    assert told["askonce_refusals_total", "rest", "upstream_error"] == stats.refusals == 1
    assert told["askonce_cost_avoided_usd_total", "first"] == stats.cost_avoided_usd == 0.75
    assert told["askonce_entry_count",] == stats.entries == 2
    assert told["askonce_store_limit_bytes",] == 64 << 20
    assert told["askonce_store_up",] == 1


def test_durations_are_a_histogram(watched):
    for _ in range(5):
        watched.gateway.ask(describe("first"))
    told = scraped(watched)
    name = "askonce_decision_duration_seconds"
    buckets = {key[3]: value for key, value in told.items() if key[0] == f"{name}_bucket"}
    assert told[f"{name}_count", "first", "miss"] == buckets["+Inf"] == 5
    assert list(buckets.values()) == sorted(buckets.values())
    assert float(next(iter(buckets))) == 0.00005
    assert 0 < told[f"{name}_sum", "first", "miss"] < 5 * 30


def test_health_says_whether_calls_may_be_sent(watched):
    assert get(watched, "/healthz").status == 200
    assert get(watched, "/readyz").status == 200
    watched.sidecar.health.draining()
    ready = get(watched, "/readyz")
    assert (ready.status, ready.data) == (503, b"starting or draining\n")


@pytest.mark.parametrize("path", ["/no-such-page", "/metrics/", "/../etc/passwd", "/%2e%2e/x", "/metrics%00"])
def test_other_paths_are_not_there(watched, path):
    assert get(watched, path).status in (400, 404)


def test_a_scraper_may_come_by_any_name_and_a_browser_by_none_but_ours(watched):
    assert get(watched, "/metrics", Host="askonce.monitoring.svc:9464").status == 200
    assert get(watched, "/other", Host="evil.example").status == 421
    assert get(watched, "/other", Host="localhost:1").status == 404


def test_a_method_that_is_not_meant_is_refused(watched):
    url = f"http://127.0.0.1:{watched.sidecar.web.port}/metrics"
    assert urllib3.request("POST", url, body=b"x", retries=False).status == 405
    head = urllib3.request("HEAD", url, retries=False)
    assert (head.status, head.data) == (200, b"")
    assert int(head.headers["Content-Length"]) > 100


def test_an_address_that_is_taken_is_named(tmp_path):
    port = free_port()
    with socket.create_server(("127.0.0.1", port)):
        place = Place(tmp_path, telemetry={"listen": f"127.0.0.1:{port}"})
        with pytest.raises(ListenError, match=rf"telemetry.listen: cannot listen on 127.0.0.1:{port}"):
            Running(place)


def test_a_scrape_survives_a_store_that_cannot_be_used(watched):
    watched.gateway.ask(describe("first"))
    watched.sidecar.store.close()
    told = scraped(watched)
    assert told["askonce_store_up",] == 0
    assert told["askonce_decisions_total", "first", "miss", "", "no_entry"] == 1
    assert ("askonce_entry_count",) not in told
