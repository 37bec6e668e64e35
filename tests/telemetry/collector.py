"""A collector that keeps what it is sent, and the samples of a scrape in the same form."""

from __future__ import annotations

import gzip
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import urllib3
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from prometheus_client.parser import text_string_to_metric_families

_UNITS = {"s": "_seconds", "By": "_bytes", "{USD}": "_usd"}


class Collector:
    """Takes OTLP over HTTP at `endpoint`; answers `status`."""

    def __init__(self):
        self.traces = []
        self.received, self.headers, self.paths, self.bodies = [], [], [], []
        self.status = 200
        outer = self

        class Receiver(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.headers.get("Content-Encoding") == "gzip":
                    body = gzip.decompress(body)
                if outer.status == 200 and self.path == "/v1/traces":
                    outer.traces.append(ExportTraceServiceRequest.FromString(body))
                elif outer.status == 200:
                    outer.received.append(ExportMetricsServiceRequest.FromString(body))
                outer.paths.append(self.path)
                outer.headers.append(dict(self.headers))
                outer.bodies.append(body)
                self.send_response(outer.status)
                self.end_headers()
                self.wfile.write(ExportMetricsServiceResponse().SerializeToString())

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
        self.endpoint = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def spans(self):
        """Every span that came, as (span, resource attributes, scope)."""
        return [
            (span, {one.key: one.value.string_value for one in of.resource.attributes}, scoped.scope)
            for request in list(self.traces)
            for of in request.resource_spans
            for scoped in of.scope_spans
            for span in scoped.spans
        ]

    def wait(self, what, seconds=60):
        """Return the first push from now on that `what` is true of."""
        seen, deadline = len(self.received), time.monotonic() + seconds
        while True:
            for push in self.received[seen:]:
                if what(push):
                    return push
            seen = max(seen, len(self.received) - 1)
            assert time.monotonic() < deadline, self.paths[-5:]
            time.sleep(0.01)


def pushed(request):
    """Every value of a push, by the name that Prometheus has for it and its labels."""
    values = {}
    for of_resource in request.resource_metrics:
        for of_scope in of_resource.scope_metrics:
            for metric in of_scope.metrics:
                name = metric.name.replace(".", "_") + _UNITS.get(metric.unit, "")
                kind = metric.WhichOneof("data")
                for point in getattr(metric, kind).data_points:
                    labels = frozenset((one.key, one.value.string_value) for one in point.attributes)
                    if kind == "histogram":
                        values[f"{name}_count", labels] = float(point.count)
                        values[f"{name}_sum", labels] = point.sum
                        values |= _buckets(name, labels, point)
                    else:
                        values[f"{name}_total" if kind == "sum" else name, labels] = point.as_double or float(
                            point.as_int
                        )
    return values


def _buckets(name, labels, point):
    passed, told = 0, {}
    for bound, inside in zip([*point.explicit_bounds, float("inf")], point.bucket_counts, strict=True):
        passed += inside
        told[f"{name}_bucket", labels | {("le", _bound(bound))}] = float(passed)
    return told


def _bound(bound):
    return f"{float(bound):.6g}"


def scraped(address):
    """Every sample of a scrape in the same form."""
    text = urllib3.request("GET", f"http://{address}/metrics", retries=False, timeout=30).data.decode()
    values = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            labels = {
                (name, _bound(value) if name == "le" else value)
                for name, value in sample.labels.items()
                if value
            }
            values[sample.name, frozenset(labels)] = sample.value
    return values


def attributes(request):
    """What a push says of its resource."""
    return {
        one.key: one.value.string_value for of in request.resource_metrics for one in of.resource.attributes
    }
