"""`askonce lookup`."""

from __future__ import annotations

from typing import Annotated

import typer

from askonce_server.cli import options
from askonce_server.cli.said import STANDARD_STREAM, Said, Talk, Wishes, pairs, time, times, tls_of

BodyOut = Annotated[
    str | None,
    typer.Option(help="Write a hit's body to this file (`-`: and print nothing else).", metavar="FILE"),
]
FillTokenOut = Annotated[
    str | None, typer.Option(help="Write the fill token to this file, for `askonce store`.", metavar="FILE")
]


def lookup(  # noqa: PLR0913 - typer makes an option of each parameter
    file: Annotated[str, typer.Argument(help=options.REQUEST)] = STANDARD_STREAM,
    *,
    body_out: BodyOut = None,
    fill_token_out: FillTokenOut = None,
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
    mode: options.CacheMode = options.Mode.DEFAULT,
    ttl: options.Ttl = None,
    max_age: options.MaxAge = None,
    min_fresh: options.MinFresh = None,
    omit_body: options.OmitBody = False,
    trace: options.Trace = False,
    anchor: options.Anchor = False,
    target: options.Target = None,
    tls_ca: options.TlsCa = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    tls_server_name: options.TlsServerName = "",
    timeout: options.Timeout = "5s",
    as_json: options.AsJson = False,
) -> int:
    """Ask a running server what it decides on a request.

    A descriptor is the proto3 JSON form of `askonce.v1.RequestDescriptor`, in which `body_json` and the
    members of `parts` may also stand as JSON instead of base64. A provider's body needs at least `--dialect`
    and `--endpoint`. Options count more than what the file says.

    Examples:
    - `askonce lookup body.json --dialect openai --endpoint chat --scope tenant=acme`

    - `askonce lookup descriptor.json --fill-token-out token --json | jq .outcome`

    - `askonce lookup --target unix:///run/askonce/askonce.sock < descriptor.json`
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
    wishes = Wishes(
        mode=mode.name,
        namespace=namespace,
        times=times(ttl=ttl, max_age=max_age, min_fresh=min_fresh),
        omit_body=omit_body,
        trace=trace,
        anchor=anchor,
        body_out=body_out,
        fill_token_out=fill_token_out,
    )
    tls = tls_of(ca=tls_ca, cert=tls_cert, key=tls_key, server_name=tls_server_name)
    talk = Talk(target=target, timeout=time("--timeout", timeout), as_json=as_json, tls=tls)
    from askonce_server.cli import exchange  # noqa: PLC0415 - grpc is heavy, and other commands need none

    return exchange.lookup(file, said, wishes, talk)
