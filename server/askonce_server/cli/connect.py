"""Talks to a running server."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import grpc

from askonce.v1.decision_service_pb2_grpc import DecisionServiceStub
from askonce_server.cli.failure import Failed, misused
from askonce_server.cli.said import Talk, Tls
from askonce_server.config.address import parse_address
from askonce_server.config.places import default_target

Reply = TypeVar("Reply")

# A Unix socket's path would be the authority otherwise, percent-encoded, which strict peers refuse.
_PLAIN = (("grpc.default_authority", "localhost"),)
OPTIONS = (
    # A sidecar is never behind a proxy, whatever the environment says of proxies.
    ("grpc.enable_http_proxy", 0),
    # The server has limits of its own and names them; these would only hide which one it was.
    ("grpc.max_receive_message_length", -1),
    ("grpc.max_send_message_length", -1),
)


@contextmanager
def decisions(talk: Talk) -> Iterator[tuple[str, DecisionServiceStub]]:
    """Open the decision service that `talk` is with, else that at the default. Raises Failed."""
    with channel_to(talk.target or default_target(os.environ), talk.tls) as (address, channel):
        yield address, DecisionServiceStub(channel)  # type: ignore[no-untyped-call]


@contextmanager
def channel_to(target: str, tls: Tls | None) -> Iterator[tuple[str, grpc.Channel]]:
    """Open a channel to `target`. Raises Failed for what is no address, or has no TLS."""
    try:
        address = str(parse_address(target))
    except ValueError as error:
        raise misused(f"target {target!r} {error}") from None
    if tls is None:
        with grpc.insecure_channel(address, options=(*_PLAIN, *OPTIONS)) as channel:
            yield address, channel
        return
    if address.startswith("unix:"):
        raise misused(f"{address} is a socket, which is served without TLS: leave --tls-ca out")
    name = (("grpc.ssl_target_name_override", tls.server_name),) if tls.server_name else ()
    with grpc.secure_channel(address, _credentials(tls), options=(*name, *OPTIONS)) as channel:
        yield address, channel


def _credentials(tls: Tls) -> grpc.ChannelCredentials:
    return grpc.ssl_channel_credentials(_pem(tls.ca), _pem(tls.key), _pem(tls.cert))


def _pem(file: str | None) -> bytes | None:
    try:
        return None if file is None else Path(file).read_bytes()
    except OSError as error:
        raise misused(f"{file} cannot be read: {error.strerror}") from None


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
