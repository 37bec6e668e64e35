"""What tracing costs: `python benchmarks/micro/tracing.py [--baseline WORKTREE]`.

Exact hits over gRPC, one caller after the other, on servers of their own: without traces, with one call in a
hundred sampled, with every call sampled, and, where a worktree of an earlier version is given, that version.
Rounds alternate their order (A B B A), so that what else the machine does falls on all alike. Prints the CPU
time of the server for one Lookup, its spans' way to a collector included, and the ratios to the first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import patch

from askonce.v1 import decision_service_pb2, decision_service_pb2_grpc
from benchmarks import workload
from benchmarks.sidecar import Server, started

ROUNDS, LOOKUPS, WARM = 10, 2_000, 1_500
SAMPLERS = {"1 %": "0.01", "every call": "1"}


class Sink(BaseHTTPRequestHandler):
    """Takes spans and forgets them."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """Take what is sent."""
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def sink() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Sink)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def environment(endpoint: str, ratio: str) -> Mapping[str, str]:
    return {
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{endpoint}/v1/traces",
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": ratio,
    }


class Load:
    """One caller of one server, which asks for the same answer again and again."""

    def __init__(self, server: Server, stack: ExitStack) -> None:
        self._server = server
        self._spent_ns = 0
        channel = stack.enter_context(server.channel())
        self._stub = decision_service_pb2_grpc.DecisionServiceStub(channel)
        self._request = workload.lookup("tracing", 1)
        token = self._stub.Lookup(self._request).decision.fill_token
        response = workload.answer("tracing", 1)
        self._stub.Store(decision_service_pb2.StoreRequest(fill_token=token, response=response))
        self.round(WARM)

    def round(self, lookups: int = LOOKUPS) -> float:
        """Return the server's CPU time for one Lookup, in microseconds: all since the last round.

        Spans are sent every five seconds, which may be while another server has its turn.
        """
        for _ in range(lookups):
            if self._stub.Lookup(self._request).decision.outcome != 1:
                raise SystemExit("no hit")
        before, self._spent_ns = self._spent_ns, self._cpu_ns()
        return (self._spent_ns - before) / lookups / 1e3

    def _cpu_ns(self) -> int:
        """Return what the scheduler gave the server's threads so far: clock ticks would be too coarse."""
        tasks = Path(f"/proc/{self._server.process.pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--baseline", type=Path, help="a worktree of the version to compare with")
    asked = parser.parse_args()
    with ExitStack() as stack:
        endpoint = stack.enter_context(sink())
        kinds: dict[str, Mapping[str, str]] = {}
        if asked.baseline is not None:
            before = asked.baseline.resolve()
            kinds["before"] = {"PYTHONPATH": f"{before}/server:{before}/client/python"}
        kinds |= {"off": {}} | {name: environment(endpoint, ratio) for name, ratio in SAMPLERS.items()}
        loads = {}
        for name, environ in kinds.items():
            with patch.dict(os.environ, environ):
                loads[name] = Load(stack.enter_context(started()), stack)
        report(measure(loads))


def measure(loads: Mapping[str, Load]) -> Mapping[str, Sequence[float]]:
    took: dict[str, list[float]] = {name: [] for name in loads}
    for number in range(ROUNDS):
        for name in loads if number % 2 == 0 else reversed(loads):
            took[name].append(loads[name].round())
    return took


def report(took: Mapping[str, Sequence[float]]) -> None:
    first = next(iter(took))
    print(f"{ROUNDS} rounds of {LOOKUPS} Lookups: CPU time of the server for one")
    print(f"{'':12}{'median':>10}{'least':>10}{'most':>10}{'ratio':>8}")
    for name, rounds in took.items():
        ratio = statistics.median(a / b for a, b in zip(rounds, took[first], strict=True))
        told = (statistics.median(rounds), min(rounds), max(rounds))
        print(f"{name:12}" + "".join(f"{one:8.1f}us" for one in told) + f"{ratio:8.3f}")


if __name__ == "__main__":
    main()
