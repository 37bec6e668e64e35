"""Words what a server counted, for people."""

from __future__ import annotations

from collections.abc import Mapping

from google.protobuf.duration_pb2 import Duration
from rich.console import Console
from rich.table import Table
from rich.text import Text

from askonce.v1.admin_service_pb2 import GetStatsResponse, Latency
from askonce_server.cli.show import moment
from askonce_server.config.quantities import UNITS_OF_TIME_MS, format_size

Row = tuple[str, str]
_TOLD = 6
"""How many reasons are named; the rest is one number."""


def show_stats(stats: GetStatsResponse) -> None:
    """Print what was counted as a table."""
    Console(highlight=False).print(table(rows(stats)))


def rows(stats: GetStatsResponse) -> list[Row]:
    """Return what was counted, a line each; nothing is told of what was not."""
    return [
        ("counted since", moment(stats.counted_since)),
        ("running for", spell(stats.uptime)),
        ("hit rate", hit_rate(stats.hits, stats.misses)),
        ("decisions", str(stats.decisions)),
        *(_counted(stats, name, count) for name, count in _outcomes(stats)),
        ("stale, collapsed", _pair(stats.stale_hits, stats.collapsed_hits)),
        ("not asked", by_reason(stats.tallies, "skipped.")),
        ("hits took", latency(stats, "hit_latency")),
        ("misses took", latency(stats, "miss_latency")),
        ("stores", f"{stats.stores} in {stats.commits} commits" if stats.commits else str(stats.stores)),
        _counted(stats, "refusals", stats.refusals),
        ("entries", f"{stats.entries} in {stats.partitions} partitions"),
        ("store", usage(stats)),
        ("evictions", str(stats.evictions) if stats.evictions else ""),
        ("embedded", embedded(stats)),
        ("calls avoided", str(stats.calls_avoided)),
        ("cost avoided", money(stats)),
        ("shadow", _shadow(stats)),
    ]


def table(told: list[Row]) -> Table:
    """Return lines as a table, without those that say nothing."""
    made = Table(box=None, show_header=False, pad_edge=False)
    made.add_column(style="dim", no_wrap=True)
    made.add_column(overflow="fold")
    for name, value in told:
        if value:
            made.add_row(name, Text(value))
    return made


def hit_rate(hits: float, misses: float) -> str:
    """Word the share of hits among hits and misses."""
    asked = hits + misses
    return (
        f"{100 * hits / asked:.1f} % ({hits:g} of {asked:g} hits and misses)" if asked else "none asked yet"
    )


def by_reason(counts: Mapping[str, float], prefix: str) -> str:
    """Word the counts whose name begins so, the most first."""
    found = [(name.removeprefix(prefix), n) for name, n in counts.items() if name.startswith(prefix) and n]
    found.sort(key=lambda one: (-one[1], one[0]))
    told = [f"{name.replace('.', ' ')} {count:g}" for name, count in found[:_TOLD]]
    rest = sum(count for _, count in found[_TOLD:])
    return ", ".join([*told, f"others {rest:g}"] if rest else told)


def latency(stats: GetStatsResponse, field: str) -> str:
    """Word how long calls took; a percentile is the end of its bucket, so it is at most that."""
    if not stats.HasField(field):
        return ""
    told: Latency = getattr(stats, field)
    ends = ", ".join(f"p{share} ≤ {_ms(getattr(told, f'p{share}'))}" for share in (50, 95, 99))
    return f"{ends} (mean {_ms(told.mean)})"


def usage(stats: GetStatsResponse) -> str:
    """Word how full the store is."""
    if not stats.store_limit_bytes:
        return "cannot be used"
    share = 100 * stats.store_bytes / stats.store_limit_bytes
    return f"{_size(stats.store_bytes)} of {format_size(stats.store_limit_bytes)} ({share:.1f} %)"


def money(stats: GetStatsResponse) -> str:
    """Word what hits avoided: unknown is not zero."""
    unpriced = f"{stats.unpriced_hits} hits unpriced" if stats.unpriced_hits else ""
    if not stats.HasField("cost_avoided_usd"):
        return f"unknown ({unpriced})" if unpriced else ""
    known = f"${stats.cost_avoided_usd:,.4f}"
    return f"{known} ({unpriced})" if unpriced else known


def embedded(stats: GetStatsResponse) -> str:
    """Word what embedding took."""
    if not stats.embeddings:
        return ""
    cost = f", ${stats.embed_cost_usd:,.4f}" if stats.HasField("embed_cost_usd") else ""
    return f"{stats.embeddings} texts{cost}"


def spell(duration: Duration) -> str:
    """Word a time in its two largest units, as in 1d3h."""
    rest = duration.ToMilliseconds()
    parts = []
    for unit, milliseconds in UNITS_OF_TIME_MS.items():
        count, rest = divmod(rest, milliseconds)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0s"


def _outcomes(stats: GetStatsResponse) -> list[tuple[str, int]]:
    return [(name, getattr(stats, name)) for name in ("hits", "misses", "refreshes", "bypasses")]


_PREFIXES = {"hits": "hit.", "misses": "miss.", "bypasses": "bypass.", "refusals": "refusal."}


def _counted(stats: GetStatsResponse, name: str, count: int) -> Row:
    reasons = by_reason(stats.tallies, _PREFIXES[name]) if name in _PREFIXES else ""
    return f"  {name}", f"{count}: {reasons}" if reasons else str(count)


def _pair(stale: int, collapsed: int) -> str:
    return f"{stale}, {collapsed}" if stale or collapsed else ""


def _shadow(stats: GetStatsResponse) -> str:
    agree, disagree = stats.shadow_agree, stats.shadow_disagree
    return f"{agree} agreed, {disagree} disagreed" if agree or disagree else ""


def _ms(duration: Duration) -> str:
    return f"{duration.ToNanoseconds() / 1e6:.3g} ms"


def _size(count: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= factor:
            return f"{count / factor:.1f}{unit}"
    return f"{count}B"
