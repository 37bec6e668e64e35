"""The load test, `make ghz`: a real sidecar on a temporary store under ghz, one row a load.

Prints requests per second, p50, p95, p99 and the share of codes other than OK; exits with 1 when there is
any.
"""

from __future__ import annotations

import sys

from askonce.v1 import decision_service_pb2
from benchmarks import workload
from benchmarks.ghz.tool import Report, run
from benchmarks.sidecar import OUT, started

BATCH = 64
_MISSES, _STORES, _BATCHES = 20_000, 5_000, 200


def main() -> int:
    with started() as server:
        with server.channel() as channel:
            workload.seed(channel, "hit", workload.QUESTIONS)
        hits = [workload.lookup("hit", number) for number in range(workload.QUESTIONS)]
        loads = {
            "exact-hit": hits,
            "miss": (workload.lookup("miss", number) for number in range(_MISSES)),
            "store": (workload.store("store", number) for number in range(_STORES)),
            "batch-64": (_batch(hits, number) for number in range(_BATCHES)),
        }
        reports = {}
        for name, messages in loads.items():
            data = workload.write(OUT / f"{name}.bin", messages)
            reports[name] = run(name, server.address, data=data)
    _print(reports)
    return 1 if any(report.failed for report in reports.values()) else 0


def _batch(
    hits: list[decision_service_pb2.LookupRequest], number: int
) -> decision_service_pb2.BatchLookupRequest:
    start = number * BATCH
    items = [hits[(start + at) % len(hits)] for at in range(BATCH)]
    return decision_service_pb2.BatchLookupRequest(items=items)


def _print(reports: dict[str, Report]) -> None:
    print(f"{'load':<12}{'calls':>8}{'calls/s':>10}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'non-OK':>9}")
    for name, one in reports.items():
        share = one.failed / one.calls if one.calls else 1.0
        print(
            f"{name:<12}{one.calls:>8}{one.per_second:>10.0f}{one.p50:>9.2f}{one.p95:>9.2f}{one.p99:>9.2f}"
            f"{share:>9.2%}"
        )
    batch = reports["batch-64"]
    print(f"a batch holds {BATCH} lookups: {batch.per_second * BATCH:.0f} lookups/s")


if __name__ == "__main__":
    sys.exit(main())
