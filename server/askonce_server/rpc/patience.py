"""How long a call may wait, told from its deadline and the budgets of its items."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import grpc

from askonce.v1 import decision_service_pb2
from askonce_server.service.driver import RETURN_SECONDS

_WAIT_SECONDS = 1.0
"""How long a call waits for a permit at most."""
_LEAST_SECONDS = 0.001
"""What an answer needs to reach its caller at all: nobody would hear of what is worked for with less."""

Items = Sequence[decision_service_pb2.LookupRequest]


def in_time(context: grpc.ServicerContext) -> bool:
    """Whether the caller's deadline leaves time to answer: under load a call may wait long for its thread."""
    remaining = context.time_remaining()
    return remaining is None or remaining > _LEAST_SECONDS


class Caller:
    """Who made a call, and until when: its deadline, and the smallest budget of its items since it came."""

    __slots__ = ("_came", "_context", "_end", "_items")

    def __init__(self, context: grpc.ServicerContext, items: Callable[[], Items] = tuple) -> None:
        """Take the time. `items` gives those of a lookup; it is asked once, when a budget counts at all."""
        self._context = context
        self._items = items
        self._came = time.monotonic()
        self._end: float | None = None

    def patience(self) -> float:
        """Return how long the call may wait for a permit, in seconds: half of its time, the rest is for work.

        Raises what reading the items raises.
        """
        return min(_WAIT_SECONDS, (self.cut_off() - time.monotonic()) / 2)

    def cut_off(self) -> float:
        """Return when the caller must have its answer, in seconds of `time.monotonic`; infinite: whenever.

        It has passed for a caller that has gone. Raises what reading the items raises.
        """
        if not self._context.is_active():
            return self._came
        remaining = self._context.time_remaining()
        deadline = math.inf if remaining is None else time.monotonic() + remaining
        return min(deadline, self._budget_end())

    def left(self) -> float:
        """Return how many seconds the call may wait for another's answer, which no budget counts."""
        if not self._context.is_active():
            return 0.0
        remaining = self._context.time_remaining()
        return math.inf if remaining is None else max(0.0, remaining - RETURN_SECONDS)

    def _budget_end(self) -> float:
        if self._end is None:
            budgets = [one.budget for one in self._items() if one.HasField("budget")]
            seconds = min((one.seconds + one.nanos / 1e9 for one in budgets), default=math.inf)
            self._end = self._came + seconds
        return self._end
