from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateways.golang import CLIENT, needs_go, race, run
from gateways.harness import SHARED_SHAPES, World, world
from gateways.nodejs import built, needs_node

BUILD_SECONDS = 600


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the first test of a gateway the time to compile it."""
    for item in items:
        if "command" in getattr(item, "fixturenames", ()) and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(BUILD_SECONDS))


@pytest.fixture(scope="session")
def go_gateway(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The command that starts the example gateway in Go."""
    needs_go()
    binary: Path = tmp_path_factory.mktemp("gateway") / "gateway"
    run("go", "build", *race(), "-o", str(binary), ".", cwd=CLIENT / "examples" / "gateway")
    return [str(binary), "-config"]


@pytest.fixture(scope="session")
def node_gateway() -> list[str]:
    """The command that starts the example gateway in Node."""
    needs_node()
    return ["node", str(built() / "examples" / "gateway" / "main.js"), "--config"]


COMMANDS = ("go_gateway", "node_gateway")
"""The fixtures that give the commands of the example gateways; each is tested alike."""


@pytest.fixture(scope="session", params=COMMANDS)
def command(request: pytest.FixtureRequest) -> list[str]:
    found: list[str] = request.getfixturevalue(request.param)
    return found


@pytest.fixture(scope="session")
def running(command: list[str]) -> Iterator[World]:
    with world(command) as started:
        yield started
        assert "DATA RACE" not in "".join(started.log)


@pytest.fixture(scope="session")
def running_shared(command: list[str]) -> Iterator[World]:
    with world(command, SHARED_SHAPES) as started:
        yield started


@pytest.fixture
def gateway(running: World) -> Iterator[World]:
    """A gateway whose providers were asked nothing yet and behave."""
    yield from fresh(running)


@pytest.fixture
def shared(running_shared: World) -> Iterator[World]:
    """A gateway under a rule that shares entries between streams and documents."""
    yield from fresh(running_shared)


def fresh(started: World) -> Iterator[World]:
    for provider in (started.provider, started.spare):
        provider.calls.clear()
        provider.behaviours.clear()
    yield started


@pytest.fixture
def text(request: pytest.FixtureRequest) -> str:
    """A question that no other test asks."""
    return f"{request.node.name} {os.urandom(4).hex()}"
