"""`askonce calibrate`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from askonce_server.cli.backup import StoreFolder
from askonce_server.cli.embed import EmbedderName
from askonce_server.cli.failure import misused
from askonce_server.cli.serve import ConfigFile


def calibrate(  # noqa: PLR0913 - typer makes an option of each parameter
    *,
    pairs: Annotated[
        Path | None,
        typer.Option(
            help="JSON Lines: `a`, `b` and `same`, or `similarity` and `right` (and `vote`).",
            show_default=False,
        ),
    ] = None,
    from_labels: Annotated[
        bool, typer.Option("--labels", help="Take the labels of `--rule` that the store has.")
    ] = False,
    store: StoreFolder = None,
    max_wrong: Annotated[
        str, typer.Option(help="The greatest share of wrong answers among those served: 1% or 0.01.")
    ] = "1%",
    rule: Annotated[
        str | None,
        typer.Option(help="Take embedder and guards from this rule.", show_default=False),
    ] = None,
    config: ConfigFile = None,
    embedder: EmbedderName = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with the curves to this file.", show_default=False)
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Say which threshold keeps a share of wrong answers, what it serves, and how sure that is.

    Twelve thresholds are looked at, with bounds that hold for all of them at 95 %. Texts are embedded and
    judged by the guards as the rule would; nothing is stored, and no server is asked.

    Examples:
    - `askonce calibrate --pairs pairs.jsonl --max-wrong 2%`

    - `askonce calibrate --config askonce.yaml --rule support-bot --labels --max-wrong 2%`

    - `askonce calibrate --config askonce.yaml --rule support-bot --pairs pairs.jsonl --html report.html`
    """
    from askonce_server.cli import calibrate_report  # noqa: PLC0415 - heavy, and other commands need none

    share = calibrate_report.share(max_wrong)
    if from_labels == (pairs is not None):
        raise misused("give either --pairs FILE or --labels")
    if pairs is not None:
        labels = calibrate_report.read(pairs, rule, embedder, config, os.environ)
    else:
        labels = calibrate_report.stored(config, store, rule)
    calibrate_report.show(labels, share, html=html, as_json=as_json)
    return 0
