"""`askonce explain-key`: what `askonce explain` shows of one request by the rules alone."""

from __future__ import annotations

import json
import os
import sys
from typing import Annotated, Any

import typer

from askonce_server.cli import options
from askonce_server.cli.said import STANDARD_STREAM, Said, pairs
from askonce_server.cli.serve import ConfigFile

WithMaterial = Annotated[
    bool, typer.Option("--material/--no-material", help="Print the canonical material, which is the prompt.")
]


def explain_key(  # noqa: PLR0913 - typer makes an option of each parameter
    file: Annotated[str, typer.Argument(help=options.REQUEST)] = STANDARD_STREAM,
    *,
    config: ConfigFile = None,
    dialect: options.Dialect = None,
    endpoint: options.Endpoint = None,
    provider: options.Provider = None,
    model: options.Model = None,
    scope: options.Scope = None,
    stream: options.Stream = None,
    version_pin: options.VersionPin = None,
    header: options.Header = None,
    attribute: options.Attribute = None,
    personalized: options.Personalized = False,
    namespace: options.Namespace = "",
    material: WithMaterial = True,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> int:
    """Show what the key of a request is made of: every segment with its digest, and the material.

    No server is asked. `askonce explain a.json --config FILE` shows the same, and `askonce explain a.json
    b.json` what tells two keys apart. The ids are those of a store that was never purged.

    Example:
    - `askonce explain-key body.json --dialect openai --endpoint chat --scope tenant=acme`
    """
    said = Said(
        dialect=dialect,
        endpoint=endpoint,
        provider=provider,
        model=model,
        scope=pairs("--scope", scope),
        stream=stream,
        versions=pairs("--version-pin", version_pin),
        headers=pairs("--header", header),
        attributes=pairs("--attribute", attribute),
        personalized=personalized,
    )
    from askonce_server.cli import key_report  # noqa: PLC0415 - heavy, and other commands need none

    explained = key_report.explain(file, said, namespace, config, os.environ)
    if as_json:
        document: dict[str, Any] = key_report.document(explained, material=material)
        sys.stdout.write(json.dumps(document, indent=2, ensure_ascii=False) + "\n")
    else:
        key_report.show(explained, material=material)
    return 0
