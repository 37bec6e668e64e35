"""Gathering the results of a BatchLookup: twins point at their first, bodies stop at a limit."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from askonce.v1 import decision_pb2, decision_service_pb2
from askonce_server.core.decision import Decision
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import Outcome
from askonce_server.rpc.status import TooLarge, item_error
from askonce_server.service.call import Call
from askonce_server.service.twins import identity


class BatchOfDecisions:
    """The results of one batch, added in the order of its items."""

    def __init__(
        self, message: Callable[[Decision, Call], decision_pb2.Decision], *, max_response: int
    ) -> None:
        """Encode decisions with `message`; their bodies take `max_response` bytes together at most."""
        self._message = message
        self._limit = max_response
        self._size = 0
        self._firsts: dict[Hashable, int] = {}
        self._left_out: dict[int, TooLarge] = {}
        self.response = decision_service_pb2.BatchLookupResponse()

    def add_error(self, error: Exception) -> None:
        """Add an item that could not be decided."""
        self.response.results.add(error=item_error(error))

    def add(self, decision: Decision, call: Call) -> bool:
        """Add a decision, on `call.plan` unless it could not be made; return whether it has room.

        Without room the item becomes an error: it is no decision then, and is not counted as one. Whoever
        asks again singly gets one, and that one is counted.
        """
        index = len(self.response.results)
        message = self._message(decision, call)
        same = _identity(decision, call.plan)
        first = self._firsts.setdefault(same, index) if same is not None else index
        if first in self._left_out:
            return self._leave_out(index, self._left_out[first])
        if first != index:
            _make_twin(message, first)
        size = self._size + len(message.candidate.body.data)
        if size > self._limit:
            error = TooLarge("the batch's bodies", size=size, limit=self._limit, setting="max_response")
            return self._leave_out(index, error)
        self._size = size
        self.response.results.add(decision=message)
        return True

    def _leave_out(self, index: int, error: TooLarge) -> bool:
        self._left_out[index] = error
        self.add_error(error)
        return False


def _identity(decision: Decision, plan: Plan | None) -> Hashable:
    """Return what twins have in common, or None for what has no twin.

    Where shapes share entries, who wants a stream and who does not may be told different things.
    """
    if plan is None or decision.outcome is Outcome.BYPASS:
        return None
    same = identity(plan)  # known already: a decision that looked something up has derived it
    return None if same is None else (same, plan.request.stream)


def _make_twin(message: decision_pb2.Decision, first: int) -> None:
    """Turn a decision into one that carries nothing of its own: its answer is that of item `first`."""
    message.same_as = first
    message.candidate.ClearField("body")
    message.store_answer = False
    message.lease_holder = False
    message.fill_token = b""
