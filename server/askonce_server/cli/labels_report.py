"""Labels as a table and as JSON Lines."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson
from rich.console import Console
from rich.table import Table

from askonce_server import upkeep
from askonce_server.cli.backup_files import settings
from askonce_server.cli.failure import Failed, misused
from askonce_server.config.quantities import parse_time
from askonce_server.core.labels import Judgement, Label
from askonce_server.core.proposed import Method
from askonce_server.core.ruling import Ticket
from askonce_server.upkeep import StoreUnavailable

_SHOWN = 50
"""So many of the newest are shown in the table."""


def chosen(
    config: Path | None, folder: Path | None, *, rule: str = "", method: str = "", since: str | None = None
) -> list[Label]:
    """Return the labels that were asked for, oldest first. Raises Failed."""
    methods = {one.name.lower(): one for one in Method}
    if method and method not in methods:
        raise misused(f"--method {method} is none of {', '.join(methods)}")
    first_ms = _since_ms(since) if since is not None else 0
    try:
        found = upkeep.labels(settings(config, folder))
    except StoreUnavailable as unavailable:
        raise Failed(str(unavailable)) from None
    return [
        label
        for label in found
        if label.at_ms >= first_ms
        and rule in ("", label.rule_id)
        and (not method or label.method is methods[method])
    ]


def _since_ms(text: str) -> int:
    try:
        span = parse_time(text)
    except ValueError as error:
        raise misused(f"--since {text}: {error}") from None
    return int((time.time() - span.total_seconds()) * 1000)


def show(labels: Sequence[Label]) -> None:
    """Print the newest as a table, and how many there are of each kind."""
    console = Console(highlight=False)
    if not labels:
        console.print(
            "no labels: a rule gets them in shadow mode, under a vote policy, and from RecordFeedback"
        )
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("time", "rule", "method", "judgement", "similarity", "vote", "guard", "entry", "source"):
        table.add_column(heading, justify="right" if heading in ("similarity", "vote") else "left")
    for label in labels[-_SHOWN:]:
        row = document(label)
        vote = row["vote"]
        table.add_row(
            *(row["at"], row["rule"], row["method"], row["judgement"], f"{label.similarity:.4f}"),
            *("" if vote is None else f"{vote:.2f}", label.guard, row["entry"][:7], label.source),
        )
    console.print(table)
    counted = Counter(label.judgement for label in labels)
    said = ", ".join(f"{counted[one]} {one.name.lower()}" for one in Judgement if counted[one])
    left = f"; the {_SHOWN} newest are shown" if len(labels) > _SHOWN else ""
    console.print(f"{len(labels)} labels: {said}{left}")


def show_json(labels: Sequence[Label]) -> None:
    """Print a line of JSON for each."""
    for label in labels:
        sys.stdout.write(orjson.dumps(document(label)).decode() + "\n")


def document(label: Label) -> dict[str, Any]:
    """Return what a label says, as `askonce calibrate` reads it."""
    at = datetime.fromtimestamp(label.at_ms / 1000, UTC)
    return {
        "at": at.isoformat(timespec="seconds").replace("+00:00", "Z"),
        "rule": label.rule_id,
        "method": label.method.name.lower(),
        "judgement": label.judgement.name.lower(),
        "right": label.right,
        "similarity": label.similarity,
        "vote": _vote(label),
        "vetoed": bool(label.guard),
        "guard": label.guard,
        "entry": label.entry_id.hex(),
        "source": label.source,
    }


def _vote(label: Label) -> float | None:
    try:
        return Ticket.from_bytes(label.ticket).score if label.ticket else None
    except ValueError:  # of another version
        return None
