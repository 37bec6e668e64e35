"""The answer to GetStats, which the page and the command line show too."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from askonce.v1 import admin_service_pb2
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.rules import Rule
from askonce_server.ports import Clock, EntryStore, StoreUnavailable
from askonce_server.rpc.status import NotFound
from askonce_server.service.keeping import CountsKeeper
from askonce_server.service.statistics import Latency, statistics
from askonce_server.service.tallies import merged

_LATEST_SECONDS = 1 << 40
"""Beyond any time that is meant, and small enough to count in milliseconds."""


class StatsReport:
    """Tells what was counted. `started` is when the server did, in seconds of `time.monotonic`."""

    def __init__(
        self,
        counts: CountsKeeper,
        store: EntryStore,
        rules: Callable[[], Sequence[Rule]],
        clock: Clock,
        started: float,
    ) -> None:
        self._counts = counts
        self._store = store
        self._rules = rules
        self._clock = clock
        self._started = started

    def response(self, request: admin_service_pb2.GetStatsRequest) -> admin_service_pb2.GetStatsResponse:
        """Return the answer. Raises MalformedRequest, NotFound, and StoreUnavailable for what lies behind."""
        if request.rule_id and request.rule_id not in {rule.id for rule in self._rules()}:
            raise NotFound(f"there is no rule {request.rule_id!r}: GetServerInfo lists the rules")
        up_ms = round((time.monotonic() - self._started) * 1000)
        if request.HasField("since"):
            counted, since_ms = self._counts.since(_since_ms(request))
        else:
            counted, since_ms = self._counts.counted(), self._clock.now_ms() - up_ms
        rule = request.rule_id
        everything = merged(counted)
        response = _encode(merged({rule: counted.get(rule, {})}) if rule else everything)
        response.counted_since.FromMilliseconds(since_ms)
        response.uptime.FromMilliseconds(up_ms)
        response.evictions = everything.get("store.evicted", 0)
        self._add_store(response, rule)
        return response

    def _add_store(self, response: admin_service_pb2.GetStatsResponse, rule_id: str) -> None:
        try:
            stats = self._store.stats()
            entries = self._store.entries_by_rule().get(rule_id, 0) if rule_id else stats.entries
        except StoreUnavailable:
            return
        response.commits = stats.commits
        response.entries = entries
        response.store_bytes = stats.used_bytes
        response.store_limit_bytes = stats.limit_bytes
        response.partitions = stats.partitions


def _since_ms(request: admin_service_pb2.GetStatsRequest) -> int:
    since = request.since
    if not 0 <= since.seconds < _LATEST_SECONDS:
        raise MalformedRequest([Violation("since", "must be a time since 1970")])
    return since.seconds * 1000 + since.nanos // 1_000_000


def _encode(counts: dict[str, int]) -> admin_service_pb2.GetStatsResponse:
    told = statistics(counts)
    response = admin_service_pb2.GetStatsResponse(
        decisions=told.decisions,
        hits=told.hits,
        misses=told.misses,
        bypasses=told.bypasses,
        refreshes=told.refreshes,
        tallies=told.tallies,
        stores=told.stores,
        refusals=told.refusals,
        hit_rate=told.hit_rate,
        stale_hits=told.stale,
        collapsed_hits=told.collapsed,
        embeddings=told.embeddings,
        embed_cost_usd=told.embed_cost_usd,
        cost_avoided_usd=told.cost_avoided_usd,
        unpriced_hits=told.unpriced_hits,
        calls_avoided=told.hits,
    )
    if told.hit_latency is not None:
        response.hit_latency.CopyFrom(_latency(told.hit_latency))
    if told.miss_latency is not None:
        response.miss_latency.CopyFrom(_latency(told.miss_latency))
    return response


def _latency(told: Latency) -> admin_service_pb2.Latency:
    message = admin_service_pb2.Latency(count=told.count)
    message.mean.FromMicroseconds(round(told.sum_us / told.count))
    message.p50.FromMicroseconds(told.p50_us)
    message.p95.FromMicroseconds(told.p95_us)
    message.p99.FromMicroseconds(told.p99_us)
    return message
