"""`askonce purge`, `askonce delete` and `askonce entry`."""
# ruff: noqa: PLC0415 - grpc is heavy, and other commands need none

from __future__ import annotations

from typing import Annotated

import typer

from askonce_server.cli import options
from askonce_server.cli.failure import Failed
from askonce_server.cli.said import Talk, Tls, time, tls_of

AdminTarget = Annotated[
    str,
    typer.Option(
        "--admin",
        help="The admin listener, as in the configuration: unix:///path or host:port.",
        envvar="ASKONCE_ADMIN_TARGET",
        show_default=False,
    ),
]
TokenEnv = Annotated[
    str, typer.Option(help="The environment variable that holds the admin token, if there is one.")
]
TOKEN_ENV = "ASKONCE_ADMIN_TOKEN"  # noqa: S105 - the name of a variable
Timeout = Annotated[str, typer.Option(help="How long to wait for the answer.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the message as JSON.")]
EntryId = Annotated[str, typer.Argument(help="The full id of the entry, as in a decision: 64 characters.")]


def purge(  # noqa: PLR0913 - typer makes an option of each parameter
    *,
    admin: AdminTarget,
    everything: Annotated[bool, typer.Option("--everything", help="All entries of all tenants.")] = False,
    dim: Annotated[
        str | None, typer.Option(help="Every scope with this dim value.", metavar="NAME=VALUE")
    ] = None,
    model: Annotated[
        str | None, typer.Option(help="The entries of a model.", metavar="PROVIDER/MODEL")
    ] = None,
    scope: Annotated[
        list[str] | None,
        typer.Option(
            help="One whole scope: every dim, in the rule's order.",
            metavar="NAME=VALUE",
        ),
    ] = None,
    namespace: Annotated[
        str, typer.Option(help="The namespace of that scope; else what has none.", show_default=False)
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count, and purge nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before purging everything.")] = False,
    token_env: TokenEnv = TOKEN_ENV,
    tls_ca: options.TlsCa = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    tls_server_name: options.TlsServerName = "",
    timeout: Timeout = "10s",
    as_json: AsJson = False,
) -> int:
    """Make entries unreachable: at once, in every worker, and for good.

    An answer whose request began before the purge cannot come back. Exactly one of `--everything`, `--dim`,
    `--model` and `--scope` says what is purged.

    Examples:
    - `askonce purge --admin unix:///run/askonce-admin/admin.sock --dim tenant=acme --dry-run`

    - `askonce purge --model openai/gpt-4o`

    - `askonce purge --scope tenant=acme --scope user=ann`
    """
    from askonce_server.cli import admin as service

    request = service.purge_of(
        everything=everything, dim=dim, model=model, scope=scope, namespace=namespace, dry_run=dry_run
    )
    if everything and not (dry_run or yes):
        _confirm()
    tls = tls_of(ca=tls_ca, cert=tls_cert, key=tls_key, server_name=tls_server_name)
    return service.purge(request, _talk(admin, timeout, tls, as_json=as_json), token_env=token_env)


def delete(  # noqa: PLR0913 - typer makes an option of each parameter
    entry_id: EntryId,
    *,
    admin: AdminTarget,
    token_env: TokenEnv = TOKEN_ENV,
    tls_ca: options.TlsCa = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    tls_server_name: options.TlsServerName = "",
    timeout: Timeout = "10s",
    as_json: AsJson = False,
) -> int:
    """Delete one answer: the entry and the others of the same Store. It cannot be stored again from before.

    Example: `askonce delete 0b1f… --admin unix:///run/askonce-admin/admin.sock`
    """
    from askonce_server.cli import admin as service

    tls = tls_of(ca=tls_ca, cert=tls_cert, key=tls_key, server_name=tls_server_name)
    return service.delete(entry_id, _talk(admin, timeout, tls, as_json=as_json), token_env=token_env)


def entry(  # noqa: PLR0913 - typer makes an option of each parameter
    entry_id: EntryId,
    *,
    admin: AdminTarget,
    token_env: TokenEnv = TOKEN_ENV,
    tls_ca: options.TlsCa = None,
    tls_cert: options.TlsCert = None,
    tls_key: options.TlsKey = None,
    tls_server_name: options.TlsServerName = "",
    timeout: Timeout = "10s",
    as_json: AsJson = False,
) -> int:
    """Show what is known of one entry, without its body.

    Example: `askonce entry 0b1f… --admin unix:///run/askonce-admin/admin.sock`
    """
    from askonce_server.cli import admin as service

    tls = tls_of(ca=tls_ca, cert=tls_cert, key=tls_key, server_name=tls_server_name)
    return service.entry(entry_id, _talk(admin, timeout, tls, as_json=as_json), token_env=token_env)


def _confirm() -> None:
    """Raise Failed unless whoever is at the terminal, if anybody, means it."""
    try:
        meant = typer.confirm("Purge every entry of every tenant?")
    except typer.Abort:  # the end of the input, or Ctrl-C
        meant = False
    if not meant:
        raise Failed("nothing was purged: answer y, or give --yes where nobody can be asked")


def _talk(admin: str, timeout: str, tls: Tls | None, *, as_json: bool) -> Talk:
    return Talk(target=admin, timeout=time("--timeout", timeout), as_json=as_json, tls=tls)
