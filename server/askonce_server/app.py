"""The composition root: what a server is made of, with the adapters that `assembly` makes.

`serve` runs a sidecar until it is told to stop; `Sidecar` is the same as an object, for demos and tests.
"""

from __future__ import annotations

import gc
import logging
import signal
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue

import grpc
from grpc_health.v1 import health, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from askonce_server import assembly, showing, watching
from askonce_server.config.address import Address
from askonce_server.config.convert import core_rules
from askonce_server.config.model import Config, TlsSection
from askonce_server.config.reload import ConfigFile
from askonce_server.core.rules import Rule
from askonce_server.needs import (
    ADMIN_TOKEN_LEAST_BYTES,
    TOKEN_KEY_LEAST_BYTES,
    CannotStart,
    limits_of,
    secret,
)
from askonce_server.reloading import Reloading
from askonce_server.rpc import admin, decision
from askonce_server.rpc.bearer import BearerToken
from askonce_server.rpc.certificates import Certificates
from askonce_server.rpc.drain import drain
from askonce_server.rpc.drawn import SystemRandomness
from askonce_server.rpc.feedback import Feedback
from askonce_server.rpc.handlers import Gate
from askonce_server.rpc.health import Health
from askonce_server.rpc.listen import ListenError, SocketLock, bind
from askonce_server.rpc.pem import PemFiles
from askonce_server.rpc.permits import Limits
from askonce_server.service.driver import Driver
from askonce_server.service.faults import FaultLog
from askonce_server.service.feedback import FeedbackService
from askonce_server.service.flight import Flight
from askonce_server.service.lookup import LookupService
from askonce_server.service.shared import Shared
from askonce_server.service.store import StoreService
from askonce_server.service.tallies import Tallies
from askonce_server.service.tokens import FillTokens
from askonce_server.store import LocalLeases, Sweeper, open_leases
from askonce_server.telemetry.logs import log_json_lines
from askonce_server.web.server import WebServer
from askonce_server.workers.identity import Worker

_log = logging.getLogger("askonce")
_CONFIG_WATCH_SECONDS = 2.0
_ADMIN_THREADS = 4
_QUEUED_PER_THREAD = 16
"""How many calls may wait for one thread; beyond, the transport answers RESOURCE_EXHAUSTED by itself."""
_MOST_PENDING = 1 << 14
"""How many calls may have come that are not yet handed to the threads. Beyond, the transport cancels them; by
default it cancels some by chance from 1000 on, and as many come at once when this process stood still."""
_GARBAGE = 20_000
"""How many new objects there are when the youngest are looked through for cycles. A call leaves none behind:
at the usual 700 that happens every forty calls, takes 190 us and finds nothing."""
_RECEIVE_ROOM = 2
"""How many times `max_request` the transport takes, so that the answer can name the limit and the size."""


