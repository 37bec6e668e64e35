"""Sidecars in processes of their own, to be stopped and killed, and a process that holds a write lock."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from rpc.harness import Gateway, Place

_SERVE = "import sys; from askonce_server.cli import main; sys.exit(main())"
_HOLD = """
import sys, lmdb
env = lmdb.open(sys.argv[1], map_size=int(sys.argv[2]), max_dbs=32)
with env.begin(write=True) as txn:
    txn.put(b"half", b"done")
    print("inside", flush=True)
    sys.stdin.read()
"""
START_SECONDS = 60.0


class SidecarProcess:
    """`askonce serve` on a place of its own."""

    def __init__(self, place: Place, environ: Mapping[str, str] | None = None) -> None:
        self.place = place
        self.log = place.folder / "log"
        command = [sys.executable, "-c", _SERVE, "serve", "--config", str(place.config_file)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(command, stderr=log, env={**os.environ, **(environ or {})})
        self.pid = self.process.pid

    def wait_until_serving(self) -> Gateway:
        """Return a gateway once the sidecar answers."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log.read_text()
            gateway = Gateway(self.place.unix)
            try:
                if gateway.serving() == "SERVING":
                    return gateway
            except Exception:  # it is not there yet
                gateway.close()
            time.sleep(0.05)
        raise AssertionError(f"did not start: {self.log.read_text()}")

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self.process.kill()
        self.process.wait(timeout=30)

    def terminate(self, *, timeout: float = 30.0) -> int:
        """Ask it to stop and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=timeout)

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def status(self, name: str) -> int:
        """A number of /proc/PID/status, such as Threads or VmRSS (KiB)."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
        raise KeyError(name)


@contextmanager
def sidecar(place: Place, environ: Mapping[str, str] | None = None) -> Iterator[SidecarProcess]:
    """A sidecar process that is gone when the block ends."""
    process = SidecarProcess(place, environ)
    try:
        yield process
    finally:
        if process.process.poll() is None:
            process.kill()


@contextmanager
def write_lock_held(folder: Path, *, map_bytes: int) -> Iterator[subprocess.Popen[str]]:
    """A process that stopped, by SIGSTOP, in the middle of a write to the store in `folder`."""
    command = [sys.executable, "-c", _HOLD, str(folder), str(map_bytes)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "inside\n"
        process.send_signal(signal.SIGSTOP)
        yield process
    finally:
        process.kill()
        process.wait(timeout=30)
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            stream.close()


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Path]:
    """A disk of `size` at `folder`; needs root."""
    folder.mkdir(exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def shuffled(count: int) -> list[int]:
    order = list(range(count))
    random.Random(count).shuffle(order)
    return order
