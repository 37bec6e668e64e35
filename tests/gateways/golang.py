"""The Go toolchain, where it is there: what runs Go says so when it is not."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CLIENT = ROOT / "client" / "go"
TOOLS = Path(sys.prefix) / "gobin"
STATICCHECK = "honnef.co/go/tools/cmd/staticcheck@v0.8.2"


@cache
def why_not() -> str:
    """Return why Go cannot be used here; empty when it can."""
    go = shutil.which("go")
    if go is None:
        return "Go is not installed: the Go client is not tested"
    needed = re.search(r"^go (\d+)\.(\d+)", (CLIENT / "go.mod").read_text(), re.MULTILINE)
    said = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, check=True, cwd=ROOT)
    there = re.match(r"go(\d+)\.(\d+)", said.stdout)
    assert needed is not None
    if there is None or [int(n) for n in there.groups()] < [int(n) for n in needed.groups()]:
        return f"{said.stdout.strip()} is too old: the Go client is not tested"
    return ""


def needs_go() -> None:
    """Skip the test, saying so, where Go cannot be used."""
    if reason := why_not():
        pytest.skip(reason)


def environ() -> dict[str, str]:
    """The environment of Go commands; tests in Go find the sidecar's command in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASKONCE_")}
    command = str(Path(sys.executable).parent / "askonce")
    return {"TEST_ASKONCE": command, **kept, "GOTOOLCHAIN": "local"}


def run(*command: str, cwd: Path = CLIENT, **more: str) -> str:
    """Run a command and return what it printed; fails with all of it."""
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**environ(), **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
    return done.stdout


def race() -> list[str]:
    """The flag of the race detector, for the thorough tests: it needs a C compiler, and all is built anew."""
    thorough = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
    return ["-race"] if thorough and (shutil.which("gcc") or shutil.which("cc")) else []
