"""A sidecar of several workers, seen from outside."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import grpc

from askonce.v1 import admin_service_pb2
from faults.sidecar_process import START_SECONDS, SidecarProcess
from rpc.harness import Gateway

WORKERS = 2


def gone(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


def wait_until(what, told=lambda: "", *, seconds=START_SECONDS) -> float:
    """How many seconds it took to come true."""
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < seconds, told()
        time.sleep(0.01)
    return time.monotonic() - began


class Crew:
    """A sidecar of several workers."""

    def __init__(self, process: SidecarProcess, *, workers: int = WORKERS) -> None:
        self.process = process
        self.workers = workers
        self.place = process.place

    def pids(self) -> list[int]:
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return [int(pid) for pid in listed]

    def pid_of(self, number: int) -> int:
        """The process that calls itself so in its command line, by the log."""
        said = [line for line in self.said() if line["message"].startswith(f"worker {number} (process ")]
        serving = [line["message"] for line in said if line["message"].endswith(") serves")]
        return int(serving[-1].split()[3].rstrip(")"))

    def said(self) -> list[dict]:
        return [json.loads(line) for line in self.process.log.read_text().splitlines() if line[:1] == "{"]

    def of(self, number: int) -> str:
        """The address of one worker."""
        return f"{self.place.unix}.{number}"

    def wait_until_serving(self) -> None:
        """Every worker takes calls, and has its store."""
        wait_until(
            lambda: all(self._serves(number) for number in range(self.workers)), self.process.log.read_text
        )

    def _serves(self, number: int) -> bool:
        assert self.process.alive(), self.process.log.read_text()
        try:
            os.kill(self.pid_of(number), 0)
            with Gateway(self.of(number)) as gateway:
                return {gateway.serving(), gateway.serving("askonce.store")} == {"SERVING"}
        except (grpc.RpcError, OSError, IndexError):
            return False

    def stats(self, number: int | None = None):
        admin = self.place.admin if number is None else f"{self.place.admin}.{number}"
        with Gateway(admin) as operator:
            return operator.admin.GetStats(admin_service_pb2.GetStatsRequest(), timeout=10)
