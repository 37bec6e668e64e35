"""The standard health service (`grpc.health.v1`), with a name of its own for the store."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from threading import Lock

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

STORE_SERVICE = "askonce.store"

Status = health_pb2.HealthCheckResponse
SendResponse = Callable[[health_pb2.HealthCheckResponse | None], None]
"""Sends a watcher its next answer and waits until it is on its way; None ends the call."""


class WatchedHealth(health_pb2_grpc.HealthServicer):  # type: ignore[misc]  # it comes without types
    """Health whose watchers hold up nobody, and can be sent home: each is a call that never ends by itself.

    The servicer of grpcio-health-checking sends under the lock that the end of a call takes too. A watcher
    who leaves while another is told stops the whole server there: what was sent is never reported as sent.
    """

    def __init__(self) -> None:
        self._statuses: dict[str, int] = {}
        self._watchers: dict[SendResponse, str] = {}
        self._draining = self._closed = False
        self._lock = Lock()
        """Guards the fields. Never held while something is sent."""
        self._sending = Lock()
        """Keeps what is sent in the order in which it came true."""

    def Check(  # noqa: N802 - the name of the RPC
        self, request: health_pb2.HealthCheckRequest, context: grpc.ServicerContext
    ) -> health_pb2.HealthCheckResponse:
        """Answer the status of a service; NOT_FOUND when there is none of that name."""
        status = self._statuses.get(request.service)
        if status is None:
            context.set_code(grpc.StatusCode.NOT_FOUND)
            return Status()
        return Status(status=status)

    def Watch(  # noqa: N802 - the name of the RPC
        self,
        request: health_pb2.HealthCheckRequest,
        context: grpc.ServicerContext,
        send_response_callback: SendResponse,
    ) -> None:
        """Send the status now and whenever it changes."""
        send = send_response_callback
        with self._sending:
            with self._lock:
                self._watchers[send] = request.service
                status = self._statuses.get(request.service, Status.SERVICE_UNKNOWN)
            if not context.add_callback(lambda: self._forget(send)):
                self._forget(send)
            send(Status(status=status))
            if self._closed:
                send(None)

    Watch.experimental_non_blocking = True  # type: ignore[attr-defined]  # a watcher keeps no thread
    Watch.experimental_thread_pool = None  # type: ignore[attr-defined]

    def set(self, services: Iterable[str], status: int) -> None:
        """Give each of `services` a status, and tell who watches it. Without effect once draining."""
        for service in services:
            with self._sending:
                with self._lock:
                    if self._draining:
                        return
                    self._statuses[service] = status
                    told = [send for send, watched in self._watchers.items() if watched == service]
                for send in told:
                    send(Status(status=status))

    def status(self, service: str) -> int:
        """Return the status of a service."""
        return self._statuses.get(service, int(Status.SERVICE_UNKNOWN))

    def drain(self) -> None:
        """Say NOT_SERVING of everything, for good."""
        with self._sending:
            with self._lock:
                self._draining = True
                self._statuses = dict.fromkeys(self._statuses, Status.NOT_SERVING)
                told = [send for send, watched in self._watchers.items() if watched in self._statuses]
            for send in told:
                send(Status(status=Status.NOT_SERVING))

    def close(self) -> None:
        """End every Watch."""
        with self._sending:
            self._closed = True
            with self._lock:
                watchers = list(self._watchers)
            for send in watchers:
                send(None)

    def _forget(self, send: SendResponse) -> None:
        with self._lock, suppress(KeyError):
            del self._watchers[send]


class Health:
    """What the server says of itself."""

    def __init__(self, services: Sequence[str]) -> None:
        self.servicer = WatchedHealth()
        self._services = ("", *services)
        self.servicer.set(self._services, Status.NOT_SERVING)
        self.store(problem="not opened yet")

    def serving(self) -> None:
        """Say that Lookup answers, be it in pass-through."""
        self.servicer.set(self._services, Status.SERVING)

    def draining(self) -> None:
        """Say that new calls should go elsewhere."""
        self.servicer.drain()

    def problem(self) -> str | None:
        """Say why calls are not to be sent here, or None: the server is starting, or draining."""
        return None if self.servicer.status("") == Status.SERVING else "starting or draining"

    def store(self, *, problem: str | None) -> None:
        """Say whether the store can be used."""
        self.servicer.set((STORE_SERVICE,), Status.NOT_SERVING if problem else Status.SERVING)
