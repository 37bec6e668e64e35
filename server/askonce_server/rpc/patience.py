"""How long a call may wait, told from its deadline and the budgets of its items."""

from __future__ import annotations

import time
from collections.abc import Sequence

import grpc

from askonce.v1 import decision_service_pb2
from askonce_server.rpc.handlers import parse

_WAIT_SECONDS = 1.0
"""How long a call waits for a permit at most."""
_RETURN_SECONDS = 0.010
"""What is kept of the caller's time, so that the answer still reaches it."""

_LEAST_SECONDS = 0.001
"""What an answer needs to reach its caller at all: nobody would hear of what is worked for with less."""


def in_time(context: grpc.ServicerContext) -> bool:
    """Whether the caller's deadline leaves time to answer: under load a call may wait long for its thread."""
    remaining = context.time_remaining()
    return remaining is None or remaining > _LEAST_SECONDS


def patience(
    context: grpc.ServicerContext, items: Sequence[decision_service_pb2.LookupRequest] = ()
) -> float:
    """Return how long the call may wait for a permit, in seconds.

    That is half of what its deadline or the smallest budget of its `items` leaves; the rest is for the work.
    """
    seconds = _left(context, items)
    return _WAIT_SECONDS if seconds is None else min(_WAIT_SECONDS, seconds / 2)


def cut_off(
    context: grpc.ServicerContext, items: Sequence[decision_service_pb2.LookupRequest]
) -> float | None:
    """Return when the caller must have its answer, in seconds of `time.monotonic`; None: whenever."""
    seconds = _left(context, items)
    return None if seconds is None else time.monotonic() + seconds


def cut_off_of(context: grpc.ServicerContext, raw: bytes) -> float | None:
    """Return the same for a Lookup that comes as bytes."""
    return cut_off(context, items_of(raw))


def items_of(raw: bytes) -> Sequence[decision_service_pb2.LookupRequest]:
    """Return the one item of a Lookup. Raises MalformedRequest."""
    return (parse(decision_service_pb2.LookupRequest, raw),)


def left(context: grpc.ServicerContext) -> float | None:
    """Return how many seconds the call may wait for another's answer; None: as long as it likes."""
    seconds = _left(context, ())
    return None if seconds is None else max(0.0, seconds - _RETURN_SECONDS)


def _left(context: grpc.ServicerContext, items: Sequence[decision_service_pb2.LookupRequest]) -> float | None:
    """Return the seconds that its deadline or the smallest budget of its `items` leaves a call, or None.

    A caller that has gone has none.
    """
    if not context.is_active():
        return 0.0
    times = [item.budget.seconds + item.budget.nanos / 1e9 for item in items if item.HasField("budget")]
    remaining = context.time_remaining()
    if remaining is not None:
        times.append(remaining)
    return min(times, default=None)
