"""What operators ask of the admin service, and what is shown of its answers."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from google.protobuf.message import Message

from askonce.v1.admin_service_pb2 import DeleteEntryRequest, GetEntryRequest, PurgeRequest
from askonce.v1.admin_service_pb2_grpc import AdminServiceStub
from askonce_server.cli.connect import call, channel_to
from askonce_server.cli.failure import misused
from askonce_server.cli.said import Talk, pairs
from askonce_server.cli.show import show_deleted, show_entry, show_json, show_purged


def purge_of(  # noqa: PLR0913 - what the options say
    *,
    everything: bool,
    dim: str | None,
    model: str | None,
    scope: list[str] | None,
    namespace: str,
    dry_run: bool,
) -> PurgeRequest:
    """Return the purge that the options ask for. Raises Failed."""
    if sum((everything, dim is not None, model is not None, bool(scope))) != 1:
        raise misused("say what to purge: exactly one of --everything, --dim, --model and --scope")
    if namespace and not scope:
        raise misused("--namespace goes with --scope")
    request = PurgeRequest(dry_run=dry_run)
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


def purge(request: PurgeRequest, talk: Talk, *, token_env: str) -> int:
    """Purge, or count what would be, and show it. Raises Failed."""
    return send("Purge", request, show_purged, talk, token_env)


def delete(entry_id: str, talk: Talk, *, token_env: str) -> int:
    """Delete an entry and show what went with it. Raises Failed."""
    return send("DeleteEntry", DeleteEntryRequest(entry_id=entry_id), show_deleted, talk, token_env)


def entry(entry_id: str, talk: Talk, *, token_env: str) -> int:
    """Show what is known of an entry. Raises Failed."""
    return send("GetEntry", GetEntryRequest(entry_id=entry_id), show_entry, talk, token_env)


def send(method: str, request: Message, show: Callable[[Any], None], talk: Talk, token_env: str) -> int:
    """Ask the admin service, and show what it answers. Raises Failed."""
    token = os.environ.get(token_env, "")
    metadata = [("authorization", f"Bearer {token}")] if token else []
    seconds = talk.timeout.total_seconds()
    with channel_to(str(talk.target), talk.tls) as (address, channel):
        send = getattr(AdminServiceStub(channel), method)  # type: ignore[no-untyped-call]
        answer = call(address, lambda: send(request, timeout=seconds, metadata=metadata))
    (show_json if talk.as_json else show)(answer)
    return 0
