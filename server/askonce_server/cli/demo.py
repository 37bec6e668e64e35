"""Plays the demo: a sidecar on its embedded default, and real requests through it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from askonce import AskOnce
from askonce_server import healthcheck
from askonce_server.cli.failure import Failed
from askonce_server.demo import cases
from askonce_server.demo.player import Played, play

_START_SECONDS = 30.0
_COLOURS = {"hit": "green", "miss": "yellow", "bypass": "cyan"}


def run() -> int:
    """Play the demo; return 0 when everything came out as it must."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 132)
    corpus = cases()
    with tempfile.TemporaryDirectory(prefix="askonce-demo-") as folder, _sidecar(Path(folder)) as target:
        console.print(f"A sidecar is serving on {target}. {len(corpus)} requests, twice:\n")
        with AskOnce(target) as client:
            first = list(play(client, corpus, second=False))
            console.print(_table("First pass: the cache begins empty", first))
            second = list(play(client, corpus, second=True))
            console.print(_table("Second pass: the same requests again", second))
    console.print(_summary(second))
    wrong = [played for played in (*first, *second) if not (played.as_expected and played.right_body)]
    for played in wrong:
        console.print(
            f"[red]unexpected[/red]: {played.case.title}: {played.result} instead of {played.expected}"
        )
    return 1 if wrong else 0


@contextmanager
def _sidecar(folder: Path) -> Iterator[str]:
    """Run `askonce serve` with its embedded default but for the places, which are below `folder`."""
    target = f"unix://{folder / 'askonce.sock'}"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ASKONCE_")}
    environ |= {"ASKONCE_LISTEN": target, "ASKONCE_STORE_PATH": str(folder / "store")}
    log = folder / "log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "askonce_server", "serve"], env=environ, stdout=stream, stderr=stream
        )
    try:
        _wait_until_serving(process, target, log)
        yield target
    finally:
        process.terminate()
        process.wait()


def _wait_until_serving(process: subprocess.Popen[bytes], target: str, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with suppress(healthcheck.NoAnswer):
            if healthcheck.check(target, service="", timeout_seconds=1.0) == healthcheck.SERVING:
                return
        time.sleep(0.05)
    raise Failed(f"the sidecar did not start: {log.read_text(errors='replace').strip() or 'it said nothing'}")


def _table(title: str, played: list[Played]) -> Table:
    table = Table("#", "request", "decision", "kind", "entry", "reason", title=title, title_justify="left")
    for number, one in enumerate(played, start=1):
        colour = _COLOURS[one.result.split()[0].rstrip(",")]
        table.add_row(
            str(number),
            Text(f"{one.case.title} ({one.case.dialect} {one.case.endpoint})"),
            Text(one.result, style=colour if one.as_expected and one.right_body else "bold red"),
            one.kind,
            one.entry,
            Text(one.note),
        )
    return table


def _summary(played: list[Played]) -> str:
    counts = {kind: sum(one.result.startswith(kind) for one in played) for kind in ("hit", "miss", "bypass")}
    asked = counts["hit"] + counts["miss"]
    return (
        f"Second pass: {counts['hit']} hits of {asked} eligible requests; the {counts['miss']} misses are "
        f"answers that must not be stored. {counts['bypass']} requests bypass the cache, each for its reason."
    )
