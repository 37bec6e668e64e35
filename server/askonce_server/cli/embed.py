"""`askonce embed`."""
# ruff: noqa: PLC0415 - models are heavy, and other commands need none

from __future__ import annotations

import os
from typing import Annotated

import typer

from askonce_server.cli.serve import ConfigFile

EmbedderName = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        help="An embedder of the configuration; needed where there are several.",
        show_default=False,
    ),
]


def embed(
    texts: Annotated[list[str], typer.Argument(help="The texts. `-`: one a line from standard input.")],
    *,
    config: ConfigFile = None,
    embedder: EmbedderName = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, with the whole vectors.")] = False,
) -> int:
    """Show what an embedder makes of texts: dimensions, tokens, time, fingerprint, and the vector.

    Without a configuration it is the packaged MiniLM. Nothing is stored, and no server is asked.

    Examples:
    - `askonce embed "how do I reset my password"`

    - `askonce embed --config askonce.yaml --embedder far --json "hello" | jq '.texts[0].vector'`
    """
    from askonce_server.cli import embed_report, model
    from askonce_server.cli.configured import configuration

    chosen = model.embedder(configuration(config, os.environ), embedder)
    try:
        timed = [model.embed(chosen, text) for text in embed_report.texts(texts)]
        embed_report.show(chosen, timed, as_json=as_json)
    finally:
        chosen.close()
    return 0
