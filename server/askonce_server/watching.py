"""What operators watch a server by, over HTTP."""

from __future__ import annotations

from collections.abc import Iterator

from askonce_server.config.address import TcpAddress
from askonce_server.config.model import Config
from askonce_server.ports import EntryStore, StoreUnavailable
from askonce_server.rpc.health import Health
from askonce_server.rpc.sockets import ListenError
from askonce_server.service.faults import FaultLog
from askonce_server.service.keeping import CountsKeeper
from askonce_server.telemetry.metrics import Metric, metrics
from askonce_server.telemetry.prometheus import Scrapes
from askonce_server.web import operators
from askonce_server.web.routes import Routes
from askonce_server.web.server import CannotListen, WebServer


def web_server(  # noqa: PLR0913 - the composition root passes each by name
    config: Config,
    *,
    keeper: CountsKeeper,
    store: EntryStore,
    health: Health,
    faults: FaultLog,
    shared: bool,
) -> WebServer | None:
    """Return what listens at `telemetry.listen`, if anything does; `shared` with other workers.

    Raises ListenError.
    """
    address = config.telemetry.listen
    if not isinstance(address, TcpAddress):
        return None

    def reading() -> Iterator[Metric]:
        try:
            stats = store.stats()
        except StoreUnavailable:
            stats = None
        return metrics(keeper.counted(), stats)

    table = operators.routes(Scrapes(reading), health.problem)
    routes = Routes(table, faults=faults, hosts=config.telemetry.hosts, open_to=operators.OPEN)
    try:
        return WebServer(
            address.host, address.port, routes, max_request=2 * config.max_request, shared=shared
        )
    except CannotListen as fault:
        raise ListenError(str(fault)) from fault
