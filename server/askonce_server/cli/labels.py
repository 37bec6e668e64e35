"""`askonce labels`."""

from __future__ import annotations

from typing import Annotated

import typer

from askonce_server.cli.backup import StoreFolder
from askonce_server.cli.serve import ConfigFile


def labels(  # noqa: PLR0913 - typer makes an option of each parameter
    *,
    config: ConfigFile = None,
    store: StoreFolder = None,
    rule: Annotated[str, typer.Option(help="One rule alone.", metavar="ID", show_default=False)] = "",
    method: Annotated[
        str,
        typer.Option(
            help="One of shadow, explore, audit, feedback, judge.", metavar="METHOD", show_default=False
        ),
    ] = "",
    since: Annotated[
        str | None, typer.Option(help="So long ago, as in 24h; else all.", metavar="TIME")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON Lines, oldest first.")] = False,
) -> int:
    """Show what was found of near answers: whether they were right, and how that is known.

    Labels have no text. They are read from the store itself, while its server runs or not. What `--json`
    prints is taken by `askonce calibrate --pairs`.

    Examples:
    - `askonce labels --config askonce.yaml --since 24h`

    - `askonce labels --store /var/lib/askonce --rule support-bot --json > labels.jsonl`
    """
    from askonce_server.cli import labels_report  # noqa: PLC0415 - the store is heavy, others need none

    found = labels_report.chosen(config, store, rule=rule, method=method, since=since)
    (labels_report.show_json if as_json else labels_report.show)(found)
    return 0
