"""`askonce stats` and `askonce top`."""
# ruff: noqa: PLC0415 - grpc is heavy, and other commands need none

from __future__ import annotations

from typing import Annotated

import typer

from askonce_server.cli import options
from askonce_server.cli.operate import TOKEN_ENV, AdminTarget, AsJson, Timeout, TokenEnv
from askonce_server.cli.said import Talk, time, tls_of

Rule = Annotated[str, typer.Option(help="One rule alone.", metavar="ID", show_default=False)]
Since = Annotated[
    str | None,
    typer.Option(
        help="So long ago, as in 24h, or from a time on, as in 2026-03-01T09:00Z; else since the start.",
        metavar="TIME",
    ),
]


def stats(  # noqa: PLR0913 - typer makes an option of each parameter
    *,
    admin: AdminTarget,
    rule: Rule = "",
    since: Since = None,
    token_env: TokenEnv = TOKEN_ENV,
    tls_ca: options.TlsCa = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    tls_server_name: options.TlsServerName = "",
    timeout: Timeout = "10s",
    as_json: AsJson = False,
) -> int:
    """Show what was counted: decisions by reason, latencies, the store, money where it is known.

    Counts are kept by the hour for 30 days, over restarts too: `--since` takes the whole of its hour.

    Examples:
    - `askonce stats --admin unix:///run/askonce-admin/admin.sock`

    - `askonce stats --rule chat --since 24h`

    - `askonce stats --since 2026-03-01T09:00Z --json`
    """
    from askonce_server.cli import counts

    tls = tls_of(ca=tls_ca, cert=tls_cert, key=tls_key, server_name=tls_server_name)
    talk = Talk(target=admin, timeout=time("--timeout", timeout), as_json=as_json, tls=tls)
    return counts.stats(counts.stats_of(rule, since), talk, token_env=token_env)


def top(  # noqa: PLR0913 - typer makes an option of each parameter
    *,
    admin: AdminTarget,
    rule: Rule = "",
    interval: Annotated[str, typer.Option(help="How often to look.")] = "1s",
    once: Annotated[bool, typer.Option("--once", help="Look for one interval, show it, and end.")] = False,
    token_env: TokenEnv = TOKEN_ENV,
    tls_ca: options.TlsCa = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    tls_server_name: options.TlsServerName = "",
    timeout: Timeout = "10s",
) -> int:
    """Watch a server in the terminal: rates a second, latencies, reasons, the store, money. `q` ends it.

    Examples:
    - `askonce top --admin unix:///run/askonce-admin/admin.sock`

    - `askonce top --rule chat --interval 5s`

    - `askonce top --once`
    """
    from askonce_server.cli import counts, top_screen

    tls = tls_of(ca=tls_ca, cert=tls_cert, key=tls_key, server_name=tls_server_name)
    talk = Talk(target=admin, timeout=time("--timeout", timeout), as_json=False, tls=tls)
    request = counts.stats_of(rule, None)
    with counts.reading(request, talk, token_env=token_env) as read:
        return top_screen.watch(read, every=top_screen.interval(interval), once=once)
