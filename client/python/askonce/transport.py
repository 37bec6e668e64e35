"""Calls of the blocking client over gRPC."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Sequence
from typing import Protocol

import grpc

from askonce.channel import (
    LOOK_SECONDS,
    PROBE,
    SILENT,
    ChannelOptions,
    Stub,
    channel_options,
    failure_of,
    failure_of_local,
    lives,
    stub_of,
)
from askonce.core import Call
from askonce.gate import Reply
from askonce.status import Failure


class Transport(Protocol):
    """Makes calls. Never raises for what happens to a call."""

    def perform(self, call: Call) -> Reply:
        """Make `call` and return its reply."""

    def close(self) -> None:
        """Let go of connections."""


class GrpcTransport:
    """Calls over one or more gRPC channels in turn, opened by the first call: before it, a fork is safe."""

    def __init__(
        self, targets: Sequence[str], credentials: grpc.ChannelCredentials | None, options: ChannelOptions
    ) -> None:
        self._targets = targets
        self._credentials = credentials
        self._options = options
        self._lock = threading.Lock()
        self._closed = False
        self._channels: list[grpc.Channel] = []
        self._turns: itertools.cycle[Stub] | None = None

    def perform(self, call: Call) -> Reply:
        """Make `call` and return its reply; wait with it for as long as the sidecar lives."""
        try:
            turns = self._turns or self._open()
            stub = next(turns)
            if call.look_after is not None:
                return _wait(stub, call, call.look_after)
            answer: bytes = stub[call.method](call.payload, timeout=call.timeout, metadata=call.metadata)
            return answer
        except grpc.RpcError as error:
            return failure_of(error)
        except grpc.FutureCancelledError:
            return Failure("CANCELLED", "the channel was closed")
        except Exception as error:  # a channel that was closed meanwhile, bad metadata
            return failure_of_local(error)

    def close(self) -> None:
        """Let go of connections."""
        with self._lock:
            self._closed = True
            for channel in self._channels:
                channel.close()

    def _open(self) -> itertools.cycle[Stub]:
        with self._lock:
            if self._closed:
                raise ValueError("closed")
            if self._turns is None:
                self._channels = [self._channel(target) for target in self._targets]
                self._turns = itertools.cycle([stub_of(channel) for channel in self._channels])
            return self._turns

    def _channel(self, target: str) -> grpc.Channel:
        options = channel_options(target, self._options)
        if self._credentials is None:
            return grpc.insecure_channel(target, options)
        return grpc.secure_channel(target, self._credentials, options)


def _wait(stub: Stub, call: Call, look_after: float) -> Reply:
    """Return the answer of a sidecar that may let the call wait; give up when it does not live."""
    future = stub[call.method].future(call.payload, timeout=call.timeout, metadata=call.metadata)
    seconds = look_after
    try:
        while True:
            try:
                answer: bytes = future.result(timeout=seconds)
                return answer
            except grpc.FutureTimeoutError:
                if not _lives(stub):
                    return SILENT
                seconds = LOOK_SECONDS
    finally:
        future.cancel()  # whose end nobody waits for any more; one that has ended stays as it is


def _lives(stub: Stub) -> bool:
    try:
        stub[PROBE](b"", timeout=LOOK_SECONDS)
    except grpc.RpcError as error:
        return lives(error)
    return True
