"""Health, and stopping in order: NOT_SERVING, delay, drain, then close what is behind."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from threading import Lock

import grpc
from grpc_health.v1 import health, health_pb2

from askonce_server.rpc.handlers import Gate

STORE_SERVICE = "askonce.store"
_FAREWELL_SECONDS = 0.1
"""How long callers are told that the server is draining before their connections end."""
_LAST_SECONDS = 0.5
"""What then is still given to calls that are none of the services': a client of reflection that idles."""

SendResponse = Callable[[health_pb2.HealthCheckResponse | None], None]
"""Sends a watcher its next answer; None ends the call."""


class WatchedHealth(health.HealthServicer):  # type: ignore[misc]  # it comes without types
    """The standard servicer, whose watchers can be sent home: each is a call that never ends by itself."""

    def __init__(self) -> None:
        super().__init__()
        self._watchers: list[SendResponse] = []
        self._closed = False
        self._watchers_lock = Lock()

    def Watch(  # noqa: N802 - the name of the RPC
        self,
        request: health_pb2.HealthCheckRequest,
        context: grpc.ServicerContext,
        send_response_callback: SendResponse,
    ) -> None:
        """Send the status now and whenever it changes."""
        context.add_callback(lambda: self._forget(send_response_callback))
        with self._watchers_lock:
            self._watchers.append(send_response_callback)
            closed = self._closed
        super().Watch(request, context, send_response_callback)
        if closed:
            send_response_callback(None)

    def close(self) -> None:
        """End every Watch."""
        with self._watchers_lock:
            self._closed = True
            watchers = list(self._watchers)
        for send_response in watchers:
            send_response(None)

    def _forget(self, send_response: SendResponse) -> None:
        with self._watchers_lock, suppress(ValueError):
            self._watchers.remove(send_response)


class Health:
    """The standard health service; the store has a name of its own."""

    def __init__(self, services: Sequence[str]) -> None:
        self.servicer = WatchedHealth()
        self._services = ("", *services)
        self._set(health_pb2.HealthCheckResponse.NOT_SERVING)
        self.store(problem="not opened yet")

    def serving(self) -> None:
        """Say that Lookup answers, be it in pass-through."""
        self._set(health_pb2.HealthCheckResponse.SERVING)

    def draining(self) -> None:
        """Say that new calls should go elsewhere."""
        self.servicer.enter_graceful_shutdown()

    def store(self, *, problem: str | None) -> None:
        """Say whether the store can be used."""
        status = health_pb2.HealthCheckResponse
        self.servicer.set(STORE_SERVICE, status.NOT_SERVING if problem else status.SERVING)

    def _set(self, status: health_pb2.HealthCheckResponse.ServingStatus.ValueType) -> None:
        for service in self._services:
            self.servicer.set(service, status)


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
