"""`askonce similar`."""

from __future__ import annotations

import os
from enum import StrEnum
from typing import Annotated

import typer

from askonce_server.cli.embed import EmbedderName
from askonce_server.cli.serve import ConfigFile


class GuardProfile(StrEnum):
    """Which guards are on; named as in the configuration."""

    ON = "on"
    OFF = "off"
    STRICT = "strict"


def _cosine(help_text: str, *names: str) -> object:
    return typer.Option(*names, help=help_text, min=0, max=1, show_default=False)


def similar(  # noqa: PLR0913 - typer makes an option of each parameter
    a: Annotated[str, typer.Argument(help="What is asked.")],
    b: Annotated[str, typer.Argument(help="What was asked before.")],
    *,
    config: ConfigFile = None,
    embedder: EmbedderName = None,
    rule: Annotated[
        str | None,
        typer.Option(help="Take embedder, thresholds and guards from this rule.", show_default=False),
    ] = None,
    threshold: Annotated[
        float | None, _cosine("The least cosine that is served; else the rule's, else 0.95.", "--threshold")
    ] = None,
    low: Annotated[
        float | None, _cosine("The least that a verifier is asked about; else the rule's, else 0.", "--low")
    ] = None,
    guards: Annotated[
        GuardProfile | None, typer.Option(help="Which guards are on; else the rule's, else on.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Show whether a text would be served the answer to another, and why: cosine, zone, every guard.

    Only the texts are compared: a real request must also agree in scope, model, system prompt, tools, params
    and earlier turns. Nothing is stored, and no server is asked.

    Examples:
    - `askonce similar "how do I convert PDF to Word" "how do I convert Word to PDF"`

    - `askonce similar --threshold 0.9 --low 0.8 "how do I pay" "ways to pay"`

    - `askonce similar --config askonce.yaml --rule support-bot "stop my card" "block my card" --json`
    """
    from askonce_server.cli import similar_report  # noqa: PLC0415 - heavy, and other commands need none

    asked = similar_report.Asked(
        rule=rule,
        embedder=embedder,
        threshold=threshold,
        low=low,
        guards=None if guards is None else guards.value,
    )
    report = similar_report.compare(a, b, asked, config, os.environ)
    similar_report.show(report, as_json=as_json)
    return 0
