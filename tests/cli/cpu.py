"""CPU time of short commands, beside what the same machine needs to start Python at all."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Sequence

_ROUNDS = 10
_QUIET_SECONDS = 0.050
"""What the healthcheck may take on an ordinary machine."""
_TIMES = 2.5
"""And how many times as much as starting Python, where the machine is slower than that."""


def assert_light(command: Sequence[str]) -> None:
    """Run the command some times; the one that was disturbed least is what it takes."""
    spent = least(command)
    bare = least([sys.executable, "-c", "import socket, ssl"])
    assert spent < max(_QUIET_SECONDS, _TIMES * bare), f"{spent} s of CPU, where Python alone takes {bare} s"


def least(command: Sequence[str]) -> float:
    """Return the least CPU time of several runs, in seconds."""
    return min(_spent(command) for _ in range(_ROUNDS))


def _spent(command: Sequence[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=os.environ)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
