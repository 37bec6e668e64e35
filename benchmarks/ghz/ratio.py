"""Lookup exact hit against the floor: `make bench-ratio`, or `python -m benchmarks.ghz.ratio [ROUNDS]`.

The floor is the same server with an empty handler that returns the same bytes. Rounds alternate A B B A,
since identical runs differ by some 15 % on a shared machine. What counts is the server's CPU time a call;
throughput is printed beside it. Ten rounds by default.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from benchmarks import workload
from benchmarks.ghz.tool import run
from benchmarks.sidecar import OUT, Server, module, started

CALLS = 10_000
WARM_UP = 3_000
Found: TypeAlias = dict[str, list[tuple[float, float]]]
"""Of each server, a pair a round: CPU time a call in microseconds, and calls per second."""


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    OUT.mkdir(exist_ok=True)
    with started() as ours:
        with ours.channel() as channel:
            response = workload.seed(channel, "hit", workload.QUESTIONS)
        (OUT / "floor.bin").write_bytes(response)
        with started(*module("benchmarks.ghz.floor", str(OUT / "floor.bin"))) as floor:
            found = compare({"ours": ours, "floor": floor}, rounds)
    (OUT / "ratio.json").write_text(json.dumps(found, indent=1))
    for name, measured in found.items():
        cpu, rate = ([one[at] for one in measured] for at in (0, 1))
        print(f"{name:<6} CPU a call {spread(cpu, 'us')}   calls/s {spread(rate, '')}")
    pairs = list(zip(found["floor"], found["ours"], strict=True))
    print(f"CPU ratio, floor / ours:        {spread([floor[0] / ours[0] for floor, ours in pairs], '', 3)}")
    print(f"throughput ratio, ours / floor: {spread([ours[1] / floor[1] for floor, ours in pairs], '', 3)}")
    return 0


def compare(servers: Mapping[str, Server], rounds: int) -> Found:
    """Put exact hits to two servers in turn. Exits when a call fails."""
    hits = (workload.lookup("hit", number) for number in range(workload.QUESTIONS))
    data = workload.write(OUT / "exact-hit.bin", hits)
    for server in servers.values():
        run("exact-hit", server.address, data=data, total=WARM_UP, keep="warm-up")
    found: Found = {name: [] for name in servers}
    for number in range(rounds):
        order = list(servers) if number % 2 == 0 else list(reversed(servers))
        for name in order:
            found[name].append(_measure(servers[name], data=data, keep=f"{name}-{number}"))
    return found


def spread(values: Sequence[float], unit: str, digits: int = 0) -> str:
    """Return the median, with the least and the greatest in brackets."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return f"{middle:.{digits}f} {unit} [{low:.{digits}f} .. {high:.{digits}f}]".replace("  ", " ")


def _measure(server: Server, *, data: Path, keep: str) -> tuple[float, float]:
    before = server.cpu_seconds()
    report = run("exact-hit", server.address, data=data, total=CALLS, keep=keep)
    if report.failed:
        sys.exit(f"{report.failed} calls failed: {report.codes}")
    return (server.cpu_seconds() - before) / report.calls * 1e6, report.per_second


if __name__ == "__main__":
    sys.exit(main())
