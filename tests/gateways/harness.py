"""A gateway between real SDKs and a fake provider, with a real sidecar beside it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import urllib3

from faults.sidecar_process import SidecarProcess, sidecar
from gateways.fake_provider import FakeProvider
from rpc.harness import Place, short_folder

START_SECONDS = 60.0
KEYS = {"sk-acme": "acme", "sk-globex": "globex"}
RULES = [
    {
        "id": "everything",
        "strategy": ["exact", "normalized"],
        "scope": ["tenant"],
        "eligibility": {"sampling": "all"},  # reasoning models take no temperature
        "ttl": "15m",
    }
]
STORE = {"max_bytes": "256MiB", "write_timeout": "60s"}
SHARED_SHAPES = [{**RULES[0], "key": {"stream": "shared"}}]


@dataclass(slots=True)
class World:
    """Everything around one gateway."""

    url: str
    """Of the gateway, without /v1."""
    provider: FakeProvider
    spare: FakeProvider
    """What the gateway falls back to."""
    sidecar: SidecarProcess
    gateway: subprocess.Popen[str]
    log: list[str] = field(default_factory=list)
    """What the gateway wrote to its standard error."""
    http: urllib3.PoolManager = field(default_factory=lambda: urllib3.PoolManager(maxsize=200, retries=False))

    def post(
        self,
        path: str,
        body: Any,
        *,
        key: str = "sk-acme",
        headers: dict[str, str] | None = None,
        **options: Any,
    ) -> urllib3.BaseHTTPResponse:
        """Send a request, its body as JSON or as bytes."""
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        sent = {"authorization": f"Bearer {key}", "content-type": "application/json", **(headers or {})}
        return self.http.request("POST", f"{self.url}{path}", body=raw, headers=sent, **options)

    def fill(self, path: str, body: Any, **options: Any) -> urllib3.BaseHTTPResponse:
        """Send a request until its answer is stored: who asks the same waits for that."""
        filled = self.post(path, body, **options)
        assert self.post(path, body, **options).data == filled.data, "".join(self.log)
        return filled

    def chat(self, text: str, **members: Any) -> dict[str, Any]:
        """A body of a chat; other members replace or join it."""
        return {"model": "smart", "messages": [{"role": "user", "content": text}], **members}

    @property
    def calls(self) -> Sequence[dict[str, Any]]:
        return self.provider.calls


@contextmanager
def serving(*providers: FakeProvider) -> Iterator[None]:
    """Let fake providers answer."""
    threads = [threading.Thread(target=provider.serve_forever, daemon=True) for provider in providers]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        for provider in providers:
            provider.shutdown()
            provider.server_close()


def gateway_config(
    place: Place, provider: FakeProvider, spare: FakeProvider, budget_ms: int
) -> dict[str, Any]:
    """The configuration that both example gateways read."""
    names = [f"model-{number}" for number in range(20)]
    priced = {"provider": "openai", "input_price": 2.5, "output_price": 10}
    return {
        "listen": "127.0.0.1:0",
        "sidecar": place.unix,
        "budget_ms": budget_ms,
        "store_timeout_ms": 60_000,
        "keys": {**KEYS, **{f"sk-{number}": f"tenant-{number}" for number in range(1000)}},
        "providers": {
            "openai": {"dialect": "openai", "url": provider.url, "key_env": "FAKE_OPENAI_KEY"},
            "spare": {"dialect": "openai", "url": spare.url, "key_env": "FAKE_SPARE_KEY"},
            "anthropic": {"dialect": "anthropic", "url": provider.url, "key_env": "FAKE_ANTHROPIC_KEY"},
        },
        "routes": {
            "smart": [{**priced, "model": "gpt-4o-2024-08-06"}, {"provider": "spare", "model": "spare-4o"}],
            "reasoning": [{**priced, "model": "reasoning-1"}],
            "embed": [{"provider": "openai", "model": "text-embedding-3-small"}],
            "claude": [{"provider": "anthropic", "model": "claude-sonnet-4-20250514"}],
            **{name: [{"provider": "openai", "model": name}] for name in names},
        },
    }


@contextmanager
def world(command: Sequence[str], rules: Any = None, *, budget_ms: int = 30_000) -> Iterator[World]:
    """Start a sidecar, two providers, and a gateway by `command` and the path of its configuration.

    The gateway says "listening on ADDRESS" on its standard error. Its calls have time, and so has the disk:
    a slow machine does not look like a slow sidecar.
    """
    provider, spare = FakeProvider(), FakeProvider()
    with short_folder() as folder, serving(provider, spare):
        place = Place(folder, rules=RULES if rules is None else rules, store=STORE)
        config = folder / "gateway.json"
        config.write_text(json.dumps(gateway_config(place, provider, spare, budget_ms)))
        with sidecar(place) as process:
            process.wait_until_serving().close()
            with started([*command, str(config)]) as (gateway, url, log):
                yield World(url, provider, spare, process, gateway, log)


@contextmanager
def started(command: Sequence[str]) -> Iterator[tuple[subprocess.Popen[str], str, list[str]]]:
    """Start a gateway and wait until it listens."""
    keys = {
        "FAKE_OPENAI_KEY": "real-openai",
        "FAKE_SPARE_KEY": "real-spare",
        "FAKE_ANTHROPIC_KEY": "real-anthropic",
    }
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **keys})
    log: list[str] = []
    try:
        url = listening(process, log)
        yield process, url, log
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(timeout=15)


def listening(process: subprocess.Popen[str], log: list[str]) -> str:
    """Return the gateway's address, once it says it; keep reading what else it writes."""
    stream = process.stderr
    assert stream is not None
    found = threading.Event()
    address: list[str] = []

    def read() -> None:
        for line in stream:
            log.append(line)
            if not address and (match := re.search(r"listening on (\S+)", line)):
                address.append(f"http://{match[1]}")
                found.set()
        stream.close()

    threading.Thread(target=read, daemon=True).start()
    assert found.wait(START_SECONDS), "".join(log)
    return address[0]


def until(condition: Any, *, seconds: float = 30.0) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.01)


PYTHON = sys.executable
HERE = Path(__file__).resolve().parent