class Sidecar:
    """A running server, or one `worker` of it.

    Raises CannotStart when a secret is not there; `start` raises ListenError when an address cannot be had.
    """

    def __init__(self, config: Config, *, worker: Worker | None = None) -> None:
        self._config = config
        self._worker = worker
        key = secret("fill_token_key_env", config.fill_token_key_env, least=TOKEN_KEY_LEAST_BYTES)
        admin_token_env = config.admin.token_env if config.admin is not None else None
        self._admin_token = secret("admin.token_env", admin_token_env, least=ADMIN_TOKEN_LEAST_BYTES)
        self._locks: list[SocketLock] = []
        self._pools: list[ThreadPoolExecutor] = []
        self._stopped = threading.Event()
        self._tracing = watching.calls_tracing(worker)
        self._gate = Gate(self._tracing)
        self.rules: Sequence[Rule] = core_rules(config)
        limits = limits_of(config)
        self._threads = limits.pool
        self._most_waiters = limits.waiters
        kept = assembly.keep(config, worker, pool=limits.pool, key=key)
        self.store = kept.store
        tallies = Tallies(None if worker is None else worker.tallies)
        faults = self._faults = FaultLog()
        self._clock = kept.clock
        self._sweeper: Sweeper | None = None
        self._models = assembly.models(config, self.store, faults, tallies)
        kept.followers.append(self._models.forget)
        self.labelling, proofs = assembly.labelling(config, kept, self._models, faults, tallies)
        self._leases = (
            LocalLeases() if worker is None else open_leases(config.store.path, instance=worker.instance)
        )
        self._decision_log = watching.decision_log(config, tallies, self._tracing)
        self._recent = showing.recent(config, worker, kept.clock)
        shared = Shared(
            driver=Driver(self.store, self._models, weigh=self.labelling.weigh),
            guard_token=kept.guard_key,
            clock=kept.clock,
            rules=lambda: self.rules,
            flight=Flight(self._leases, kept.clock, most=limits.waiters),
            tallies=tallies,
            faults=faults,
            proven=proofs.hold,
            watches=[one for one in (self._recent, self._tracing, self._decision_log) if one is not None],
            store_watches=() if self._tracing is None else (self._tracing,),
        )
        self._servicer = self._deciding(shared, kept.tokens, limits)
        self._keeper = watching.counts_keeper(config, worker, tallies, kept)
        self._shown = showing.Shown(
            config, shared, worker, store=self.store, models=self._models, keeper=self._keeper
        )
        self.health = Health([decision.SERVICE, *([admin.SERVICE] if config.admin is not None else [])])
        self._servers: list[grpc.Server] = []
        self.web: WebServer | None = None

    def _deciding(self, shared: Shared, tokens: FillTokens, limits: Limits) -> decision.DecisionServicer:
        return decision.DecisionServicer(
            lookups=LookupService(shared),
            stores=StoreService(shared, store=self.store, tokens=tokens, labelling=self.labelling),
            tokens=tokens,
            feedback=Feedback(FeedbackService(self.store, tokens, shared.clock, shared.rules)),
            randomness=SystemRandomness(),
            limits=limits,
            faults=shared.faults,
            steps=decision.nobody if self._tracing is None else self._tracing.steps,
        )

    def start(self) -> None:
        """Listen and serve. Raises ListenError; nothing is left behind then."""
        try:
            self._listen()
        except BaseException:
            self._gate.close()
            for one in self._servers:
                one.start()  # only what was started can be stopped, and lets go of its addresses
            self.stop()
            raise
        for one in self._servers:
            one.start()
        self.health.store(problem=self.store.problem())
        self.health.serving()
        if self.web is not None:
            self.web.start()
        section = self._config.store
        folder = section.path if section.engine == "lmdb" else None
        self._sweeper = Sweeper(self.store, self._clock, folder=folder)
        self._keeper.start()
        watching.watch_store(self.store, self.health, self._stopped)

    def _listen(self) -> None:
        config = self._config
        handlers = [self._servicer.handler(self._gate), self._shown.admin.info_handler(self._gate)]
        server = self._server(handlers, [decision.SERVICE], threads=self._threads)
        self._bind(server, config.listen, config.tls)
        if config.admin is not None:
            admins = self._server(
                [self._shown.admin.handler(self._gate)],
                [admin.SERVICE],
                threads=_ADMIN_THREADS,
                interceptors=_bearer(self._admin_token),
            )
            self._bind(admins, config.admin.listen, config.admin.tls)
        self.web = watching.web_server(
            config,
            pages=self._shown.pages(self._recent),
            keeper=self._keeper,
            store=self.store,
            health=self.health,
            faults=self._faults,
            shared=self._worker is not None,
        )

    def reloading(self, file: ConfigFile | None) -> Reloading | None:
        """Return what takes over `file` when it is looked at."""
        if file is None:
            return None
        return Reloading(
            file,
            exchange=self._exchange_rules,
            entries=self.store.entries_by_rule,
            embedders=self._models.embedders.keys(),
            most_waiters=self._most_waiters,
        )

    def _exchange_rules(self, rules: Sequence[Rule]) -> Sequence[Rule]:
        before, self.rules = self.rules, rules
        return before

    def stop(self) -> None:
        """Stop in order: say so, finish what began, close the store, remove the sockets."""
        if self._stopped.is_set():
            return
        self._stopped.set()
        self._leases.close()  # whoever waits for another's answer goes on without it
        section = self._config.drain
        drain(
            self._servers,
            self.health,
            self._gate,
            delay_seconds=section.delay.total_seconds(),
            grace_seconds=section.grace.total_seconds(),
        )
        for pool in self._pools:
            pool.shutdown(wait=False)
        self.labelling.close()
        self._models.close()
        if self.web is not None:
            self.web.close()
        self._keeper.close()
        if self._sweeper is not None:
            self._sweeper.close()
        self.store.close()
        for one in (self._tracing, self._decision_log):
            if one is not None:
                one.close()
        for lock in self._locks:
            lock.release()

    def _server(
        self,
        handlers: Sequence[grpc.GenericRpcHandler],
        services: Sequence[str],
        *,
        threads: int,
        interceptors: Sequence[grpc.ServerInterceptor] = (),
    ) -> grpc.Server:
        pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="askonce-call")
        self._pools.append(pool)
        server = grpc.server(
            pool,
            handlers=list(handlers),
            interceptors=list(interceptors),
            maximum_concurrent_rpcs=threads * _QUEUED_PER_THREAD,
            options=[
                ("grpc.so_reuseport", int(self._worker is not None)),
                ("grpc.max_receive_message_length", self._config.max_request * _RECEIVE_ROOM),
                ("grpc.max_send_message_length", -1),
                ("grpc.server.max_pending_requests", _MOST_PENDING),
                ("grpc.server.max_pending_requests_hard_limit", _MOST_PENDING),
            ],
        )
        health_pb2_grpc.add_HealthServicer_to_server(self.health.servicer, server)
        reflection.enable_server_reflection((*services, health.SERVICE_NAME, reflection.SERVICE_NAME), server)
        self._servers.append(server)
        return server

    def _bind(self, server: grpc.Server, addresses: Sequence[Address], tls: TlsSection | None) -> None:
        for address in addresses:
            credentials = (
                None
                if address.private or tls is None
                else Certificates(PemFiles(tls.cert, tls.key, tls.client_ca)).credentials()
            )
            lock = bind(server, str(address), credentials=credentials)
            if lock is not None:
                self._locks.append(lock)


