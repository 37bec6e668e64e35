"""What operators watch a server by: counts that are kept, pushed, and told over HTTP, and traces of calls."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING
from uuid import uuid4

from askonce_server.assembly import Kept
from askonce_server.config.address import TcpAddress
from askonce_server.config.model import Config
from askonce_server.needs import CannotStart
from askonce_server.ports import EntryStore, StoreUnavailable
from askonce_server.rpc.health import Health
from askonce_server.rpc.sockets import ListenError
from askonce_server.service.faults import FaultLog
from askonce_server.service.keeping import CountsKeeper
from askonce_server.service.tallies import Tallies
from askonce_server.store import Turn
from askonce_server.telemetry import setup
from askonce_server.telemetry.decision_log import DecisionLog
from askonce_server.telemetry.metrics import Metric, Reading, metrics
from askonce_server.telemetry.otlp import OtlpPush, Server, exporter_of, wanted
from askonce_server.telemetry.prometheus import Scrapes
from askonce_server.web import operators
from askonce_server.web.routes import Handler, Routes
from askonce_server.web.server import CannotListen, WebServer
from askonce_server.workers.identity import Worker

if TYPE_CHECKING:
    from askonce_server.telemetry.tracing import Tracing

_COUNTS_LOCK, _PUSH_LOCK = "counts.lock", "push.lock"
_NAME_BYTES = 32
_STORE_WATCH_SECONDS = 1.0
_log = logging.getLogger("askonce")


def counts_keeper(config: Config, worker: Worker | None, tallies: Tallies, kept: Kept) -> CountsKeeper:
    """Return what keeps the counts; the workers of one server have one name for it, and take turns."""
    keeper = CountsKeeper(
        tallies,
        kept.store,
        kept.clock,
        server=os.urandom(_NAME_BYTES) if worker is None else worker.instance.encode(),
        seconds=config.stats.flush.total_seconds(),
        turns=None if worker is None else Turn(config.store.path / _COUNTS_LOCK),
    )
    pushes = _push(config, worker, keeper, kept.store, os.environ)
    if pushes is not None:
        keeper.followers.append(pushes)
    return keeper


def calls_tracing(worker: Worker | None) -> Tracing | None:
    """Return what follows calls, and marks their lines in the log, if the environment wants traces."""
    tracing = setup.tracing(os.environ, _server(worker))
    if tracing is not None:
        tracing.start()
    return tracing


def decision_log(config: Config, tallies: Tallies, tracing: Tracing | None) -> DecisionLog | None:
    """Return what writes decisions, where the configuration wants it. Raises CannotStart."""
    section = config.telemetry.decision_log
    if section is None:
        return None
    try:
        # Lines of several workers do not mix: each is one write to the end of the file.
        sink = os.fdopen(os.open(section.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "wb", 0)
    except OSError as error:
        raise CannotStart(f"telemetry.decision_log: cannot write {section.path}: {error.strerror}") from error
    return DecisionLog(
        sink,
        sample=section.sample,
        dropped=tallies.lost_line,
        trace_id=str if tracing is None else tracing.trace_id,
    )


def watch_store(store: EntryStore, health: Health, stopped: threading.Event) -> None:
    """Keep the health of the store current from now on, and say when it changes."""

    def watch() -> None:
        told = store.problem()
        while not stopped.wait(_STORE_WATCH_SECONDS):
            problem = store.problem()
            if problem != told:
                told = problem
                _log.warning("store: %s", problem or "usable again")
                health.store(problem=problem)

    threading.Thread(target=watch, name="askonce-store-watch", daemon=True).start()


def _server(worker: Worker | None) -> Server:
    return Server(
        version=version("askonce-server"),
        instance=uuid4().hex if worker is None else worker.instance,
        began_ns=time.time_ns() if worker is None else worker.began_ns,
    )


def _reading(keeper: CountsKeeper, store: EntryStore) -> Reading:
    """Return what reads every metric as it is now."""

    def reading() -> Iterator[Metric]:
        try:
            stats = store.stats()
        except StoreUnavailable:
            stats = None
        return metrics(keeper.counted(), stats)

    return reading


def _push(
    config: Config, worker: Worker | None, keeper: CountsKeeper, store: EntryStore, environ: Mapping[str, str]
) -> OtlpPush | None:
    """Return what pushes metrics, if the environment wants it."""
    how = wanted(environ)
    exporter = None if how is None else exporter_of(how)
    if how is None or exporter is None:
        return None
    turns = None if worker is None else Turn(config.store.path / _PUSH_LOCK)
    return OtlpPush(how, exporter, _reading(keeper, store), _server(worker), turns)


def web_server(  # noqa: PLR0913 - the composition root passes each by name
    config: Config,
    *,
    pages: Mapping[tuple[str, str], Handler],
    keeper: CountsKeeper,
    store: EntryStore,
    health: Health,
    faults: FaultLog,
    shared: bool,
) -> WebServer | None:
    """Return what listens at `telemetry.listen`, if anything does; `shared` with other workers.

    It serves `pages` besides metrics and health.

    Raises ListenError.
    """
    address = config.telemetry.listen
    if not isinstance(address, TcpAddress):
        return None

    table = {**operators.routes(Scrapes(_reading(keeper, store)), health.problem), **pages}
    routes = Routes(table, faults=faults, hosts=config.telemetry.hosts, open_to=operators.OPEN)
    try:
        return WebServer(
            address.host, address.port, routes, max_request=2 * config.max_request, shared=shared
        )
    except CannotListen as fault:
        raise ListenError(str(fault)) from fault
