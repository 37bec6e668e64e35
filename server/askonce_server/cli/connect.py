"""Talks to a running server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

import grpc

from askonce.v1.decision_service_pb2_grpc import DecisionServiceStub
from askonce_server.cli.failure import Failed, misused
from askonce_server.config.address import parse_address
from askonce_server.config.places import default_target

Reply = TypeVar("Reply")

OPTIONS = (
    # A Unix socket's path would be the authority otherwise, percent-encoded, which strict peers refuse.
    ("grpc.default_authority", "localhost"),
    # A sidecar is never behind a proxy, whatever the environment says of proxies.
    ("grpc.enable_http_proxy", 0),
    # The server has limits of its own and names them; these would only hide which one it was.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
)


@contextmanager
def decisions(target: str | None) -> Iterator[tuple[str, DecisionServiceStub]]:
    """Open the decision service at `target`, else at the default. Raises Failed for what is no address."""
    with channel_to(target or default_target(os.environ)) as (address, channel):
        yield address, DecisionServiceStub(channel)  # type: ignore[no-untyped-call]


@contextmanager
def channel_to(target: str) -> Iterator[tuple[str, grpc.Channel]]:
    """Open a channel to `target`. Raises Failed for what is no address."""
    try:
        address = str(parse_address(target))
    except ValueError as error:
        raise misused(f"target {target!r} {error}") from None
    with grpc.insecure_channel(address, options=OPTIONS) as channel:
        yield address, channel


def call(address: str, send: Callable[[], Reply]) -> Reply:
    """Return what `send` returns. Raises Failed, in one line, when the call fails."""
    try:
        return send()
    except grpc.RpcError as error:
        if not isinstance(error, grpc.Call):
            raise
        raise _failure(address, error) from None


def _failure(address: str, error: grpc.Call) -> Failed:
    details = " ".join(str(error.details()).split())
    code = error.code()
    if code is grpc.StatusCode.UNAVAILABLE and "drain" not in details:
        return Failed(f"cannot reach {address}: is `askonce serve` running there? ({details})")
    if code is grpc.StatusCode.DEADLINE_EXCEEDED:
        return Failed(f"no answer from {address} in time: see --timeout")
    if code is grpc.StatusCode.UNIMPLEMENTED:
        return Failed(f"{address} does not serve this: is it the address of admin.listen, or of listen?")
    misuse = code is grpc.StatusCode.INVALID_ARGUMENT
    return Failed(f"{code.name}: {details}", exit_code=2 if misuse else 1)
