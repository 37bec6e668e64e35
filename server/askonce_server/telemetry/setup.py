"""Traces as the `OTEL_*` environment wants them; where it does not, nothing of OpenTelemetry is imported."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final

from askonce_server.telemetry.otlp import Server, resource_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
    from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

    from askonce_server.telemetry.tracing import Tracing

_ENDPOINTS: Final = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PROTOCOLS: Final = ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
_EXPORTERS: Final = "OTEL_TRACES_EXPORTER"
_PROPAGATORS: Final = "OTEL_PROPAGATORS"
_DISABLED: Final = "OTEL_SDK_DISABLED"
_FAREWELL_SECONDS: Final = 3.0
"""What handing over the last spans may take when the server stops: a collector that is away holds up none."""
_TELL_SECONDS: Final = 60.0
_log = logging.getLogger(__name__)


def tracing(environ: Mapping[str, str], server: Server) -> Tracing | None:
    """Return what follows calls, or None where nobody wants traces.

    What cannot be done is logged, and nothing is traced: it is no reason not to serve.
    """
    try:
        processors = [one for kind in _wanted(environ) if (one := _processor(kind, environ)) is not None]
        if not processors:
            return None
        return _tracing(environ, server, processors)
    except Exception as fault:  # what stands in the environment may be a secret
        _log.error("calls are not traced: OTEL_* cannot be used (%s)", type(fault).__name__)
        return None


def _wanted(environ: Mapping[str, str]) -> Sequence[str]:
    """Return which exporters to use: `otlp` where an endpoint is set, and what is asked for by name."""
    if environ.get(_DISABLED, "").strip().lower() == "true":
        return ()
    asked = [name.strip() for name in environ.get(_EXPORTERS, "").lower().split(",") if name.strip()]
    if not asked:
        return ("otlp",) if any(environ.get(name, "").strip() for name in _ENDPOINTS) else ()
    unknown = [name for name in asked if name not in ("otlp", "console", "none")]
    if unknown:
        _log.error("%s has %s: this server knows otlp, console and none", _EXPORTERS, ",".join(unknown))
    return [name for name in asked if name in ("otlp", "console")]


def _processor(kind: str, environ: Mapping[str, str]) -> SpanProcessor | None:
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - heavy, and seldom wanted

    exporter = _exporter(kind, environ)
    return None if exporter is None else BatchSpanProcessor(_quiet(exporter))


def _exporter(kind: str, environ: Mapping[str, str]) -> SpanExporter | None:
    """Return the exporter, which reads the rest of the environment by itself; None when that cannot be."""
    protocol = next((said for name in _PROTOCOLS if (said := environ.get(name, "").strip())), "http/protobuf")
    try:
        if kind == "console":
            return _console()
        if protocol == "grpc":
            return _grpc()
        if protocol == "http/protobuf":
            return _http()
        _log.error("calls are not traced: %s is no protocol of OTLP here; use http/protobuf", protocol)
    except ImportError:
        _log.error("calls are not traced: OTLP by gRPC needs opentelemetry-exporter-otlp-proto-grpc")
    except Exception as fault:  # what stands in the environment may be a secret
        _log.error("calls are not traced: OTEL_EXPORTER_OTLP_* cannot be used (%s)", type(fault).__name__)
    return None


def _console() -> SpanExporter:
    from opentelemetry.sdk.trace.export import ConsoleSpanExporter  # noqa: PLC0415 - seldom wanted

    return ConsoleSpanExporter()


def _http() -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.http import trace_exporter  # noqa: PLC0415 - heavy, seldom wanted

    return trace_exporter.OTLPSpanExporter()


def _grpc() -> SpanExporter:
    from opentelemetry.exporter.otlp.proto.grpc import (  # type: ignore[import-not-found]  # noqa: PLC0415 - an extra
        trace_exporter,
    )

    exporter: SpanExporter = trace_exporter.OTLPSpanExporter()
    return exporter


def _tracing(environ: Mapping[str, str], server: Server, processors: Sequence[SpanProcessor]) -> Tracing:
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - heavy, and seldom wanted

    from askonce_server.telemetry.spans import Spans  # noqa: PLC0415 - same
    from askonce_server.telemetry.tracing import Tracing  # noqa: PLC0415 - same

    provider = TracerProvider(
        resource=resource_of(server), shutdown_on_exit=False
    )  # reads OTEL_TRACES_SAMPLER
    propagators = environ.get(_PROPAGATORS, "").strip().lower() or "tracecontext"
    return Tracing(
        sampler=provider.sampler,
        ids=provider.id_generator,
        hand_over=[one.on_end for one in processors],
        close=lambda: _close(processors),
        spans=Spans(provider.resource, server.version, provider.id_generator.generate_span_id),
        follow="tracecontext" in propagators,
    )


def _close(processors: Sequence[SpanProcessor]) -> None:
    closing = [
        threading.Thread(target=one.shutdown, name="askonce-traces-end", daemon=True) for one in processors
    ]
    for one in closing:
        one.start()
    deadline = time.monotonic() + _FAREWELL_SECONDS
    for one in closing:
        one.join(max(0.0, deadline - time.monotonic()))


def _quiet(exporter: SpanExporter) -> SpanExporter:
    """Return `exporter` with one line a minute, at most, about what it cannot do."""
    from opentelemetry.sdk.trace import export  # noqa: PLC0415 - heavy, and seldom wanted

    for name in ("opentelemetry.exporter", "opentelemetry.sdk._shared_internal"):  # a line a batch, or a span
        logging.getLogger(name).setLevel(logging.CRITICAL)

    class Quiet(export.SpanExporter):
        lost, told = 0, -_TELL_SECONDS

        def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
            result = exporter.export(spans)
            if result is not export.SpanExportResult.SUCCESS:
                self.lost += len(spans)
                if time.monotonic() - self.told >= _TELL_SECONDS:
                    self.told = time.monotonic()
                    _log.warning("spans cannot be exported: %d are lost until now", self.lost)
            return result

        def shutdown(self) -> None:
            exporter.shutdown()

    return Quiet()
