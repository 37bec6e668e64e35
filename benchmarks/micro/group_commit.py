"""Group commit through the whole server: `python -m benchmarks.micro.group_commit`.

64 Stores in flight against one at a time, over gRPC: Stores a commit, as GetStats counts them, and Stores a
second; once on the disk as it is, once with every commit slowed to 5 ms. Run with `slow CONFIG` it is the
slowed server itself.
"""

from __future__ import annotations

import itertools
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from askonce.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    decision_service_pb2,
    decision_service_pb2_grpc,
)
from askonce_server import app, assembly
from askonce_server.config.load import load
from askonce_server.store import open_store
from askonce_server.store.commits import commit_transaction
from benchmarks import workload
from benchmarks.sidecar import Server, module, started

IN_FLIGHT, STORES, ALONE, SLOW_SECONDS = 64, 3_000, 150, 0.005
_numbers = itertools.count()


def serve_slowly(config: str) -> int:
    """Serve like `askonce serve`, each commit 5 ms later."""

    def commit(transaction: Any) -> None:
        time.sleep(SLOW_SECONDS)
        commit_transaction(transaction)

    assembly.open_store = lambda settings, **more: open_store(settings, commit=commit, **more)
    return app.serve(load(config, os.environ))


def main() -> int:
    if sys.argv[1:2] == ["slow"]:
        return serve_slowly(sys.argv[2])
    for name, command in {
        "as it is": (),
        "5 ms a commit": module("benchmarks.micro.group_commit", "slow"),
    }.items():
        with started(*command) as server:
            alone = _measure(server, in_flight=1, stores=ALONE)
            together = _measure(server, in_flight=IN_FLIGHT, stores=STORES)
        print(
            f"{name:<15} {IN_FLIGHT} in flight: {together[0]:.1f} a commit, {together[1]:.0f} Stores/s;"
            f" one at a time: {alone[0]:.1f} and {alone[1]:.0f}; ratio {together[1] / alone[1]:.1f}"
        )
    return 0


def _measure(server: Server, *, in_flight: int, stores: int) -> tuple[float, float]:
    """Return Stores a commit and Stores a second."""
    requests = [workload.store("group", next(_numbers)) for _ in range(stores)]
    with (
        server.channel() as channel,
        server.channel(admin=True) as operator,
        ThreadPoolExecutor(in_flight) as pool,
    ):
        stub = decision_service_pb2_grpc.DecisionServiceStub(channel)
        stats = admin_service_pb2_grpc.AdminServiceStub(operator)
        before = stats.GetStats(admin_service_pb2.GetStatsRequest())
        began = time.perf_counter()
        for kept in pool.map(stub.Store, requests):
            if kept.outcome != decision_service_pb2.STORE_OUTCOME_STORED:
                raise SystemExit(f"not stored: {kept}")
        seconds = time.perf_counter() - began
        after = stats.GetStats(admin_service_pb2.GetStatsRequest())
    return (after.stores - before.stores) / (after.commits - before.commits), stores / seconds


if __name__ == "__main__":
    sys.exit(main())
