"""BatchLookup of 64 against 64 single Lookups: `python -m benchmarks.micro.batch`.

Both ask a real sidecar over its socket, one client thread, one connection; singles also with 32 in flight.
Each round asks the same 64 questions in each way, in turn.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from askonce.v1 import decision_pb2, decision_service_pb2, decision_service_pb2_grpc
from benchmarks import workload
from benchmarks.sidecar import started

SIZE, ROUNDS, IN_FLIGHT = 64, 30, 32


def main() -> None:
    with started() as server, server.channel() as channel:
        workload.seed(channel, "hit", workload.QUESTIONS)
        stub = decision_service_pb2_grpc.DecisionServiceStub(channel)
        items = [workload.lookup("hit", number) for number in range(SIZE)]
        batch = decision_service_pb2.BatchLookupRequest(items=items)
        with ThreadPoolExecutor(IN_FLIGHT) as pool:
            ways: dict[str, Callable[[], int]] = {
                "batch": lambda: sum(_hit(one.decision) for one in stub.BatchLookup(batch).results),
                "single, one at a time": lambda: sum(_hit(stub.Lookup(item).decision) for item in items),
                f"single, {IN_FLIGHT} in flight": lambda: sum(
                    pool.map(lambda item: _hit(stub.Lookup(item).decision), items)
                ),
            }
            rates: dict[str, list[float]] = {name: [] for name in ways}
            for _ in range(ROUNDS):
                for name, way in ways.items():
                    began = time.perf_counter()
                    if way() != SIZE:
                        raise SystemExit(f"{name}: not every lookup hit")
                    rates[name].append(SIZE / (time.perf_counter() - began))
    for name, values in rates.items():
        print(
            f"{name:<24}{statistics.median(values):>8.0f} lookups/s [{min(values):.0f} .. {max(values):.0f}]"
        )
    for name in list(ways)[1:]:
        ratios = [one / other for one, other in zip(rates["batch"], rates[name], strict=True)]
        print(
            f"batch / {name}: {statistics.median(ratios):.1f} times [{min(ratios):.1f} .. {max(ratios):.1f}]"
        )


def _hit(decision: decision_pb2.Decision) -> bool:
    return decision.outcome == decision_pb2.OUTCOME_HIT


if __name__ == "__main__":
    main()
