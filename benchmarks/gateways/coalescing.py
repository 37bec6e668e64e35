"""Natural batching in a client against single calls: exact hits for each second of the server's CPU.

    python -m benchmarks.gateways.coalescing [--client go|node] [ROUNDS]

Rounds of the two sides alternate, A B B A. With one Lookup in flight nothing gathers: there p50 must stay the
same.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.sidecar import ROOT, Server, started

GO, NODE = ROOT / "client" / "go", ROOT / "client" / "node"
MANY = 256
SECONDS = 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--client", choices=["go", "node"], default="go")
    parser.add_argument("rounds", nargs="?", type=int, default=10)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load = node_load() if asked.client == "node" else go_load(Path(folder))
        with started() as server:
            many, one = [], []
            for number in range(asked.rounds):
                order = (False, True) if number % 2 == 0 else (True, False)
                many.append({on: measured(server, load, MANY, coalescing=on) for on in order})
                one.append({on: measured(server, load, 1, coalescing=on) for on in order})
    tell(many, one)


def go_load(folder: Path) -> list[str]:
    """Build the load of the Go client; return its command."""
    program = str(folder / "load")
    subprocess.run(["go", "build", "-o", program, "./internal/load"], cwd=GO, check=True)
    return [program]


def node_load() -> list[str]:
    """Build the load of the Node client; return its command."""
    if not (NODE / "node_modules").exists():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund"], cwd=NODE, check=True)
    subprocess.run(["npm", "run", "--silent", "build:tests"], cwd=NODE, check=True)
    return ["node", str(NODE / "build" / "bench" / "load.js")]


def measured(server: Server, load: list[str], in_flight: int, *, coalescing: bool) -> dict[str, Any]:
    """Run the load once."""
    flags = [f"--target={server.address}", f"--in-flight={in_flight}", f"--seconds={SECONDS}"]
    flags += [f"--coalescing={str(coalescing).lower()}", f"--pid={server.process.pid}"]
    done = subprocess.run([*load, *flags], check=True, stdout=subprocess.PIPE)
    result: dict[str, Any] = json.loads(done.stdout)
    if result["others"]:
        raise SystemExit(f"{result['others']} Lookups were no hits")
    return {**result, "hits_per_cpu_second": result["hits"] / result["cpu_seconds"]}


def tell(many: list[dict[bool, Any]], one: list[dict[bool, Any]]) -> None:
    """Print the medians of each side, and the ratios of the two in each round."""
    for on in (False, True):
        name = "gathered" if on else "single"
        median = statistics.median(sides[on]["hits_per_cpu_second"] for sides in many)
        wall = statistics.median(sides[on]["hits"] / sides[on]["seconds"] for sides in many)
        p50 = statistics.median(sides[on]["p50_us"] for sides in many)
        rates_told = f"{median:7.0f} hits a CPU second, {wall:6.0f} a second"
        print(f"{name:9} {MANY} in flight: {rates_told}, p50 {p50:.0f} us")
    ratios = [sides[True]["hits_per_cpu_second"] / sides[False]["hits_per_cpu_second"] for sides in many]
    rates = [sides[True]["hits"] / sides[False]["hits"] for sides in many]
    waits = [sides[True]["p50_us"] / sides[False]["p50_us"] for sides in one]
    told("hits a CPU second, gathered / single", ratios)
    told("hits a second, gathered / single", rates)
    told("p50 with one in flight, gathering on / off", waits)


def told(what: str, ratios: list[float]) -> None:
    """Print the median of ratios and their range."""
    print(f"{what}: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
