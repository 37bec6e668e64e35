"""Natural batching in the Go client against single calls: exact hits for each second of the server's CPU.

    python -m benchmarks.gateways.coalescing [ROUNDS]

Rounds of the two sides alternate, A B B A. With one Lookup in flight nothing gathers: there p50 must stay the
same.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.sidecar import ROOT, Server, started

LOAD = "./internal/load"
MANY = 256
SECONDS = 1.0


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    with tempfile.TemporaryDirectory() as folder:
        program = str(Path(folder) / "load")
        subprocess.run(["go", "build", "-o", program, LOAD], cwd=ROOT / "client" / "go", check=True)
        with started() as server:
            many, one = [], []
            for number in range(rounds):
                order = (False, True) if number % 2 == 0 else (True, False)
                many.append({on: measured(server, program, MANY, coalescing=on) for on in order})
                one.append({on: measured(server, program, 1, coalescing=on) for on in order})
    ratios = [sides[True]["hits_per_cpu_second"] / sides[False]["hits_per_cpu_second"] for sides in many]
    rates = [sides[True]["hits"] / sides[False]["hits"] for sides in many]
    waits = [sides[True]["p50_us"] / sides[False]["p50_us"] for sides in one]
    for on in (False, True):
        name = "gathered" if on else "single"
        median = statistics.median(sides[on]["hits_per_cpu_second"] for sides in many)
        wall = statistics.median(sides[on]["hits"] / sides[on]["seconds"] for sides in many)
        p50 = statistics.median(sides[on]["p50_us"] for sides in many)
        rates_told = f"{median:7.0f} hits a CPU second, {wall:6.0f} a second"
        print(f"{name:9} {MANY} in flight: {rates_told}, p50 {p50:.0f} us")
    told("hits a CPU second, gathered / single", ratios)
    told("hits a second, gathered / single", rates)
    told("p50 with one in flight, gathering on / off", waits)


def measured(server: Server, program: str, in_flight: int, *, coalescing: bool) -> dict[str, Any]:
    """Run the load once."""
    flags = [f"-target={server.address}", f"-in-flight={in_flight}", f"-seconds={SECONDS}"]
    flags += [f"-coalescing={str(coalescing).lower()}", f"-pid={server.process.pid}"]
    done = subprocess.run([program, *flags], check=True, stdout=subprocess.PIPE)
    result: dict[str, Any] = json.loads(done.stdout)
    if result["others"]:
        raise SystemExit(f"{result['others']} Lookups were no hits")
    return {**result, "hits_per_cpu_second": result["hits"] / result["cpu_seconds"]}


def told(what: str, ratios: list[float]) -> None:
    """Print the median of ratios and their range."""
    print(f"{what}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
