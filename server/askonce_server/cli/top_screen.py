"""`askonce top`: a screen of rates, which are differences between two readings."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from askonce.v1.admin_service_pb2 import GetStatsResponse
from askonce_server.cli import figures
from askonce_server.cli.counts import Read
from askonce_server.cli.failure import Failed, misused
from askonce_server.cli.said import time as parse

_LEAST = timedelta(milliseconds=100)
_KINDS = ("hits", "misses", "refreshes", "bypasses", "stores", "refusals")


@dataclass(frozen=True, slots=True)
class Glance:
    """One reading, with when it was taken in seconds of `time.monotonic`."""

    stats: GetStatsResponse
    at: float


def interval(text: str) -> float:
    """Return the seconds between two readings. Raises Failed."""
    every = parse("--interval", text)
    if every < _LEAST:
        raise misused("--interval must be at least 100ms")
    return every.total_seconds()


def watch(read: Read, *, every: float, once: bool) -> int:
    """Show readings until `q`, Ctrl-C or, with `once`, the first interval is over. Raises Failed."""
    console = Console(highlight=False)
    last = Glance(read(), time.monotonic())
    if once:
        time.sleep(every)
        console.print(screen(last, Glance(read(), time.monotonic())))
        return 0
    terminal = console.is_terminal
    shown = Live(screen(last, last), console=console, screen=terminal, auto_refresh=False)
    with suppress(KeyboardInterrupt), _keys() as pressed, shown:
        while not pressed(every):
            try:
                now = Glance(read(), time.monotonic())
            except Failed as failed:  # it may come back: a restart is worth watching
                shown.update(Group(screen(last, last), Text(f"\n{failed}", style="red")), refresh=True)
                continue
            shown.update(screen(last, now), refresh=True)
            last = now
    return 0


def screen(before: Glance, now: Glance) -> RenderableType:
    """Return what is shown of two readings."""
    stats, gone = now.stats, since(before, now)
    rates = {name: count for name, count in gone.items() if name in _KINDS}
    title = Text(f"up {figures.spell(stats.uptime)}, {stats.entries} entries", style="bold")
    lines = [
        ("", "a second, now"),
        *((name, f"{rates.get(name, 0):.1f}") for name in _KINDS),
        ("hit rate now", _share(gone)),
        ("hit rate", figures.hit_rate(stats.hits, stats.misses)),
        ("hits took", figures.latency(stats, "hit_latency")),
        ("misses took", figures.latency(stats, "miss_latency")),
        *((f"{name} by reason", _top(gone, prefix)) for name, prefix in _REASONS),
        ("store", figures.usage(stats)),
        ("partitions", str(stats.partitions) if stats.partitions else ""),
        ("evictions a second", f"{gone['evictions']:.1f}" if gone["evictions"] else ""),
        ("embedded", figures.embedded(stats)),
        ("calls avoided", str(stats.calls_avoided)),
        ("cost avoided", figures.money(stats)),
    ]
    return Group(title, figures.table(lines))


_REASONS = (("misses", "miss."), ("bypasses", "bypass."), ("not asked", "skipped."), ("refusals", "refusal."))


def since(before: Glance, now: Glance) -> Mapping[str, float]:
    """Return how often a second each thing was counted between two readings; none is below zero.

    A server that started anew in between counted all that it tells now.
    """
    seconds = max(now.at - before.at, 1e-9)
    fresh = now.stats.uptime.ToMilliseconds() < before.stats.uptime.ToMilliseconds()
    earlier = {} if fresh else _counts(before.stats)
    return {
        name: max(count - earlier.get(name, 0), 0) / seconds if now.at > before.at else 0.0
        for name, count in _counts(now.stats).items()
    }


def _counts(stats: GetStatsResponse) -> dict[str, int]:
    return {**stats.tallies, **{name: getattr(stats, name) for name in (*_KINDS, "evictions")}}


def _share(gone: Mapping[str, float]) -> str:
    asked = gone["hits"] + gone["misses"]
    return f"{100 * gone['hits'] / asked:.1f} %" if asked else "none asked"


def _top(gone: Mapping[str, float], prefix: str) -> str:
    return figures.by_reason({name: round(rate, 1) for name, rate in gone.items()}, prefix)


@contextmanager
def _keys() -> Iterator[Callable[[float], bool]]:
    """Yield what waits so many seconds, and says whether `q` was pressed meanwhile."""
    if not sys.stdin.isatty():
        yield _sleep
        return
    import termios  # noqa: PLC0415 - it is there where terminals are
    import tty  # noqa: PLC0415

    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    tty.setcbreak(descriptor)
    try:
        yield _pressed
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return False


def _pressed(seconds: float) -> bool:
    """Wait so long; return whether `q` was pressed."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select([sys.stdin], [], [], left)
        if ready and os.read(sys.stdin.fileno(), 1) in (b"q", b"Q", b""):
            return True
    return False
