"""Both clients behind one face, and a scripted sidecar for them."""

from __future__ import annotations

import asyncio
import inspect
import logging
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import askonce
from client.scripted import Scripted, Sidecar, serving


class Blocking:
    """An asynchronous client used from blocking code, so that one test body drives both clients."""

    def __init__(self, runner: asyncio.Runner, client: Any) -> None:
        self._runner = runner
        self.client = client

    def __getattr__(self, name: str) -> Any:
        member = getattr(self.client, name)
        if not inspect.iscoroutinefunction(member):
            return member
        return lambda *args, **kwargs: self._runner.run(member(*args, **kwargs))


@pytest.fixture
def sockets() -> Iterator[Path]:
    # pytest's own folders are too long for the path of a Unix socket.
    with tempfile.TemporaryDirectory(prefix="ao-") as folder:
        yield Path(folder)


@pytest.fixture(params=["unix", "tcp"])
def address(request: pytest.FixtureRequest, sockets: Path) -> str:
    return f"unix://{sockets}/s.sock" if request.param == "unix" else "127.0.0.1:0"


@pytest.fixture
def sidecar(sockets: Path) -> Iterator[Sidecar]:
    with serving(f"unix://{sockets}/s.sock") as served:
        yield served


@pytest.fixture
def script(sidecar: Sidecar) -> Scripted:
    return sidecar.script


@pytest.fixture(params=["sync", "async"])
def connect(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Make clients of either kind. The budget is generous, so that a busy machine fails no test."""
    with ExitStack() as stack:
        runner = stack.enter_context(asyncio.Runner())

        def make(target: str, **options: Any) -> Any:
            options.setdefault("budget", 5.0)
            if request.param == "sync":
                return stack.enter_context(askonce.AskOnce(target, **options))
            client = Blocking(runner, askonce.AsyncAskOnce(target, **options))
            stack.callback(client.close)
            return client

        yield make


@pytest.fixture
def client(connect: Callable[..., Any], sidecar: Sidecar) -> Any:
    return connect(sidecar.target)


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """Read what the client has logged so far."""
    caplog.set_level(logging.DEBUG, logger="askonce")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "askonce"]
