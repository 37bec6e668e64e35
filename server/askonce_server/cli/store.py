"""`askonce store`."""

from __future__ import annotations

from typing import Annotated

import typer

from askonce_server.cli import options
from askonce_server.cli.failure import misused
from askonce_server.cli.said import STANDARD_STREAM, Answered, Said, Source, Talk, pairs, time, times, tls_of

FillTokenFile = Annotated[
    str | None, typer.Option(help="A lookup's fill token in base64, instead of a request.", metavar="FILE")
]


def store(  # noqa: PLR0913 - typer makes an option of each parameter
    file: Annotated[str | None, typer.Argument(help=options.REQUEST, show_default=False)] = None,
    *,
    body: options.AnswerBody,
    status: options.Status = 200,
    content_type: options.ContentType = "application/json",
    finish_reason: options.FinishReason = None,
    stream_complete: options.StreamComplete = False,
    input_tokens: options.InputTokens = None,
    output_tokens: options.OutputTokens = None,
    cost_usd: options.CostUsd = None,
    tool_calls: options.ToolCalls = False,
    refused: options.Refused = False,
    source_request_id: options.SourceRequestId = "",
    fill_token_file: FillTokenFile = None,
    ttl: options.Ttl = None,
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
    target: options.Target = None,
    tls_ca: options.TlsCa = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    tls_server_name: options.TlsServerName = "",
    timeout: options.Timeout = "5s",
    as_json: options.AsJson = False,
) -> int:
    """File an answer in a running server; exit with 1 when the server refuses it.

    The request is given as for `askonce lookup`, or by the fill token that it wrote.

    Examples:
    - `askonce store --fill-token-file token --body answer.json --finish-reason stop`

    - `askonce store body.json --dialect openai --endpoint chat --scope tenant=acme --body answer.json
      --finish-reason stop --input-tokens 12 --output-tokens 40`
    """
    if (file is None) == (fill_token_file is None):
        raise misused("store needs a request or --fill-token-file, and not both")
    if [file, fill_token_file, body].count(STANDARD_STREAM) > 1:
        raise misused("only one of the request, --fill-token-file and --body can be the standard input")
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
    source = Source(file=file, fill_token_file=fill_token_file, said=said, namespace=namespace)
    answered = Answered(
        body=body,
        ttl=times(ttl=ttl).get("ttl"),
        status=status,
        content_type=content_type,
        finish_reasons=tuple(finish_reason or ()),
        stream_complete=stream_complete,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        cost_usd=cost_usd,
        tool_calls=tool_calls,
        refused=refused,
        source_request_id=source_request_id,
    )
    tls = tls_of(ca=tls_ca, cert=tls_cert, key=tls_key, server_name=tls_server_name)
    talk = Talk(target=target, timeout=time("--timeout", timeout), as_json=as_json, tls=tls)
    from askonce_server.cli import exchange  # noqa: PLC0415 - grpc is heavy, and other commands need none

    return exchange.store(source, answered, talk)
