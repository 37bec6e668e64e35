"""What the counts of a server say: rates, latencies, money; never more than they say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from askonce_server.service.tallies import BOUNDS_US, LOWEST_SIMILARITY, NANO, SIMILARITY_BINS, total

_INNER: Final = ("took", "took_us", "near", "avoided", "embed", "store", "unpriced", "stale", "collapsed")
"""What the first part of a name says that is told in a way of its own."""


@dataclass(frozen=True, slots=True)
class Latency:
    """How long calls took, in microseconds. A percentile is the end of the bucket that it lies in."""

    count: int
    sum_us: int
    p50_us: int
    p95_us: int
    p99_us: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """What is told of a server, or of one rule of it."""

    hits: int
    misses: int
    bypasses: int
    refreshes: int
    stores: int
    refusals: int
    stale: int
    collapsed: int
    embeddings: int
    embed_cost_usd: float | None
    """None: nothing is known of it."""
    cost_avoided_usd: float | None
    """Of the hits whose answer's cost is known; None: of none."""
    unpriced_hits: int
    hit_latency: Latency | None
    miss_latency: Latency | None
    tallies: Mapping[str, int]
    """Everything that was counted, by name."""

    @property
    def decisions(self) -> int:
        """Every decision, once."""
        return self.hits + self.misses + self.bypasses + self.refreshes

    @property
    def hit_rate(self) -> float | None:
        """Hits among hits and misses; None before the first of either."""
        asked = self.hits + self.misses
        return self.hits / asked if asked else None


def statistics(counts: Mapping[str, int]) -> Statistics:
    """Return what `counts`, by name, say."""
    return Statistics(
        hits=total(counts, "hit"),
        misses=total(counts, "miss"),
        bypasses=total(counts, "bypass"),
        refreshes=counts.get("refresh", 0),
        stores=counts.get("stored", 0),
        refusals=total(counts, "refusal"),
        stale=counts.get("stale", 0),
        collapsed=counts.get("collapsed", 0),
        embeddings=sum(histogram(counts, "embed")),
        embed_cost_usd=_dollars(counts, "embed.nano_usd"),
        cost_avoided_usd=_dollars(counts, "avoided.nano_usd"),
        unpriced_hits=counts.get("unpriced", 0),
        hit_latency=latency(counts, "hit"),
        miss_latency=latency(counts, "miss"),
        tallies={name: count for name, count in counts.items() if name.partition(".")[0] not in _INNER},
    )


def histogram(counts: Mapping[str, int], what: str) -> list[int]:
    """Return how many durations of `what` lie in each bucket of `BOUNDS_US`, and beyond the last."""
    return [counts.get(f"took.{what}.{at}", 0) for at in range(len(BOUNDS_US) + 1)]


def similarities(counts: Mapping[str, int], zone: str) -> list[int]:
    """Return how many candidates of a zone lie in each bin of similarity, from 0.5 to 1."""
    return [counts.get(f"near.{zone}.{at}", 0) for at in range(SIMILARITY_BINS)]


def bin_begins(at: int) -> float:
    """Return where a bin of similarities begins."""
    return LOWEST_SIMILARITY + at * (1 - LOWEST_SIMILARITY) / SIMILARITY_BINS


def latency(counts: Mapping[str, int], what: str) -> Latency | None:
    """Return how long `what` took; None when it never was."""
    buckets = histogram(counts, what)
    count = sum(buckets)
    if not count:
        return None
    p50, p95, p99 = (_percentile(buckets, count * share) for share in (0.5, 0.95, 0.99))
    return Latency(count, counts.get(f"took_us.{what}", 0), p50, p95, p99)


def _percentile(buckets: list[int], rank: float) -> int:
    """Return where the bucket ends that has the value of that rank, at most the last one."""
    passed = 0
    for bound, inside in zip(BOUNDS_US, buckets, strict=False):
        passed += inside
        if passed >= rank:
            return bound
    return BOUNDS_US[-1]


def _dollars(counts: Mapping[str, int], name: str) -> float | None:
    return counts[name] / NANO if name in counts else None
