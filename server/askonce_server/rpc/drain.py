"""Health, and stopping in order: NOT_SERVING, delay, drain, then close what is behind."""

from __future__ import annotations

import time
from collections.abc import Sequence

import grpc
from grpc_health.v1 import health, health_pb2

STORE_SERVICE = "askonce.store"


class Health:
    """The standard health service; the store has a name of its own."""

    def __init__(self, services: Sequence[str]) -> None:
        self.servicer = health.HealthServicer()
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
    servers: Sequence[grpc.Server], told: Health, *, delay_seconds: float, grace_seconds: float
) -> None:
    """Stop in order; returns when no call is left. Calls that began are finished within the grace."""
    told.draining()
    time.sleep(delay_seconds)
    for stopped in [server.stop(grace_seconds) for server in servers]:
        stopped.wait()
