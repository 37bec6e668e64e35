"""ghz: found or installed in the version that the numbers were made with, run, and read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.sidecar import OUT, ROOT

VERSION = "v0.121.0"
_MODULE = f"github.com/bojand/ghz/cmd/ghz@{VERSION}"
_NS_PER_MS = 1e6


@dataclass(frozen=True, slots=True)
class Report:
    """What one run of ghz found. Times are milliseconds."""

    calls: int
    per_second: float
    p50: float
    p95: float
    p99: float
    failed: int
    """Calls with a code other than OK."""
    codes: dict[str, int]


def ghz() -> Path:
    """Return the binary, installed first where it is missing. Exits with the mend when Go is missing too."""
    path = Path(os.environ.get("GHZ") or ROOT / ".venv" / "bin" / "ghz")
    if path.exists():
        return path
    go = shutil.which("go")
    if go is None:
        sys.exit(f"ghz {VERSION} is built from source, and there is no Go: install it from https://go.dev/dl")
    print(f"installing ghz {VERSION} into {path.parent}, which takes a minute or two", file=sys.stderr)
    subprocess.run([go, "install", _MODULE], check=True, env={**os.environ, "GOBIN": str(path.parent)})
    return path


def run(
    name: str, address: str, *, data: Path | None = None, total: int | None = None, keep: str = ""
) -> Report:
    """Run the load `benchmarks/ghz/NAME.json` on the server at `address`.

    `data` and `total` stand in for the file's own; the report is kept as `benchmarks/out/KEEP.json`.
    """
    command = [str(ghz()), "--config", f"benchmarks/ghz/{name}.json", "--format", "json"]
    if data is not None:
        command += ["--binary-file", str(data)]
    if total is not None:
        command += ["--total", str(total)]
    done = subprocess.run([*command, address], cwd=ROOT, check=True, capture_output=True)
    found = json.loads(done.stdout)
    found.pop("details", None)  # a row per call
    OUT.mkdir(exist_ok=True)
    (OUT / f"{keep or name}.json").write_text(json.dumps(found, indent=1))
    return _read(found)


def _read(found: dict[str, Any]) -> Report:
    codes = found["statusCodeDistribution"] or {}
    times = {row["percentage"]: row["latency"] / _NS_PER_MS for row in found["latencyDistribution"] or ()}
    calls = found["count"]
    return Report(
        calls=calls,
        per_second=found["rps"],
        p50=times.get(50, float("nan")),
        p95=times.get(95, float("nan")),
        p99=times.get(99, float("nan")),
        failed=calls - codes.get("OK", 0),
        codes=codes,
    )
