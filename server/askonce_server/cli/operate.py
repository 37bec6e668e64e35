"""`askonce purge`, `askonce delete` and `askonce entry`: what operators ask of the admin service."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any

import grpc
import typer
from google.protobuf.message import Message

from askonce.v1 import admin_service_pb2
from askonce.v1.admin_service_pb2_grpc import AdminServiceStub
from askonce_server.cli.connect import call, channel_to
from askonce_server.cli.failure import misused
from askonce_server.cli.said import pairs, time
from askonce_server.cli.show import show_deleted, show_entry, show_json, show_purged

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
        typer.Option(help="One whole scope: every dim, in the rule's order.", metavar="NAME=VALUE"),
    ] = None,
    namespace: Annotated[str, typer.Option(help="The namespace of that scope.", show_default=False)] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Count, and purge nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before purging everything.")] = False,
    token_env: TokenEnv = TOKEN_ENV,
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
    request = _wanted(everything=everything, dim=dim, model=model, scope=scope, namespace=namespace)
    request.dry_run = dry_run
    if everything and not (dry_run or yes):
        typer.confirm("Purge every entry of every tenant?", abort=True)
    return _send(admin, "Purge", request, token_env, timeout, show_json if as_json else show_purged)


def delete(
    entry_id: EntryId,
    *,
    admin: AdminTarget,
    token_env: TokenEnv = TOKEN_ENV,
    timeout: Timeout = "10s",
    as_json: AsJson = False,
) -> int:
    """Delete one answer: the entry and the others of the same Store. It cannot be stored again from before.

    Example: `askonce delete 0b1f… --admin unix:///run/askonce-admin/admin.sock`
    """
    request = admin_service_pb2.DeleteEntryRequest(entry_id=entry_id)
    return _send(admin, "DeleteEntry", request, token_env, timeout, show_json if as_json else show_deleted)


def entry(
    entry_id: EntryId,
    *,
    admin: AdminTarget,
    token_env: TokenEnv = TOKEN_ENV,
    timeout: Timeout = "10s",
    as_json: AsJson = False,
) -> int:
    """Show what is known of one entry, without its body.

    Example: `askonce entry 0b1f… --admin unix:///run/askonce-admin/admin.sock`
    """
    request = admin_service_pb2.GetEntryRequest(entry_id=entry_id)
    return _send(admin, "GetEntry", request, token_env, timeout, show_json if as_json else show_entry)


def _wanted(
    *, everything: bool, dim: str | None, model: str | None, scope: list[str] | None, namespace: str
) -> admin_service_pb2.PurgeRequest:
    """Return what the options say is to be purged. Raises Failed."""
    if sum((everything, dim is not None, model is not None, bool(scope))) != 1:
        raise misused("say what to purge: exactly one of --everything, --dim, --model and --scope")
    if namespace and not scope:
        raise misused("--namespace goes with --scope")
    request = admin_service_pb2.PurgeRequest()
    if everything:
        request.everything.SetInParent()
    elif dim is not None:
        ((request.dim.name, request.dim.value),) = pairs("--dim", [dim]).items()
    elif model is not None:
        provider, separator, name = model.partition("/")
        if not separator or not provider or not name:
            raise misused(f"--model takes PROVIDER/MODEL, not {model!r}")
        request.model.provider, request.model.model = provider, name
    else:
        for name, value in pairs("--scope", scope).items():
            request.scope.dims.add(name=name, value=value)
        request.scope.namespace = namespace
    return request


def _send(  # noqa: PLR0913, PLR0917 - what all three commands have in common
    admin: str,
    method: str,
    request: Message,
    token_env: str,
    timeout: str,
    show: Callable[[Any], None],
) -> int:
    seconds = time("--timeout", timeout).total_seconds()
    token = os.environ.get(token_env, "")
    metadata = [("authorization", f"Bearer {token}")] if token else []
    with _admin(admin) as (address, stub):
        send = getattr(stub, method)
        show(call(address, lambda: send(request, timeout=seconds, metadata=metadata)))
    return 0


@contextmanager
def _admin(target: str) -> Iterator[tuple[str, AdminServiceStub]]:
    with channel_to(target) as (address, channel):
        yield address, _stub(channel)


def _stub(channel: grpc.Channel) -> AdminServiceStub:
    return AdminServiceStub(channel)  # type: ignore[no-untyped-call]
