"""Shows vectors."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from askonce_server.cli.failure import misused
from askonce_server.cli.model import Timed
from askonce_server.cli.said import STANDARD_STREAM
from askonce_server.ports import Embedder

_LONGEST = 48
_VALUES = 4


def texts(said: Sequence[str]) -> list[str]:
    """Return the texts that were given, or the lines of the standard input. Raises Failed."""
    if list(said) != [STANDARD_STREAM]:
        return list(said)
    lines = [line for line in sys.stdin.read().splitlines() if line.strip()]
    if not lines:
        raise misused("standard input holds no text")
    return lines


def show(embedder: Embedder, timed: Sequence[Timed], *, as_json: bool) -> None:
    """Print what an embedder is and what it made of each text."""
    if as_json:
        sys.stdout.write(json.dumps(_document(embedder, timed), ensure_ascii=False) + "\n")
        return
    console = Console(highlight=False)
    about = Table(box=None, show_header=False, pad_edge=False)
    about.add_column(style="dim")
    about.add_column(overflow="fold")
    for name, value in _about(embedder):
        about.add_row(name, value)
    console.print(about)
    table = Table(box=None, pad_edge=False)
    table.add_column("\ntext", overflow="fold")
    for name in ("tokens", "ms"):
        table.add_column(f"\n{name}", justify="right", no_wrap=True)
    costs = any(one.embedded.cost_usd is not None for one in timed)
    if costs:
        table.add_column("\nUSD", justify="right", no_wrap=True)
    table.add_column("\nvector", no_wrap=True)
    for one in timed:
        table.add_row(*_row(one, costs=costs))
    console.print(table)


def _about(embedder: Embedder) -> list[tuple[str, str]]:
    window = "as its service says" if embedder.max_tokens is None else f"{embedder.max_tokens} tokens"
    return [
        ("embedder", embedder.name),
        ("dimensions", str(embedder.dim)),
        ("greatest text", window),
        ("fingerprint", embedder.fingerprint.hex()),
    ]


def _row(one: Timed, *, costs: bool) -> list[Text]:
    cost, tokens = one.embedded.cost_usd, one.embedded.tokens
    text = one.text if len(one.text) <= _LONGEST else one.text[: _LONGEST - 1] + "…"
    values = ", ".join(f"{value:.4f}" for value in one.embedded.vector[:_VALUES].tolist())
    cells = [text, "?" if tokens is None else str(tokens), f"{1000 * one.seconds:.1f}"]
    cells += ["?" if cost is None else f"{cost:.8f}"] if costs else []
    return [Text(cell) for cell in (*cells, f"{values}, …")]


def _document(embedder: Embedder, timed: Sequence[Timed]) -> dict[str, Any]:
    return {
        "embedder": embedder.name,
        "dim": embedder.dim,
        "max_tokens": embedder.max_tokens,
        "fingerprint": embedder.fingerprint.hex(),
        "texts": [
            {
                "text": one.text,
                "tokens": one.embedded.tokens,
                "cost_usd": one.embedded.cost_usd,
                "seconds": round(one.seconds, 6),
                "vector": one.embedded.vector.tolist(),
            }
            for one in timed
        ],
    }
