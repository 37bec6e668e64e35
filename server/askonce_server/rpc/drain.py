"""Stopping in order: NOT_SERVING, delay, drain, then close what is behind."""

from __future__ import annotations

import time
from collections.abc import Sequence

import grpc

from askonce_server.rpc.handlers import Gate
from askonce_server.rpc.health import Health

_FAREWELL_SECONDS = 0.1
"""How long callers are told that the server is draining before their connections end."""
_LAST_SECONDS = 0.5
"""What then is still given to calls that are none of the services': a client of reflection that idles."""


def drain(
    servers: Sequence[grpc.Server], told: Health, gate: Gate, *, delay_seconds: float, grace_seconds: float
) -> None:
    """Stop in order; returns when no call is left. Calls that began are finished within the grace.

    New calls are turned away here first: once it stops, the transport would cancel some of them instead.
    """
    told.draining()
    time.sleep(delay_seconds)
    deadline = time.monotonic() + grace_seconds
    gate.close()
    idle = gate.wait_until_idle(grace_seconds)
    time.sleep(min(_FAREWELL_SECONDS, grace_seconds))
    told.servicer.close()
    left = min(deadline - time.monotonic(), _LAST_SECONDS) if idle else 0.0
    for stopped in [server.stop(max(left, 0.0)) for server in servers]:
        stopped.wait()
