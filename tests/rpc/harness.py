"""Real sidecars over real gRPC, and gateways that talk to them."""

from __future__ import annotations

import random
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import grpc
import yaml
from grpc_health.v1 import health_pb2, health_pb2_grpc

from askonce.v1 import (
    admin_service_pb2,
    admin_service_pb2_grpc,
    decision_service_pb2,
    decision_service_pb2_grpc,
)
from askonce_server.app import Sidecar
from askonce_server.config.load import load
from rpc.answers import answer_for, storing
from rpc.replies import filed, outcome, verdict
from rpc.requests import Descriptor, request

DEADLINE_SECONDS = 30.0


_OPTIONS = (
    ("grpc.default_authority", "localhost"),
    ("grpc.max_receive_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),  # no connection, and no back-off, is shared with another test
)


class Gateway:
    """One client of a sidecar."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.channel = grpc.insecure_channel(address, options=_OPTIONS)
        self.stub = decision_service_pb2_grpc.DecisionServiceStub(self.channel)
        self.admin = admin_service_pb2_grpc.AdminServiceStub(self.channel)
        self.health = health_pb2_grpc.HealthStub(self.channel)

    def close(self) -> None:
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, asked: Descriptor, *, timeout: float = DEADLINE_SECONDS, **rest: Any) -> Any:
        """The decision on `asked`. Controls are given by name, other fields of the request too."""
        return self.stub.Lookup(request(asked, **rest), timeout=timeout).decision

    def ask_all(self, items: list[Any], *, timeout: float = DEADLINE_SECONDS) -> list[Any]:
        """The results for items, which are descriptors or requests."""
        wanted = [item if not isinstance(item, Descriptor) else request(item) for item in items]
        batch = decision_service_pb2.BatchLookupRequest(items=wanted)
        return list(self.stub.BatchLookup(batch, timeout=timeout).results)

    def store(self, source: Descriptor | bytes, response: Any = None, **rest: Any) -> Any:
        """What becomes of an answer, by descriptor or by token."""
        wanted = storing(source, response, **rest)
        return self.stub.Store(wanted, timeout=DEADLINE_SECONDS)

    def store_all(self, items: list[Any]) -> list[Any]:
        batch = decision_service_pb2.BatchStoreRequest(items=items)
        return list(self.stub.BatchStore(batch, timeout=DEADLINE_SECONDS).results)

    def fill(self, asked: Descriptor, text: str = "Hello.", *, ttl: Any = None, **changes: Any) -> Any:
        """Ask, expect a miss, store an answer by its token, and return what became of it."""
        decision = self.ask(asked)
        assert outcome(decision) == "miss", verdict(decision)
        stored = self.store(decision.fill_token, answer_for(asked, text, **changes), ttl=ttl)
        assert filed(stored) == "stored"
        return stored

    def raw(self, method: str, message: bytes, *, timeout: float = DEADLINE_SECONDS) -> bytes:
        """Send bytes as they are."""
        call = self.channel.unary_unary(f"/askonce.v1.{method}")
        answered: bytes = call(message, timeout=timeout)
        return answered

    def serving(self, service: str = "") -> str:
        checked = self.health.Check(health_pb2.HealthCheckRequest(service=service), timeout=DEADLINE_SECONDS)
        return health_pb2.HealthCheckResponse.ServingStatus.Name(checked.status)


def free_port() -> int:
    """A port that nobody has, below those that the system gives to clients."""
    while True:
        port = random.randrange(15_000, 32_000)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder whose sockets have short paths: a socket's path may have 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="ao-", dir="/tmp") as name:
        yield Path(name)


class Place:
    """Where a sidecar lives: its folder, its addresses and its configuration."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.socket = folder / "s"
        self.admin_socket = folder / "a"
        self.unix = f"unix://{self.socket}"
        self.admin = f"unix://{self.admin_socket}"
        self.tcp = f"127.0.0.1:{free_port()}"
        self.store = folder / "store"
        document: dict[str, Any] = {
            "listen": [self.unix, self.tcp],
            "admin": {"listen": self.admin},
            "store": {"path": str(self.store), "max_bytes": "64MiB"},
            "drain": {"grace": "5s"},
        }
        for name, value in settings.items():
            merged = isinstance(value, dict) and isinstance(document.get(name), dict)
            document[name] = {**document[name], **value} if merged else value
        self.config_file = folder / "askonce.yaml"
        self.config_file.write_text(yaml.safe_dump(document))

    def load(self, environ: Mapping[str, str] | None = None) -> Any:
        return load(self.config_file, environ or {})


class Running:
    """A sidecar in this process, with a gateway and an operator."""

    def __init__(self, place: Place, environ: Mapping[str, str] | None = None) -> None:
        self.place = place
        self.sidecar = Sidecar(place.load(environ))
        self.sidecar.start()
        self.gateway = Gateway(place.unix)
        self.operator = Gateway(place.admin)

    def stop(self) -> None:
        self.gateway.close()
        self.operator.close()
        self.sidecar.stop()

    def stats(self) -> Any:

        return self.operator.admin.GetStats(admin_service_pb2.GetStatsRequest(), timeout=DEADLINE_SECONDS)


@contextmanager
def running(folder: Path | None = None, **settings: Any) -> Iterator[Running]:
    """A sidecar with `settings`, in `folder` or in one of its own."""
    if folder is None:
        with short_folder() as own, running(own, **settings) as server:
            yield server
        return
    server = Running(Place(folder, **settings))
    try:
        yield server
    finally:
        server.stop()
