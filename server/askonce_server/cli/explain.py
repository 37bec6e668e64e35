"""`askonce explain`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from askonce_server.cli import options
from askonce_server.cli.explain_key import WithMaterial, explain_key
from askonce_server.cli.failure import misused
from askonce_server.cli.operate import TOKEN_ENV, AsJson, Timeout, TokenEnv
from askonce_server.cli.said import Said, Talk, pairs, time, tls_of

First = Annotated[str, typer.Argument(help=options.REQUEST, metavar="A.json")]
Second = Annotated[
    str | None, typer.Argument(help="A second request, to compare with the first.", metavar="B.json")
]
Admin = Annotated[
    str | None,
    typer.Option(
        "--admin",
        help="The admin listener of the server that is asked: unix:///path or host:port.",
        envvar="ASKONCE_ADMIN_TARGET",
        show_default=False,
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(
        "--config", "-c", help="Ask no server: explain by the rules of this file.", show_default=False
    ),
]


def explain(  # noqa: PLR0913 - typer makes an option of each parameter
    first: First,
    second: Second = None,
    *,
    admin: Admin = None,
    config: Config = None,
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
    token_env: TokenEnv = TOKEN_ENV,
    tls_ca: options.TlsCa = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    tls_server_name: options.TlsServerName = "",
    timeout: Timeout = "30s",
    as_json: AsJson = False,
) -> int:
    """Say why a request did not hit.

    Two requests: what tells them apart, member by member, and whether they have the same key. One request and
    a server: what a Lookup would decide now, what became of the entry, and what tells the nearest stored
    answers apart. One request and `--config`: every segment of its key.

    A request is a provider's body, a descriptor, or a whole LookupRequest, which may have controls; with the
    options as for `askonce lookup`, which count for both requests.

    Examples:
    - `askonce explain monday.json tuesday.json --config askonce.yaml`

    - `askonce explain body.json --dialect openai --endpoint chat --scope tenant=acme --admin 127.0.0.1:9901`

    - `askonce explain a.json b.json --json | jq '.differences[].path'`
    """
    if config is not None and second is None:
        return explain_key(
            first,
            config=config,
            dialect=dialect,
            endpoint=endpoint,
            provider=provider,
            model=model,
            scope=scope,
            stream=stream,
            version_pin=version_pin,
            header=header,
            attribute=attribute,
            personalized=personalized,
            namespace=namespace,
            material=material,
            as_json=as_json,
        )
    if config is None and admin is None:
        raise misused("say whom to ask: --admin ADDRESS for a server, or --config FILE for its rules alone")
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
    tls = tls_of(ca=tls_ca, cert=tls_cert, key=tls_key, server_name=tls_server_name)
    talk = Talk(target=admin, timeout=time("--timeout", timeout), as_json=as_json, tls=tls)
    from askonce_server.cli import explain_report  # noqa: PLC0415 - heavy, and other commands need none

    wanted = explain_report.wanted(first, second, said, namespace)
    if config is not None:
        return explain_report.by_rules(wanted, config, os.environ, as_json=as_json)
    return explain_report.by_server(wanted, talk, token_env=token_env)
