"""What operators are shown, by gRPC and by the page, and who answers them."""

from __future__ import annotations

import time
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from askonce_server.config.model import Config
from askonce_server.config.quantities import ONE_MS
from askonce_server.core.keys import KEY_SCHEMA
from askonce_server.ports import Clock, EntryStore
from askonce_server.rpc.admin import AdminServicer
from askonce_server.rpc.drawn import SystemRandomness
from askonce_server.rpc.explaining import Explaining
from askonce_server.rpc.stats import StatsReport
from askonce_server.service.admin import AdminService
from askonce_server.service.explain import ExplainService
from askonce_server.service.explain_one import StoreExplainer
from askonce_server.service.keeping import CountsKeeper
from askonce_server.service.models import Models
from askonce_server.service.recent import RecentDecisions
from askonce_server.service.shared import Shared
from askonce_server.web.api import Api, Sources
from askonce_server.web.overview import OverviewReport
from askonce_server.web.page import page_routes
from askonce_server.web.routes import Handler
from askonce_server.workers.identity import Worker
from askonce_server.workers.recent import alone


def recent(config: Config, worker: Worker | None, clock: Clock) -> RecentDecisions | None:
    """Return what remembers the latest decisions for the page; None where there is no page."""
    if config.telemetry.listen is None or not config.telemetry.page:
        return None
    return RecentDecisions(alone() if worker is None else worker.recent, clock)


class Shown:
    """What operators are told: by gRPC, by the page, from the same counts."""

    def __init__(  # noqa: PLR0913 - the composition root passes each by name
        self,
        config: Config,
        shared: Shared,
        worker: Worker | None,
        *,
        store: EntryStore,
        models: Models,
        keeper: CountsKeeper,
    ) -> None:
        self._config = config
        self._shared = shared
        self._store = store
        started = time.monotonic() if worker is None else worker.started
        self._stats = StatsReport(keeper, store, shared.rules, shared.clock, started)
        self._explain = ExplainService(shared)
        upkeep = AdminService(
            store=store,
            clock=shared.clock,
            randomness=SystemRandomness(),
            rules=shared.rules,
            purge_within_ms=config.sweep.purge_within // ONE_MS,
        )
        self.admin = AdminServicer(
            version=version("askonce-server"),
            store=store,
            upkeep=upkeep,
            rules=shared.rules,
            embedders=[(config.embedders[one.name].kind, one) for one in models.embedders.values()],
            stats=self._stats,
            faults=shared.faults,
            explain=Explaining(
                self._explain, StoreExplainer(shared, store), max_request=config.max_request
            ).explain,
        )

    def pages(self, recent: RecentDecisions | None) -> Mapping[tuple[str, str], Handler]:
        """Return what the page is made of: nothing where no decision is remembered for it."""
        if recent is None:
            return {}
        overview = OverviewReport(
            stats=self._stats,
            recent=recent,
            rules=self._shared.rules,
            clock=self._shared.clock,
            problem=self._store.problem,
            server=_described(self._config),
        )
        sources = Sources(overview=overview, recent=recent, admin=self.admin, explain=self._explain)
        return {**page_routes(), **Api(sources, max_request=self._config.max_request).routes()}


def _described(config: Config) -> Mapping[str, Any]:
    """Return what the page says of the server that never changes."""
    return {
        "version": version("askonce-server"),
        "key_schema": KEY_SCHEMA,
        "workers": config.workers,
        "listen": [str(address) for address in config.listen],
        "engine": config.store.engine,
    }
