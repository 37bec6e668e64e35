"""The composition root: the only file that names concrete adapters.

`serve` runs a sidecar until it is told to stop; `Sidecar` is the same as an object, for demos and tests.
"""

from __future__ import annotations

import gc
import logging
import os
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from types import FrameType

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from askonce_server.clock import BootClock
from askonce_server.config.address import Address
from askonce_server.config.convert import core_rules
from askonce_server.config.model import Config, TlsSection
from askonce_server.ports import Clock, EntryStore, StoreUnavailable
from askonce_server.rpc import admin, decision
from askonce_server.rpc.bearer import BearerToken
from askonce_server.rpc.drain import Health, drain
from askonce_server.rpc.listen import ListenError, SocketLock, bind
from askonce_server.rpc.permits import Limits
from askonce_server.service.faults import FaultLog
from askonce_server.service.lookup import LookupService
from askonce_server.service.store import StoreService
from askonce_server.service.tallies import Tallies
from askonce_server.service.tokens import FillTokens
from askonce_server.store import (
    LmdbEntryStore,
    MemoryEntryStore,
    ReopeningStore,
    StoreSettings,
    open_store,
)
from askonce_server.telemetry.logs import log_json_lines

_log = logging.getLogger("askonce")
_TOKEN_KEY_BYTES = 32
_STORE_WATCH_SECONDS = 1.0
_ADMIN_THREADS = 4
_RECEIVE_ROOM = 2
"""How many times `max_request` the transport takes, so that the answer can name the limit and the size."""


class SystemRandomness:
    """Unpredictable bytes of the operating system."""

    def token(self, size: int) -> bytes:
        """Return `size` unpredictable bytes."""
        return os.urandom(size)


