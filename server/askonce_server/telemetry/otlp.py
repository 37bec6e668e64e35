"""Metrics pushed by OTLP, as the `OTEL_*` environment says: the same readings that a scrape gets."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from askonce_server.telemetry import names
from askonce_server.telemetry.metrics import BOUNDS_SECONDS, Distribution, Labels, Metric, Reading

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics.export import MetricExporter, MetricsData
    from opentelemetry.sdk.resources import Resource

ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_METRICS_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_EXPORTER: Final = "OTEL_METRICS_EXPORTER"
_DISABLED: Final = "OTEL_SDK_DISABLED"
_INTERVAL: Final = "OTEL_METRIC_EXPORT_INTERVAL"
_INTERVAL_MS: Final = 60_000
"""What OpenTelemetry says where nothing is said."""
_LEAST_INTERVAL_MS: Final = 100
_FAREWELL_SECONDS: Final = 3.0
"""What the last push may take when the server stops: a collector that is away holds up no restart."""
_log = logging.getLogger(__name__)


class Turns(Protocol):
    """Who of several workers pushes."""

    def take(self) -> bool:
        """Whether it is this process' turn."""

    def give_back(self) -> None:
        """Let another process have it."""


@dataclass(frozen=True, slots=True)
class Server:
    """What the metrics are of."""

    version: str
    instance: str
    """The same for every worker, and another after each start."""
    began_ns: int
    """When it started, in nanoseconds since 1970; the same for every worker."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """How the environment wants metrics pushed."""

    grpc: bool
    seconds: float
    """Between two pushes."""


def wanted(environ: Mapping[str, str]) -> Wanted | None:
    """Return how metrics are to be pushed; None where no endpoint is set, or they are turned off.

    What cannot be done is logged, and nothing is pushed: it is no reason not to serve.
    """
    if environ.get(_DISABLED, "").strip().lower() == "true":
        return None
    if not any(environ.get(name, "").strip() for name in ENDPOINTS):
        return None
    exporters = [name.strip() for name in environ.get(_EXPORTER, "").lower().split(",") if name.strip()]
    if exporters and "otlp" not in exporters:
        if exporters != ["none"]:
            _log.error("%s is %s: this server knows otlp and none", _EXPORTER, ",".join(exporters))
        return None
    protocol = next((said for name in _PROTOCOLS if (said := environ.get(name, "").strip())), "http/protobuf")
    if protocol not in ("http/protobuf", "grpc"):
        _log.error("metrics are not pushed: %s is no protocol of OTLP here; use http/protobuf", protocol)
        return None
    return Wanted(protocol == "grpc", _interval_ms(environ.get(_INTERVAL, "").strip()) / 1000)


def exporter_of(how: Wanted) -> MetricExporter | None:
    """Return the exporter, which reads the rest of the environment by itself; None when that cannot be."""
    try:
        return _grpc() if how.grpc else _http()
    except ImportError:
        _log.error("metrics are not pushed: OTLP by gRPC needs opentelemetry-exporter-otlp-proto-grpc")
    except Exception as fault:  # what stands in the environment may be a secret
        _log.error("metrics are not pushed: OTEL_EXPORTER_OTLP_* cannot be used (%s)", type(fault).__name__)
    return None


def _http() -> MetricExporter:
    from opentelemetry.exporter.otlp.proto.http import metric_exporter  # noqa: PLC0415 - heavy, seldom wanted

    logging.getLogger("opentelemetry.exporter").setLevel(logging.CRITICAL)  # a line for each try
    return metric_exporter.OTLPMetricExporter()


def _grpc() -> MetricExporter:
    from opentelemetry.exporter.otlp.proto.grpc import (  # type: ignore[import-not-found]  # noqa: PLC0415 - an extra
        metric_exporter,
    )

    exporter: MetricExporter = metric_exporter.OTLPMetricExporter()
    return exporter


class OtlpPush:
    """Pushes what `reading` reads every so many seconds, and once more at the end; one worker does at a time.

    Values are cumulative since the server began, as they are in a scrape.
    """

    def __init__(
        self,
        how: Wanted,
        exporter: MetricExporter,
        reading: Reading,
        server: Server,
        turns: Turns | None = None,
    ) -> None:
        self._seconds = how.seconds
        self._exporter = exporter
        self._reading = reading
        self._server = server
        self._turns = turns
        self._resource = resource_of(server)
        self._pushed = True
        """Whether the last push was taken."""
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="askonce-otlp", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Push once more, if it is this process' turn, and end; it takes a few seconds at most."""
        self._closed.set()
        if self._thread.is_alive():
            self._thread.join(_FAREWELL_SECONDS)
        try:
            self._exporter.shutdown()
        except Exception:
            _log.exception("the exporter of metrics could not be ended")
        if self._turns is not None:
            self._turns.give_back()

    def _run(self) -> None:
        while not self._closed.wait(self._seconds):
            self._push()
        self._push()

    def _push(self) -> None:
        if self._turns is not None and not self._turns.take():
            return
        try:
            pushed = self._exporter.export(self.data()).name == "SUCCESS"
        except Exception:
            _log.exception("metrics could not be pushed")
            return
        if pushed != self._pushed:  # said when it changes: the next push has it all
            self._pushed = pushed
            if pushed:
                _log.warning("metrics are pushed again")
            else:
                _log.warning("metrics cannot be pushed: the OTLP endpoint is away, or does not take them")

    def data(self) -> MetricsData:
        """Return the metrics as they are now, in the form that exporters take."""
        from opentelemetry.sdk.metrics import export  # noqa: PLC0415 - heavy, and seldom wanted
        from opentelemetry.sdk.util.instrumentation import InstrumentationScope  # noqa: PLC0415

        now_ns = time.time_ns()
        told = [
            export.Metric(metric.name, metric.help, metric.unit, self._values(metric, now_ns))
            for metric in self._reading()
            if metric.points or metric.distributions
        ]
        scope = InstrumentationScope(names.SCOPE, self._server.version)
        of_scope = export.ScopeMetrics(scope, told, "")
        return export.MetricsData([export.ResourceMetrics(self._resource, [of_scope], "")])

    def _values(self, metric: Metric, now_ns: int) -> Any:
        from opentelemetry.sdk.metrics import export  # noqa: PLC0415 - heavy, and seldom wanted

        cumulative = export.AggregationTemporality.CUMULATIVE
        if metric.distributions:
            return export.Histogram(
                [self._histogram(one, now_ns) for one in metric.distributions], cumulative
            )
        began_ns = self._server.began_ns
        points = [
            export.NumberDataPoint(_attributes(point.labels), began_ns, now_ns, point.value)
            for point in metric.points
        ]
        if metric.grows:
            return export.Sum(points, cumulative, is_monotonic=True)
        return export.Gauge(points)

    def _histogram(self, told: Distribution, now_ns: int) -> Any:
        from opentelemetry.sdk.metrics import export  # noqa: PLC0415 - heavy, and seldom wanted

        return export.HistogramDataPoint(
            attributes=_attributes(told.labels),
            start_time_unix_nano=self._server.began_ns,
            time_unix_nano=now_ns,
            count=sum(told.buckets),
            sum=told.sum_seconds,
            bucket_counts=told.buckets,
            explicit_bounds=BOUNDS_SECONDS,
            min=None,  # type: ignore[arg-type]  # the message has them optional, and counts know none
            max=None,  # type: ignore[arg-type]
        )


def _attributes(labels: Labels) -> Mapping[str, str]:
    """Return the labels that say something: an empty one is the same as none."""
    return {name: value for name, value in labels if value}


def resource_of(server: Server) -> Resource:
    """Return what the environment says of the service, with what it leaves out."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource  # noqa: PLC0415 - heavy, seldom wanted

    said = OTELResourceDetector().detect().attributes
    ours = {
        "service.name": names.SCOPE,
        "service.version": server.version,
        "service.instance.id": server.instance,  # the library's own is another in each worker
    }
    return Resource.create({name: value for name, value in ours.items() if name not in said})


def _interval_ms(said: str) -> int:
    if not said:
        return _INTERVAL_MS
    if not said.isascii() or not said.isdigit() or int(said) < _LEAST_INTERVAL_MS:
        _log.error(
            "%s is %r, which is no number of milliseconds from %d on: metrics are pushed every %d s",
            _INTERVAL,
            said,
            _LEAST_INTERVAL_MS,
            _INTERVAL_MS // 1000,
        )
        return _INTERVAL_MS
    return int(said)
