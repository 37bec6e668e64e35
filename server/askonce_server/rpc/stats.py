"""The answer to GetStats, which the page and the command line show too."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from askonce.v1 import admin_service_pb2
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.rules import Rule
from askonce_server.ports import Clock, Counted, EntryStore, StoreStats, StoreUnavailable
from askonce_server.rpc.status import NotFound
from askonce_server.service.keeping import CountsKeeper
from askonce_server.service.statistics import Latency, statistics
from askonce_server.service.tallies import merged

_LATEST_SECONDS = 1 << 40
"""Beyond any time that is meant, and small enough to count in milliseconds."""
_REST = 50
"""So many times as long as entries took to count they are not counted again for an overview."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What was counted, of all rules together and of each, and the counts themselves."""

    all: admin_service_pb2.GetStatsResponse
    rules: Mapping[str, admin_service_pb2.GetStatsResponse]
    counted: Counted


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
        self._counted_entries: Mapping[str, int] = {}
        self._count_again = 0.0

    def response(self, request: admin_service_pb2.GetStatsRequest) -> admin_service_pb2.GetStatsResponse:
        """Return the answer. Raises MalformedRequest, NotFound, and StoreUnavailable for what lies behind."""
        if request.rule_id and request.rule_id not in {rule.id for rule in self._rules()}:
            raise NotFound(f"there is no rule {request.rule_id!r}: GetServerInfo lists the rules")
        since_ms = _since_ms(request) if request.HasField("since") else None
        return self._read(since_ms, self._entries if request.rule_id else _none).told(request.rule_id)

    def overview(self, since_ms: int | None) -> Overview:
        """Return what was counted since a time, or since the server started, of all rules and of each.

        Raises StoreUnavailable for what lies behind.
        """
        read = self._read(since_ms, self._entries_of_late)
        rules = {rule.id: read.told(rule.id) for rule in self._rules()}
        return Overview(read.told(""), rules, read.counted)

    def _entries(self) -> Mapping[str, int]:
        return self._store.entries_by_rule()

    def _entries_of_late(self) -> Mapping[str, int]:
        """Count what each rule stored, or say what it was a moment ago: many scopes take long to count."""
        began = time.monotonic()
        if began >= self._count_again:
            self._counted_entries = self._store.entries_by_rule()
            ended = time.monotonic()
            self._count_again = ended + (ended - began) * _REST
        return self._counted_entries

    def _read(self, since_ms: int | None, entries_by_rule: Callable[[], Mapping[str, int]]) -> _Reading:
        up_ms = round((time.monotonic() - self._started) * 1000)
        if since_ms is not None:
            counted, counted_since_ms = self._counts.since(since_ms)
        else:
            counted, counted_since_ms = self._counts.counted(), self._clock.now_ms() - up_ms
        try:
            stats, entries = self._store.stats(), entries_by_rule()
        except StoreUnavailable:
            stats, entries = None, {}
        return _Reading(counted, counted_since_ms, up_ms, stats, entries)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What all answers are made of, read at one moment."""

    counted: Counted
    since_ms: int
    up_ms: int
    stats: StoreStats | None
    """None: the store cannot be used."""
    entries: Mapping[str, int]

    def told(self, rule: str) -> admin_service_pb2.GetStatsResponse:
        """Return the answer for one rule, or for all when it is empty."""
        everything = merged(self.counted)
        response = _encode(merged({rule: self.counted.get(rule, {})}) if rule else everything)
        response.counted_since.FromMilliseconds(self.since_ms)
        response.uptime.FromMilliseconds(self.up_ms)
        response.evictions = everything.get("store.evicted", 0)
        if self.stats is not None:
            _add_store(response, self.stats, self.entries.get(rule, 0) if rule else self.stats.entries)
        return response


def _add_store(response: admin_service_pb2.GetStatsResponse, stats: StoreStats, entries: int) -> None:
    response.commits = stats.commits
    response.entries = entries
    response.store_bytes = stats.used_bytes
    response.store_limit_bytes = stats.limit_bytes
    response.partitions = stats.partitions


def _none() -> Mapping[str, int]:
    return {}


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