class Sidecar:
    """A running server. Raises ListenError when an address cannot be had."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._locks: list[SocketLock] = []
        self._stopped = threading.Event()
        self.rules = core_rules(config)
        limits = Limits(
            threads=config.threads,
            max_request=config.max_request,
            max_response=config.max_response,
            max_in_flight_bytes=config.max_in_flight_bytes,
        )
        self.store, clock, key = _open(config, pool=limits.threads + limits.waiting)
        tallies, faults = Tallies(), FaultLog()
        tokens = FillTokens(key)
        lookups = LookupService(
            store=self.store, clock=clock, rules=lambda: self.rules, tallies=tallies, faults=faults
        )
        stores = StoreService(
            store=self.store,
            clock=clock,
            rules=lambda: self.rules,
            tokens=tokens,
            tallies=tallies,
            faults=faults,
        )
        self._servicer = decision.DecisionServicer(
            lookups=lookups, stores=stores, tokens=tokens, randomness=SystemRandomness(), limits=limits
        )
        self._admin = admin.AdminServicer(
            version=version("askonce-server"), store=self.store, rules=lambda: self.rules, tallies=tallies
        )
        self.health = Health([decision.SERVICE])
        self._servers: list[grpc.Server] = []

    def start(self) -> None:
        """Listen and serve."""
        config = self._config
        workers = config.threads + Limits().waiting
        server = self._server([self._servicer.handler()], [decision.SERVICE], workers=workers)
        self._bind(server, config.listen, config.tls)
        self._servers = [server]
        if config.admin is not None:
            admins = self._server(
                [self._admin.handler()],
                [admin.SERVICE],
                workers=_ADMIN_THREADS,
                interceptors=_bearer(config.admin.token_env),
            )
            self._bind(admins, config.admin.listen, config.admin.tls)
            self._servers.append(admins)
        for one in self._servers:
            one.start()
        self.health.store(problem=self.store.problem())
        self.health.serving()
        threading.Thread(target=self._watch_store, name="askonce-store-watch", daemon=True).start()

    def stop(self) -> None:
        """Stop in order: say so, finish what began, close the store, remove the sockets."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        section = self._config.drain
        drain(
            self._servers,
            self.health,
            delay_seconds=section.delay.total_seconds(),
            grace_seconds=section.grace.total_seconds(),
        )
        self.store.close()
        for lock in self._locks:
            lock.release()

    def _server(
        self,
        handlers: Sequence[grpc.GenericRpcHandler],
        services: Sequence[str],
        *,
        workers: int,
        interceptors: Sequence[grpc.ServerInterceptor] = (),
    ) -> grpc.Server:
        server = grpc.server(
            ThreadPoolExecutor(max_workers=workers, thread_name_prefix="askonce-call"),
            handlers=list(handlers),
            interceptors=list(interceptors),
            options=[
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", self._config.max_request * _RECEIVE_ROOM),
                ("grpc.max_send_message_length", -1),
            ],
        )
        health_pb2_grpc.add_HealthServicer_to_server(self.health.servicer, server)
        reflection.enable_server_reflection((*services, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        return server

    def _bind(self, server: grpc.Server, addresses: Sequence[Address], tls: TlsSection | None) -> None:
        for address in addresses:
            credentials = None if address.private or tls is None else _credentials(tls)
            lock = bind(server, str(address), credentials=credentials)
            if lock is not None:
                self._locks.append(lock)

    def _watch_store(self) -> None:
        """Keep the health of the store current, and say when it changes."""
        told = self.store.problem()
        while not self._stopped.wait(_STORE_WATCH_SECONDS):
            problem = self.store.problem()
            if problem != told:
                told = problem
                _log.warning("store: %s", problem or "usable again")
                self.health.store(problem=problem)


def serve(config: Config) -> int:
    """Run a sidecar until SIGTERM or SIGINT; return the exit status: 1 when it cannot listen."""
    log_json_lines()
    sidecar = Sidecar(config)
    try:
        sidecar.start()
    except ListenError as error:
        _log.error("%s", error)
        sidecar.stop()
        return 1
    stop = threading.Event()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        _log.info("%s: draining", signal.Signals(number).name)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
    for address in config.listen:
        _log.info("listening on %s", address)
    problem = sidecar.store.problem()
    if problem is not None:
        _log.error("every Lookup is a bypass, since the store cannot be used: %s", problem)
    gc.collect()
    gc.freeze()  # what lives as long as the process need not be looked at again
    stop.wait()
    sidecar.stop()
    return 0


def _open(config: Config, *, pool: int) -> tuple[EntryStore, Clock, bytes]:
    """Open the store, the clock whose anchor it keeps, and the key that signs tokens.

    A store that cannot be opened is stood in for, and tried again: every Lookup passes through until then.
    """
    section = config.store
    key = _configured_key(config)
    if section.engine == "memory":
        return MemoryEntryStore(max_bytes=section.max_bytes), BootClock(), key or os.urandom(_TOKEN_KEY_BYTES)
    settings = StoreSettings(
        path=section.path,
        max_bytes=section.max_bytes,
        durability=section.durability,
        write_timeout=section.write_timeout.total_seconds(),
        pool=pool,
    )
    store: LmdbEntryStore | None = None
    try:
        store = open_store(settings)
        clock = BootClock(store)
        return store, clock, key or store.settle_token_key(os.urandom(_TOKEN_KEY_BYTES))
    except StoreUnavailable as unavailable:
        if store is not None:
            store.close()
        reopening = ReopeningStore(str(unavailable), lambda: open_store(settings))
        return reopening, BootClock(), key or os.urandom(_TOKEN_KEY_BYTES)


def _configured_key(config: Config) -> bytes | None:
    name = config.fill_token_key_env
    return os.environ[name].encode() if name is not None else None


def _bearer(name: str | None) -> Sequence[grpc.ServerInterceptor]:
    return () if name is None else (BearerToken(os.environ[name]),)


def _credentials(tls: TlsSection) -> grpc.ServerCredentials:
    pair = (tls.key.read_bytes(), tls.cert.read_bytes())
    authorities = tls.client_ca.read_bytes() if tls.client_ca is not None else None
    return grpc.ssl_server_credentials(
        [pair], root_certificates=authorities, require_client_auth=authorities is not None
    )
