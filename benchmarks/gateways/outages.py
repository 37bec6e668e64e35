"""The example gateways under load while the sidecar behind them is well, and while it is not.

    python -m benchmarks.gateways.outages [SECONDS [PER_SECOND]]

Each phase takes so many seconds (5), at 1,000 requests a second, a third of them for the same ten answers.
Times count from when a request was due: a gateway that cannot keep up shows it. A request fails when its
answer is not the provider's; one that does makes this exit with 1. Go and Node must be installed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from benchmarks.sidecar import ROOT, SERVE

GO, NODE = ROOT / "client" / "go", ROOT / "client" / "node"
BUDGET_MS = 50
RULE = {"id": "all", "scope": ["tenant"], "eligibility": {"sampling": "all"}, "ttl": "15m"}
CLOSED_SECONDS = 60.0
STOPPED, GOING = 0.03, 0.01
"""How long a slow sidecar is stopped, and goes on, by turns."""


class Sidecar:
    """A sidecar that things happen to."""

    def __init__(self, config: Path) -> None:
        self._config = config
        self.start()

    def start(self) -> None:
        """Start it, with what it kept."""
        self.process = subprocess.Popen([*SERVE, str(self._config)], stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        """End it as `kill -9` does."""
        self.process.kill()
        self.process.wait()

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Stop it for a block."""
        self.process.send_signal(signal.SIGSTOP)
        yield
        self.process.send_signal(signal.SIGCONT)

    @contextmanager
    def slow(self) -> Iterator[None]:
        """Let it run a quarter of the time."""
        over = threading.Event()

        def hinder() -> None:
            while not over.is_set():
                with self.stopped():
                    time.sleep(STOPPED)
                time.sleep(GOING)

        thread = threading.Thread(target=hinder)
        thread.start()
        yield
        over.set()
        thread.join()


class Pace:
    """The program that sends requests, and the provider that it is."""

    def __init__(self, program: Path, per_second: int) -> None:
        self._process = subprocess.Popen(
            [str(program), f"-rate={per_second}"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._orders: IO[str] = self._process.stdin
        self._reports: IO[str] = self._process.stdout
        self.provider = self._reports.readline().strip()

    def drive(self, url: str, seconds: float) -> dict[str, Any]:
        """Send requests for so long; return what became of them."""
        self._orders.write(f"{url} {seconds}\n")
        self._orders.flush()
        report: dict[str, Any] = json.loads(self._reports.readline())
        return report

    def close(self) -> None:
        """End it."""
        self._orders.close()
        self._process.wait()


class Gateway:
    """An example gateway, and what it logs."""

    def __init__(self, command: Sequence[str]) -> None:
        self.log: list[str] = []
        self.process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, env={**os.environ, "KEY": "real"}
        )
        assert self.process.stderr is not None
        self._stderr = self.process.stderr
        for line in self._stderr:
            self.log.append(line)
            if "listening on" in line:
                break
        self.url = "http://" + self.log[-1].split()[-1]
        threading.Thread(target=lambda: self.log.extend(self._stderr), daemon=True).start()

    def circuits(self) -> list[str]:
        """Return what it said of its circuit breaker."""
        return [line for line in self.log if "circuit" in line]


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    per_second = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    failed = 0
    with tempfile.TemporaryDirectory(prefix="askonce-bench-") as name:
        folder = Path(name)
        go = ("go", "build", "-o", str(folder))
        subprocess.run([*go, "./internal/pace", "./examples/gateway"], cwd=GO, check=True)
        subprocess.run(["npm", "run", "--silent", "build:tests"], cwd=NODE, check=True)
        pace = Pace(folder / "pace", per_second)
        main_js = NODE / "build" / "examples" / "gateway" / "main.js"
        commands = {
            "Go": [str(folder / "gateway"), "-config"],
            "Node": ["node", str(main_js), "--config"],
        }
        for language, command in commands.items():
            print(f"{language} gateway, budget {BUDGET_MS} ms")
            place = folder / language
            place.mkdir()
            failed += measured(place, pace, command, seconds)
        pace.close()
    sys.exit(failed > 0)


def measured(folder: Path, pace: Pace, command: Sequence[str], seconds: float) -> int:
    """Drive one gateway through all phases, and print them; return how many requests failed."""
    socket, config = f"unix://{folder}/askonce.sock", folder / "askonce.yaml"
    config.write_text(json.dumps({"listen": [socket], "store": {"path": f"{folder}/store"}, "rules": [RULE]}))
    settings = {
        "listen": "127.0.0.1:0",
        "sidecar": socket,
        "budget_ms": BUDGET_MS,
        "keys": {"sk-acme": "acme"},
        "providers": {"openai": {"dialect": "openai", "url": pace.provider, "key_env": "KEY"}},
        "routes": {"smart": [{"provider": "openai", "model": "gpt-4o"}]},
    }
    (folder / "gateway.json").write_text(json.dumps(settings))
    server = Sidecar(config)
    gateway = Gateway([*command, str(folder / "gateway.json")])
    began, failed = time.monotonic(), 0

    def phase(name: str) -> None:
        nonlocal failed
        report = pace.drive(gateway.url, seconds)
        failed += report["failed"]
        told(name, report)

    try:
        wait_for(lambda: pace.drive(gateway.url, 0.1)["failed"] == 0)
        phase("well")
        server.kill()
        phase("killed")
        server.start()
        phase("restarted")
        with server.slow():
            phase("slow")
        with server.stopped():
            phase("stopped")
        phase("going on")
        wait_for(lambda: pace.drive(gateway.url, 0.1)["failed"] == 0 and "closed" in gateway.circuits()[-1])
        phase("well again")
        lines = len(gateway.log) / (time.monotonic() - began)
        opened = sum("circuit open" in line for line in gateway.circuits())
        print(f"  the breaker opened {opened} times and is closed; {lines:.2f} lines of log a second")
    finally:
        gateway.process.terminate()
        gateway.process.wait()
        server.kill()
    return failed


def told(name: str, report: dict[str, Any]) -> None:
    """Print one phase."""
    times = ", ".join(f"{which} {report[f'{which}_ms']:.1f}" for which in ("median", "p99", "slowest"))
    sent = f"{report['sent']} requests at {report['per_second']:.0f} a second"
    print(f"  {name:10} {sent}, {report['failed']} failed {report['why']}; ms: {times}", flush=True)


def wait_for(condition: Callable[[], bool]) -> None:
    """Wait until a condition holds. Raises TimeoutError."""
    deadline = time.monotonic() + CLOSED_SECONDS
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the breaker does not close again")


if __name__ == "__main__":
    main()
