"""What the supervisor tells a worker, over the connection that the worker was started with."""

from __future__ import annotations

import json
import socket
from dataclasses import asdict, dataclass
from typing import Final

_SIZE_BYTES: Final = 4
_MAX_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Orders:
    """Which worker it is, where it listens and under what configuration."""

    number: int
    """From 0."""
    supervisor: int
    """The process that started it."""
    instance: str
    """What the supervisor writes into the lock of the store once it holds it."""
    started: float
    """When the server started, in seconds of `time.monotonic`."""
    began_ns: int
    """The same in nanoseconds since 1970."""
    listen: tuple[str, ...]
    """The worker's own addresses, in the order of the configuration's."""
    admin: tuple[str, ...]
    telemetry: tuple[str, ...]
    """Where it tells metrics: one address or none."""
    file: str | None
    """The name of the configuration's file; None for the embedded default."""
    text: str
    """What stood in it when the server started."""
    rules: str
    """What stands in it now, or stood there before mistakes were made: the rules in it are in force."""


def encode(orders: Orders) -> bytes:
    """Return what is sent."""
    message = json.dumps(asdict(orders)).encode()
    return len(message).to_bytes(_SIZE_BYTES, "big") + message


def receive(connection: socket.socket) -> Orders:
    """Wait for orders and return them. Raises EOFError when the supervisor has gone."""
    size = int.from_bytes(_receive(connection, _SIZE_BYTES), "big")
    if size > _MAX_BYTES:
        raise EOFError
    fields = json.loads(_receive(connection, size))
    addresses = {name: tuple(fields[name]) for name in ("listen", "admin", "telemetry")}
    return Orders(**{**fields, **addresses})


def _receive(connection: socket.socket, size: int) -> bytes:
    received = b""
    while len(received) < size:
        more = connection.recv(size - len(received))
        if not more:
            raise EOFError
        received += more
    return received
