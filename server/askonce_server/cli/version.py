"""`askonce version`."""

from __future__ import annotations

import json
from importlib.metadata import version as version_of
from typing import Annotated

import typer

from askonce_server.core.keys import KEY_SCHEMA


def versions() -> str:
    """Return the version and the key schema, as people read them."""
    return f"askonce {version_of('askonce-server')} (key schema {KEY_SCHEMA})"


def version(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Print the version and the key schema.

    Servers of one key schema derive equal keys.

    Example: `askonce version --json`
    """
    if as_json:
        typer.echo(json.dumps({"version": version_of("askonce-server"), "key_schema": KEY_SCHEMA}))
    else:
        typer.echo(versions())
