"""The counts of a server as metrics: what Prometheus scrapes and OTLP pushes are readings of the same ones.

Labels are bounded: rules, outcomes, kinds and reasons. Never a tenant, never a text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

from askonce_server.ports import Counted, StoreStats
from askonce_server.service.statistics import histogram
from askonce_server.service.tallies import BOUNDS_US, NANO, merged
from askonce_server.telemetry import names

SECOND, DOLLAR, BYTE, ONE = "s", "{USD}", "By", "1"
MICRO: Final = 1e-6
BOUNDS_SECONDS: Final = tuple(bound * MICRO for bound in BOUNDS_US)

Labels = tuple[tuple[str, str], ...]


class Point(NamedTuple):
    """One value of a metric."""

    labels: Labels
    value: float


class Distribution(NamedTuple):
    """One histogram: how many lie in each bucket of `BOUNDS_SECONDS` and beyond, and their sum."""

    labels: Labels
    buckets: tuple[int, ...]
    sum_seconds: float


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric with all its values."""

    name: str
    unit: str
    help: str
    points: tuple[Point, ...] = ()
    distributions: tuple[Distribution, ...] = ()
    grows: bool = True
    """Whether it is a count that only grows, until the server starts anew."""


def metrics(counted: Counted, store: StoreStats | None) -> Iterator[Metric]:
    """Yield every metric of a server; `store` is None while its store cannot be used."""
    for of in (_decisions, _skipped, _stores, _refusals):
        yield of(counted)
    yield _durations(counted)
    everything = merged(counted)
    for what, name in (("embed", names.EMBED_DURATION), ("recall", names.RECALL_DURATION)):
        told = (_distribution((), everything, what),) if any(histogram(everything, what)) else ()
        yield Metric(name, SECOND, f"How long each {what} took.", distributions=told)
    for name, unit, told_of, key, factor in _SUMS:
        yield Metric(name, unit, told_of, _by_rule(counted, key, factor))
    yield Metric(
        names.STORE_UP, ONE, "Whether the store can be used.", (_point(store is not None),), grows=False
    )
    if store is not None:
        yield from _of_store(store)


def _decisions(counted: Counted) -> Metric:
    points = []
    for rule, counts in counted.items():
        for name, count in counts.items():
            what, _, reason = name.partition(".")
            if what in ("hit", "miss", "bypass", "refresh"):
                kind = reason if what == "hit" else ""
                outcome, reason = ("miss", "refresh") if what == "refresh" else (what, reason)
                labels = _labels(rule, outcome=outcome, kind=kind, reason="" if kind else reason)
                points.append(Point(labels, count))
    told = "Decisions: hits by kind, misses and bypasses by reason. A refresh is a miss outside the hit rate."
    return Metric(names.DECISIONS, ONE, told, tuple(points))


def _skipped(counted: Counted) -> Metric:
    points = [
        Point(_labels(rule, matcher=name.split(".")[1], reason=name.split(".")[2]), count)
        for rule, counts in counted.items()
        for name, count in counts.items()
        if name.startswith("skipped.")
    ]
    return Metric(names.SKIPPED, ONE, "Matchers that were not asked, by reason.", tuple(points))


def _stores(counted: Counted) -> Metric:
    return Metric(names.STORES, ONE, "Answers that were stored.", _by_rule(counted, "stored", 1))


def _refusals(counted: Counted) -> Metric:
    points = [
        Point(_labels(rule, reason=name.partition(".")[2]), count)
        for rule, counts in counted.items()
        for name, count in counts.items()
        if name.startswith("refusal.")
    ]
    return Metric(names.REFUSALS, ONE, "Answers that were not stored, by reason.", tuple(points))


def _durations(counted: Counted) -> Metric:
    told = tuple(
        _distribution(_labels(rule, outcome=outcome), counts, outcome)
        for rule, counts in counted.items()
        for outcome in ("hit", "miss", "bypass")
        if any(histogram(counts, outcome))
    )
    text = "How long decisions took inside the server, waiting for others included."
    return Metric(names.DECISION_DURATION, SECOND, text, distributions=told)


_SUMS: Final = (
    (names.COST_AVOIDED, DOLLAR, "What hits avoided, where it is known.", "avoided.nano_usd", 1 / NANO),
    (names.UNPRICED, ONE, "Hits whose cost is not known.", "unpriced", 1),
    (names.COLLAPSED, ONE, "Hits of callers that waited for another's answer.", "collapsed", 1),
    (names.STALE, ONE, "Hits whose ttl was over.", "stale", 1),
    (names.EMBED_COST, DOLLAR, "What embedding cost, where it is known.", "embed.nano_usd", 1 / NANO),
)


def _of_store(store: StoreStats) -> Iterator[Metric]:
    yield Metric(names.EVICTIONS, ONE, "Answers removed to make room.", (_point(store.evicted),))
    yield Metric(names.COMMITS, ONE, "Commits of the store.", (_point(store.commits),))
    for name, unit, told, value in (
        (names.ENTRY_COUNT, ONE, "Entries in the store.", store.entries),
        (names.PARTITION_COUNT, ONE, "Partitions of the semantic matcher.", store.partitions),
        (names.STORE_USAGE, BYTE, "Bytes of pages in use.", store.used_bytes),
        (names.STORE_LIMIT, BYTE, "Bytes that the store may use.", store.limit_bytes),
    ):
        yield Metric(name, unit, told, (_point(value),), grows=False)


def _by_rule(counted: Counted, name: str, factor: float) -> tuple[Point, ...]:
    return tuple(
        Point(_labels(rule), counts[name] * factor) for rule, counts in counted.items() if name in counts
    )


def _distribution(labels: Labels, counts: Mapping[str, int], what: str) -> Distribution:
    return Distribution(labels, tuple(histogram(counts, what)), counts.get(f"took_us.{what}", 0) * MICRO)


def _labels(rule: str, **more: str) -> Labels:
    return ((names.RULE, rule), *more.items())


def _point(value: float) -> Point:
    return Point((), float(value))


Reading = Callable[[], Iterator[Metric]]
"""Reads the metrics as they are now."""
