"""Servers under test: processes of their own on a temporary store, and what they cost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import grpc

ROOT = Path(__file__).resolve().parent.parent
OUT = ROOT / "benchmarks" / "out"
SERVE = (str(Path(sys.executable).with_name("askonce")), "serve", "--config")
_READY_SECONDS = 30.0
_STOP_SECONDS = 30.0
_TICKS = os.sysconf("SC_CLK_TCK")
# grpcio sends the percent-encoded path of a Unix socket as :authority, which strict peers refuse.
_OPTIONS = (("grpc.default_authority", "localhost"),)


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    process: subprocess.Popen[bytes]
    address: str
    """`unix:///path`, as grpcio and ghz both take it."""
    admin: str

    def cpu_seconds(self) -> float:
        """Return the CPU time, user and system, of all its threads so far."""
        # Fields 14 and 15 of proc(5); the name before them may hold spaces.
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS

    @contextmanager
    def channel(self, *, admin: bool = False) -> Iterator[grpc.Channel]:
        """Connect."""
        with grpc.insecure_channel(self.admin if admin else self.address, options=_OPTIONS) as channel:
            yield channel


@contextmanager
def started(*command: str, settings: dict[str, Any] | None = None) -> Iterator[Server]:
    """Run `command` with a configuration file behind it until the block ends.

    `command` defaults to `askonce serve --config`; `settings` are added to the configuration. Raises
    RuntimeError when the server does not come up.
    """
    with tempfile.TemporaryDirectory(prefix="askonce-bench-") as folder:
        address, admin = f"unix://{folder}/askonce.sock", f"unix://{folder}/admin.sock"
        config = Path(folder) / "askonce.yaml"
        document = {
            "listen": [address],
            "admin": {"listen": admin},
            "store": {"path": f"{folder}/store"},
            **(settings or {}),
        }
        config.write_text(json.dumps(document))  # JSON is YAML
        process = subprocess.Popen([*(command or SERVE), str(config)], cwd=ROOT)
        try:
            server = Server(process, address, admin)
            _await(server)
            yield server
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def module(name: str, *arguments: str) -> Sequence[str]:
    """Return the command that runs one of our modules."""
    return (sys.executable, "-m", name, *arguments)


def _await(server: Server) -> None:
    deadline = monotonic() + _READY_SECONDS
    with server.channel() as channel:
        ready = grpc.channel_ready_future(channel)
        while monotonic() < deadline and server.process.poll() is None:
            try:
                ready.result(timeout=0.2)
            except grpc.FutureTimeoutError:
                continue
            return
        ready.cancel()
    raise RuntimeError(f"the server did not come up: {' '.join(map(str, server.process.args))}")
