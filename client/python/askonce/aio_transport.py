"""Calls of the asyncio client over gRPC."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Sequence
from typing import NamedTuple, Protocol

import grpc
import grpc.aio

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


class AsyncTransport(Protocol):
    """Makes calls. Never raises for what happens to a call."""

    async def perform(self, call: Call) -> Reply:
        """Make `call` and return its reply."""

    async def close(self) -> None:
        """Let go of connections."""


class GrpcAioTransport:
    """Calls over one or more gRPC channels in turn, opened by the first call of each event loop.

    Channels of gRPC belong to the loop they were made in. A client that outlives a loop, as in `asyncio.run`
    called twice, gets new ones and lets go of the old.
    """

    def __init__(
        self, targets: Sequence[str], credentials: grpc.ChannelCredentials | None, options: ChannelOptions
    ) -> None:
        self._targets = targets
        self._credentials = credentials
        self._options = options
        self._closed = False
        self._opened: dict[asyncio.AbstractEventLoop, _Opened] = {}

    async def perform(self, call: Call) -> Reply:
        """Make `call` and return its reply; wait with it for as long as the sidecar lives."""
        try:
            stub = next(self._turns())
            made = stub[call.method](call.payload, timeout=call.timeout, metadata=call.metadata)
            answer: bytes | Failure = (
                await made if call.look_after is None else await _wait(stub, made, call.look_after)
            )
            return answer
        except grpc.RpcError as error:
            return failure_of(error)
        except asyncio.CancelledError:
            # gRPC raises this in the caller also when it was the channel that was closed under the call.
            task = asyncio.current_task()
            if task is None or task.cancelling():
                raise
            return Failure("CANCELLED", "the channel was closed")
        except Exception as error:  # a channel that was closed meanwhile, bad metadata
            return failure_of_local(error)

    async def close(self) -> None:
        """Let go of connections."""
        self._closed = True
        opened = self._opened.pop(asyncio.get_running_loop(), None)
        self._opened.clear()
        for channel in opened.channels if opened else ():
            await channel.close()

    def _turns(self) -> itertools.cycle[Stub]:
        loop = asyncio.get_running_loop()
        if loop not in self._opened:
            if self._closed:
                raise ValueError("closed")
            for other in [other for other in self._opened if other.is_closed()]:
                del self._opened[other]
            self._opened[loop] = self._open()
        return self._opened[loop].turns

    def _open(self) -> _Opened:
        channels = [self._channel(target) for target in self._targets]
        return _Opened(channels, itertools.cycle([stub_of(channel) for channel in channels]))

    def _channel(self, target: str) -> grpc.aio.Channel:
        options = channel_options(target, self._options)
        if self._credentials is None:
            return grpc.aio.insecure_channel(target, options)
        return grpc.aio.secure_channel(target, self._credentials, options)


class _Opened(NamedTuple):
    """What was opened in one event loop."""

    channels: Sequence[grpc.aio.Channel]
    turns: itertools.cycle[Stub]


async def _wait(stub: Stub, made: Awaitable[bytes], look_after: float) -> Reply:
    """Return the answer of a sidecar that may let the call wait; give up when it does not live."""
    answer = asyncio.ensure_future(_answer(made))
    seconds = look_after
    try:
        while not (await asyncio.wait((answer,), timeout=seconds))[0]:
            if not await _lives(stub):
                return SILENT
            seconds = LOOK_SECONDS
        return answer.result()
    finally:
        if answer.done() and not answer.cancelled():
            answer.exception()  # nobody else may look at it
        answer.cancel()  # nobody waits for its end any more


async def _answer(made: Awaitable[bytes]) -> bytes:
    return await made


async def _lives(stub: Stub) -> bool:
    try:
        await stub[PROBE](b"", timeout=LOOK_SECONDS)
    except grpc.RpcError as error:
        return lives(error)
    return True
