"""gRPC channels to a sidecar: on the same machine as a rule, so what helps across the internet is off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import grpc

from askonce.core import METHODS
from askonce.status import DETAILS_KEY, Failure

ChannelOptions = Sequence[tuple[str, Any]]
Stub = Mapping[str, Any]
"""What makes a call of each of `METHODS`, and of `PROBE`: bytes in, bytes out."""

LOOK_SECONDS = 1.0
"""How long a sidecar has to say that it lives, and how often it is asked while it lets a call wait."""
PROBE = "/grpc.health.v1.Health/Check"
"""What it is asked: a method that every sidecar has, whose empty request means the server as a whole."""
SILENT = Failure("DEADLINE_EXCEEDED", "the sidecar lets the call wait and does not say that it lives")

_MIB = 1 << 20

_OPTIONS: Mapping[str, Any] = {
    # The sidecar names its own limits with a reason; the client only has to stay above them.
    "grpc.max_send_message_length": -1,
    "grpc.max_receive_message_length": 16 * _MIB,
    # A gateway's HTTP_PROXY is for its providers, not for the sidecar.
    "grpc.enable_http_proxy": 0,
    # Two clients of one process, and two channels of one client, are to have connections of their own:
    # one slow client must not hand its reconnect backoff to another.
    "grpc.use_local_subchannel_pool": 1,
    # A restarted sidecar is back within milliseconds; the default waits up to two minutes.
    "grpc.initial_reconnect_backoff_ms": 100,
    "grpc.min_reconnect_backoff_ms": 1000,
    "grpc.max_reconnect_backoff_ms": 500,
    # Only while calls are in flight, and rarely enough for a server's default ping policy. What it buys is
    # TCP_USER_TIMEOUT: a peer that vanished without a word is found out in seconds.
    "grpc.keepalive_time_ms": 60_000,
    "grpc.keepalive_timeout_ms": 5_000,
    "grpc.keepalive_permit_without_calls": 0,
}


def channel_options(target: str, extra: ChannelOptions) -> list[tuple[str, Any]]:
    """Return the channel options for `target`; `extra` wins."""
    options = dict(_OPTIONS)
    if target.startswith(("unix:", "unix-abstract:")):
        # gRPC would send the percent-encoded path as :authority, which strict peers refuse.
        options["grpc.default_authority"] = "localhost"
    options.update(extra)
    return list(options.items())


def targets_of(target: str | Sequence[str], channels: int) -> list[str]:
    """Return the target of every channel to open. Raises ValueError when there is nothing to open."""
    targets = [target] if isinstance(target, str) else list(target)
    if not targets or not all(isinstance(t, str) and t for t in targets):
        raise ValueError("target must be an address, or several, such as unix:///run/askonce/askonce.sock")
    if channels < 1:
        raise ValueError("channels must be at least 1")
    return targets * channels


def stub_of(channel: Any) -> Stub:
    """Return the methods of a sidecar on a channel of either gRPC client."""
    # Without serializers gRPC carries bytes; its own would log a line for every answer that is no message.
    return {name: channel.unary_unary(path) for name, path in (*METHODS.items(), (PROBE, PROBE))}


def failure_of(error: grpc.RpcError) -> Failure:
    """Return what a failed call of either gRPC client says."""
    code = error.code()
    trailers: Any = error.trailing_metadata() or ()
    # Pair by pair: the asyncio client's Metadata is no mapping that dict() would understand everywhere.
    details = next((value for key, value in trailers if key == DETAILS_KEY), b"")
    name = code.name if isinstance(code, grpc.StatusCode) else "UNKNOWN"
    return Failure(name, error.details() or "", details if isinstance(details, bytes) else b"")


def lives(failed: grpc.RpcError) -> bool:
    """Whether a sidecar that failed the probe like that is there all the same."""
    return failed.code() not in {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE}


def failure_of_local(error: Exception) -> Failure:
    """Return what it says that a call could not be made, without quoting its arguments."""
    return Failure("", f"the call could not be made: {type(error).__name__}")
