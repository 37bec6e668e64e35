"""A real OpenTelemetry Collector, and the spans that it received."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import urllib3
import yaml

from gateways import golang
from rpc.harness import free_port

SOURCE = Path(__file__).resolve().parent / "collector"
WAIT_SECONDS = 90.0
SERVER, CLIENT, INTERNAL = 2, 3, 1
"""SpanKind, as OTLP's JSON writes it."""


@dataclass(frozen=True, slots=True)
class Span:
    """One span, and whose it is."""

    service: str
    name: str
    kind: int
    trace: str
    id: str
    parent: str
    attributes: Mapping[str, Any]
    events: Sequence[str]
    error: bool


@cache
def built() -> Path:
    """Build the collector, once; what is compiled stays in Go's cache. Optimizing it would take longest."""
    binary = Path(mkdtemp(prefix="askonce-otel-")) / "collector"
    golang.run("go", "build", "-gcflags=all=-N -l", "-ldflags=-s -w", "-o", str(binary), ".", cwd=SOURCE)
    return binary


class Collector:
    """A collector under way."""

    def __init__(self, folder: Path) -> None:
        self.endpoint = f"http://127.0.0.1:{free_port()}"
        self._file = folder / "spans.jsonl"
        self._config = folder / "collector.yaml"
        receiver = {"protocols": {"http": {"endpoint": self.endpoint.removeprefix("http://")}}}
        document = {
            "receivers": {"otlp": receiver},
            "exporters": {"file": {"path": str(self._file), "flush_interval": "50ms"}},
            "service": {"pipelines": {"traces": {"receivers": ["otlp"], "exporters": ["file"]}}},
        }
        self._config.write_text(yaml.safe_dump(document))
        self._log = (folder / "collector.log").open("wb")
        command = [str(built()), "--config", f"file:{self._config}"]
        self._process = subprocess.Popen(command, stdout=self._log, stderr=self._log)

    def await_ready(self) -> None:
        """Wait until it takes spans."""

        def ready() -> bool:
            assert self._process.poll() is None, Path(self._log.name).read_text()
            try:
                answer = urllib3.request("POST", f"{self.endpoint}/v1/traces", json={}, retries=False)
            except urllib3.exceptions.HTTPError:
                return False
            return answer.status == 200

        _until(ready)

    def close(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(timeout=30)
        self._log.close()

    def trace(self, trace_id: str, enough: Callable[[Sequence[Span]], bool]) -> Sequence[Span]:
        """Return the spans of a trace, once there are enough."""
        found: list[Span] = []

        def there() -> bool:
            found[:] = [span for span in self.spans() if span.trace == trace_id]
            return enough(found)

        _until(there, lambda: "\n".join(map(str, found)))
        return found

    def spans(self) -> Iterator[Span]:
        """Yield every span that came; a line that is being written is not there yet."""
        lines = self._file.read_text().splitlines(keepends=True) if self._file.exists() else []
        for line in lines:
            if line.endswith("\n"):
                yield from _spans(json.loads(line))


@contextmanager
def collector(folder: Path) -> Iterator[Collector]:
    """A collector that is gone when the block ends."""
    started = Collector(folder)
    try:
        started.await_ready()
        yield started
    finally:
        started.close()


def _spans(received: Any) -> Iterator[Span]:
    for of in received.get("resourceSpans", ()):
        service = _attributes(of["resource"]).get("service.name", "")
        for scoped in of["scopeSpans"]:
            for span in scoped["spans"]:
                yield Span(
                    service=service,
                    name=span["name"],
                    kind=span["kind"],
                    trace=span["traceId"],
                    id=span["spanId"],
                    parent=span.get("parentSpanId", ""),
                    attributes=_attributes(span),
                    events=[event["name"] for event in span.get("events", ())],
                    error=span.get("status", {}).get("code") == 2,
                )


def _attributes(of: Any) -> dict[str, Any]:
    return {one["key"]: next(iter(one["value"].values()), None) for one in of.get("attributes", ())}


def _until(condition: Callable[[], bool], told: Callable[[], str] = str) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not condition():
        assert time.monotonic() < deadline, told()
        time.sleep(0.05)
