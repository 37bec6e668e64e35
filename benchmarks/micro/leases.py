"""What a lease costs: `python benchmarks/micro/leases.py`.

Prints how long it takes to take one and let go of it, in one process and where several share them, and how
soon another process hears of it.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from askonce_server.store import LocalLeases, SharedLeases

NOW_MS, UNTIL_MS = 1_700_000_000_000, 1_700_000_060_000
ROUNDS = 2_000
OTHER = """
import sys, time
from pathlib import Path
from askonce_server.store import SharedLeases
leases = SharedLeases(Path(sys.argv[1]))
for line in sys.stdin:
    mark, lease = leases.mark(), line.strip().encode().ljust(64)
    print("waits", flush=True)
    leases.wait(lease, mark, seconds=10)
    print(time.monotonic_ns(), flush=True)
"""


def cost(leases: LocalLeases | SharedLeases) -> tuple[float, float]:
    """Return the medians of taking and of letting go, in microseconds."""
    takes, releases = [], []
    for number in range(ROUNDS):
        lease = number.to_bytes(64, "big")
        began = time.perf_counter()
        taken = leases.take(lease, now_ms=NOW_MS, until_ms=UNTIL_MS)
        middle = time.perf_counter()
        if taken.holder is None or not leases.release(lease, taken.holder):
            raise SystemExit("a lease was not to be had")
        takes.append(middle - began)
        releases.append(time.perf_counter() - middle)
    return statistics.median(takes) * 1e6, statistics.median(releases) * 1e6


def heard_after(folder: Path, leases: SharedLeases) -> float:
    """Return the median time after which another process hears of a release, in milliseconds."""
    command = [sys.executable, "-c", OTHER, str(folder)]
    times = []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        if other.stdin is None or other.stdout is None:
            raise SystemExit("the other process has no pipes")
        for number in range(100):
            lease = str(number).encode().ljust(64)
            taken = leases.take(lease, now_ms=NOW_MS, until_ms=UNTIL_MS)
            other.stdin.write(f"{number}\n")
            other.stdin.flush()
            other.stdout.readline()
            time.sleep(0.01)
            began = time.monotonic_ns()
            leases.release(lease, taken.holder or b"")
            times.append((int(other.stdout.readline()) - began) / 1e6)
        other.stdin.close()
    return statistics.median(times)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "leases"
        shared = SharedLeases(folder)
        for title, leases in (("one process", LocalLeases()), ("shared", shared)):
            take, release = cost(leases)
            print(f"{title}: {take:.0f} us to take, {release:.0f} us to let go")
        print(f"another process hears after {heard_after(folder, shared):.1f} ms")
        shared.close()


if __name__ == "__main__":
    main()
