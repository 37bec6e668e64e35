"""The gate before every call: whether it may be made, and what its end says of the sidecar's health."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Self, TypeVar

from google.protobuf.message import DecodeError, Message

from askonce.breaker import CircuitBreaker, Permit
from askonce.errors import (
    TRANSPORT_FAILURES,
    AskOnceError,
    CircuitOpen,
    ClientClosed,
    ClientForked,
    RequestTooLarge,
    SidecarFailed,
    SidecarUnreachable,
)
from askonce.status import Failure, error_from

Reply = bytes | Failure
"""What came back from a call: a serialized answer, or how it failed."""

_LOGGED_CHARACTERS = 200

M = TypeVar("M", bound=Message)


class Gate:
    """Lets calls through unless the client is closed, was forked, or its breaker is open. Thread-safe."""

    def __init__(self, breaker: CircuitBreaker) -> None:
        """Start open; `breaker` hears how every call ended."""
        self.breaker = breaker
        self.closed = False
        self._pid: int | None = None

    def attempt(self) -> Attempt:
        """Return the leave for one call. Raises ClientClosed, ClientForked or CircuitOpen."""
        if self.closed:
            raise ClientClosed("the client is closed")
        pid = os.getpid()
        if self._pid is None:
            self._pid = pid
        elif self._pid != pid:
            # Half of the children hang in gRPC when other threads were calling at the time of the fork, and
            # the breaker's lock may be held by a thread that is gone: touch neither.
            raise ClientForked("the client was used before the process forked; make one in each process")
        permit = self.breaker.enter()
        if permit is None:
            raise CircuitOpen("the sidecar failed too often just now and was not asked")
        return Attempt(self, permit)

    def close(self) -> bool:
        """Let nothing through any more; return whether the transport is this process's to close."""
        mine = not self.closed and self._pid in {None, os.getpid()}
        self.closed = True
        return mine


class Attempt:
    """One call that was let through. Leaving it without an answer tells the breaker nothing."""

    __slots__ = ("_gate", "_open", "_permit")

    def __init__(self, gate: Gate, permit: Permit) -> None:
        """Hold `permit` until an answer is judged or the attempt is left."""
        self._gate = gate
        self._permit = permit
        self._open = True

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._open:
            self._gate.breaker.release(self._permit)

    def answer(self, reply: Reply, kind: type[M]) -> M:
        """Return the answer as a message of `kind`. Raises what the reply stands for if it is none."""
        if isinstance(reply, Failure):
            error: AskOnceError = error_from(reply)
            if self._gate.closed and reply.code in {"", "CANCELLED"}:
                error = ClientClosed("the client was closed during the call")
            self._judge(error)
            raise error
        try:
            message = kind.FromString(reply)
        except DecodeError:
            malformed = SidecarFailed("the sidecar's answer is not a message of the contract")
            self._judge(malformed)
            raise malformed from None
        self._judge(None)
        return message

    def _judge(self, error: AskOnceError | None) -> None:
        if isinstance(error, TRANSPORT_FAILURES):
            self._open = False
            self._gate.breaker.fail(self._permit, _for_the_log(error))
        elif error is None or (error.code and not isinstance(error, RequestTooLarge)):
            # A refusal is an answer: the sidecar is there. Only what this side may have made by itself (no
            # status at all, or a size limit of its own) says nothing.
            self._open = False
            self._gate.breaker.succeed(self._permit)


def _for_the_log(error: AskOnceError) -> str:
    """Describe a failure without what a server may have quoted from the request."""
    name = error.code or type(error).__name__
    if isinstance(error, SidecarUnreachable):
        return f"{name}: {error.message[:_LOGGED_CHARACTERS]}"
    return name