def serve(config: Config, *, file: ConfigFile | None = None, worker: Worker | None = None) -> int:
    """Run a sidecar until SIGTERM or SIGINT; return the exit status: 1 when it cannot start.

    What `file` says is taken over at SIGHUP and when it has changed; `config` is what it said last.
    """
    log_json_lines(worker=worker.number if worker is not None else None)
    signals: SimpleQueue[int] = SimpleQueue()  # the one that a signal handler may put into at any time
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda number, _: signals.put(number))
    try:
        sidecar = Sidecar(config, worker=worker)
        sidecar.start()
    except (CannotStart, ListenError) as error:
        _log.error("%s", error)
        return 1
    for address in config.listen:
        _log.info("listening on %s", address)
    if sidecar.web is not None:
        what, path = ("the page", "") if config.telemetry.page else ("metrics", "metrics")
        _log.info("%s at http://%s/%s", what, sidecar.web.address, path)
    for address in config.admin.listen if config.admin is not None else ():
        _log.info("listening for operators on %s", address)
    problem = sidecar.store.problem()
    if problem is not None:
        _log.error("every Lookup is a bypass, since the store cannot be used: %s", problem)
    gc.collect()
    gc.freeze()  # what lives as long as the process need not be looked at again
    gc.set_threshold(_GARBAGE)
    if worker is not None:
        worker.serving()
    by = _wait(signals, sidecar.reloading(file))
    _log.info("%s: draining", signal.Signals(by).name)
    sidecar.stop()
    return 0


def _wait(signals: SimpleQueue[int], reloading: Reloading | None) -> int:
    """Return the signal to stop by. Until then keep to the configuration's file."""
    number: int = 0
    while number in (0, signal.SIGHUP):
        if reloading is not None:
            reloading.look(asked=number == signal.SIGHUP)
        elif number == signal.SIGHUP:
            _log.info("there is no file to read again: the embedded default serves")
        try:
            number = signals.get(timeout=_CONFIG_WATCH_SECONDS)
        except Empty:
            number = 0
    return number


def _bearer(token: bytes | None) -> Sequence[grpc.ServerInterceptor]:
    return () if token is None else (BearerToken(token),)
