"""Sidecars in processes of their own, to be stopped and killed, and a process that holds a write lock."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import grpc

from rpc.harness import Gateway, Place

_SERVE = "import sys; from askonce_server.cli import main; sys.exit(main())"
_FORK = """
import os, signal, sys
from askonce_server import app
from pathlib import Path
from askonce_server.config.load import load_text, text_of
from askonce_server.config.reload import ConfigFile
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    config, log = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if not child:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), 2)
        text = text_of(Path(config))
        settings = load_text(text, name=config, environ={})
        file = ConfigFile(Path(config), text=text, config=settings, environ={})
        status = app.serve(settings, file=file)
        os.write(2, b"exit %d" % status)
        os._exit(status)
    print(child, flush=True)
"""
_HOLD = """
import sys, lmdb
env = lmdb.open(sys.argv[1], map_size=int(sys.argv[2]), max_dbs=32)
with env.begin(write=True) as txn:
    txn.put(b"half", b"done")
    print("inside", flush=True)
    sys.stdin.read()
"""
START_SECONDS = 60.0


class Served:
    """A sidecar in a process of its own."""

    def __init__(self, place: Place, pid: int) -> None:
        self.place = place
        self.pid = pid
        self.log = place.folder / "log"

    def alive(self) -> bool:
        return Path(f"/proc/{self.pid}").exists()

    def wait_until_serving(self) -> Gateway:
        """Return a gateway once the sidecar answers."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.alive(), self.log.read_text()
            gateway = Gateway(self.place.unix)
            try:
                if gateway.serving() == "SERVING":
                    return gateway
            except grpc.RpcError:  # it is not there yet
                gateway.close()
            time.sleep(0.02)
        raise AssertionError(f"did not start: {self.log.read_text()}")

    def kill(self) -> None:
        """End it as `kill -9` does."""
        os.kill(self.pid, signal.SIGKILL)
        while self.alive():
            time.sleep(0.002)

    def stop(self, number: int) -> str:
        """Send a signal and return the last line of the log once the process has ended."""
        os.kill(self.pid, number)
        deadline = time.monotonic() + START_SECONDS
        while self.alive():
            assert time.monotonic() < deadline
            time.sleep(0.01)
        return self.log.read_text().splitlines()[-1]

    def open_files(self) -> int:
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def status(self, name: str) -> int:
        """A number of /proc/PID/status, such as Threads or VmRSS (KiB)."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1])
        raise KeyError(name)


class SidecarProcess(Served):
    """`askonce serve`."""

    def __init__(self, place: Place, environ: Mapping[str, str] | None = None) -> None:
        command = [sys.executable, "-c", _SERVE, "serve"]
        command += ["--config", str(place.config_file)] if place.config_file.exists() else []
        with (place.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stderr=log, env=environ)
        super().__init__(place, self.process.pid)

    def alive(self) -> bool:
        return self.process.poll() is None

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def terminate(self, *, timeout: float = 30.0) -> int:
        """Ask it to stop and return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=timeout)


@contextmanager
def sidecar(place: Place, environ: Mapping[str, str] | None = None) -> Iterator[SidecarProcess]:
    """A sidecar process that is gone when the block ends."""
    process = SidecarProcess(place, environ)
    try:
        yield process
    finally:
        if process.alive():
            process.kill()


class Forked:
    """Starts sidecars at once, forked from a process that has read their code and done nothing else."""

    def __init__(self) -> None:
        pipe = subprocess.PIPE
        self._parent = subprocess.Popen([sys.executable, "-c", _FORK], stdin=pipe, stdout=pipe, text=True)

    @contextmanager
    def sidecar(self, place: Place) -> Iterator[Served]:
        """A sidecar process that is gone when the block ends."""
        parent = self._parent
        assert parent.stdin is not None
        assert parent.stdout is not None
        parent.stdin.write(f"{place.config_file}\t{place.folder / 'log'}\n")
        parent.stdin.flush()
        served = Served(place, int(parent.stdout.readline()))
        try:
            yield served
        finally:
            if served.alive():
                served.kill()

    def close(self) -> None:
        self._parent.kill()
        self._parent.wait(timeout=30)
        for stream in (self._parent.stdin, self._parent.stdout):
            assert stream is not None
            stream.close()


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
