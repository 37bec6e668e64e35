"""Node, where it is there: what runs Node says so when it is not."""

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
CLIENT = ROOT / "client" / "node"
OLDEST = 18


@cache
def why_not() -> str:
    """Return why Node cannot be used here; empty when it can."""
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            return f"{command} is not installed: the Node client is not tested"
    said = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout.strip()
    version = re.match(r"v(\d+)\.", said)
    if version is None or int(version[1]) < OLDEST:
        return f"Node {said} is too old: the Node client is not tested"
    return ""


def needs_node() -> None:
    """Skip the test, saying so, where Node cannot be used."""
    if reason := why_not():
        pytest.skip(reason)


def run(*command: str, cwd: Path = CLIENT, **more: str) -> str:
    """Run a command and return what it printed; fails with all of it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ASKONCE_")}
    sidecar = {"TEST_ASKONCE": str(Path(sys.executable).parent / "askonce")}
    done = subprocess.run(
        command,
        cwd=cwd,
        env={**sidecar, **kept, **more},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}"
    return done.stdout


def install(folder: Path) -> None:
    """Install what a package's lock says, unless it is there."""
    lock, installed = folder / "package-lock.json", folder / "node_modules" / ".installed"
    if not installed.exists() or installed.read_bytes() != lock.read_bytes():
        run("npm", "ci", "--no-audit", "--no-fund", cwd=folder)
        shutil.copyfile(lock, installed)


@cache
def built() -> Path:
    """Install and compile the client with its tests and its example, once; return where they are."""
    install(CLIENT)
    run("npm", "run", "build:tests")
    return CLIENT / "build"
