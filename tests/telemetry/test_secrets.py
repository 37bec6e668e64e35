"""Nothing that was said, and no key, is in what is told of a server: metrics, counts, logs."""

from __future__ import annotations

import os

import urllib3

from askonce.v1 import admin_service_pb2
from embed.fakes import says, serving
from faults.crew import wait_until
from faults.sidecar_process import sidecar
from rpc.harness import DEADLINE_SECONDS, Gateway, Place, free_port, short_folder
from rpc.semantic import semantic_rule
from rpc.test_promise_of_privacy import MARKS, torture, use_everything
from telemetry.collector import Collector

KEYS = {name: f"planted-{name}-0123456789abcdef" for name in ("admin", "fill", "embed", "push")}


def settings(url, address):
    far = {"kind": "http", "url": url, "model": "m", "dim": 4, "retries": 0, "api_key_env": "EMBED_KEY"}
    return {
        "admin": {"token_env": "ADMIN_KEY"},
        "fill_token_key_env": "FILL_KEY",
        "telemetry": {"listen": address},
        "embedders": {"far": far},
        "rules": [semantic_rule(embedder="far"), {"id": "rest"}],
    }


def told_of_a_server(collector):
    """Everything that is told of a server which was asked for the worst, and of one that fails inside."""
    address = f"127.0.0.1:{free_port()}"
    environ = {
        **{name: value for name, value in os.environ.items() if not name.startswith("OTEL_")},
        **{f"{name.upper()}_KEY": KEYS[name] for name in ("admin", "fill", "embed")},
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint,
        "OTEL_EXPORTER_OTLP_HEADERS": f"authorization=Bearer%20{KEYS['push']}",
        "OTEL_METRIC_EXPORT_INTERVAL": "100",
    }
    echoes = says(500, f"{MARKS['prompt']} {KEYS['embed']}".encode())
    with serving(*[echoes] * 1000) as far, short_folder() as folder:
        place = Place(folder, **settings(far.url, address))
        with sidecar(place, environ) as process:
            with process.wait_until_serving() as gateway:
                use_everything(gateway)
                torture(gateway)
            with Gateway(place.admin) as operator:
                token = [("authorization", f"Bearer {KEYS['admin']}")]
                asked = admin_service_pb2.GetStatsRequest()
                stats = operator.admin.GetStats(asked, timeout=DEADLINE_SECONDS, metadata=token)
            scrape = urllib3.request("GET", f"http://{address}/metrics", retries=False, timeout=30).data
            collector.status = 403
            wait_until(lambda: "metrics cannot be pushed" in process.log.read_text())
            collector.status = 200
            wait_until(lambda: "metrics are pushed again" in process.log.read_text())
            assert process.terminate() == 0
        log = process.log.read_bytes()
    sent = zip(collector.paths, collector.bodies, strict=True)
    push = b"".join(body for path, body in sent if path == "/v1/metrics")
    return {"stats": str(stats).encode(), "scrape": scrape, "log": log, "push": push}


def test_no_mark_and_no_key_is_told():
    collector = Collector()
    try:
        told = told_of_a_server(collector)
    finally:
        collector.close()
    sent = {name.lower(): value for name, value in collector.headers[-1].items()}
    assert sent["authorization"] == f"Bearer {KEYS['push']}"
    assert b"hit.exact" in told["stats"]
    assert b"askonce_decisions_total" in told["scrape"]
    assert b"askonce.decisions" in told["push"]
    for where, text in told.items():
        for name, mark in {**MARKS, **KEYS}.items():
            assert mark.encode() not in text, (where, name)
            assert mark.encode().hex().encode() not in text, (where, name)
