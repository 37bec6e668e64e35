"""What every verb is made of, without I/O: calls to make, the time for them, and failing open.

A verb is a generator. It yields calls, is sent their replies and returns its result; `client` and `aio` are
loops around what differs, making a call and waiting.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar, Unpack

from google.protobuf.message import Message

from askonce import decoding, encoding, trace_context
from askonce.breaker import CircuitBreaker
from askonce.descriptor import Descriptor
from askonce.errors import (
    AskOnceError,
    BudgetExceeded,
    ClientFault,
    InvalidRequest,
    Violation,
    let_go_of_frames,
)
from askonce.fields import seconds as seconds_of
from askonce.gate import Gate
from askonce.report import Reporter
from askonce.request import Lookup, LookupOptions, Metadata, Seconds, Store
from askonce.results import Decision
from askonce.v1 import decision_service_pb2 as pb

_DECISIONS = ("Lookup", "BatchLookup", "Store", "BatchStore", "Abandon", "RecordFeedback")
METHODS = {
    **{name: f"/askonce.v1.DecisionService/{name}" for name in _DECISIONS},
    "GetServerInfo": "/askonce.v1.AdminService/GetServerInfo",
}

T = TypeVar("T")


class Call(NamedTuple):
    """One call to make."""

    method: str
    """A key of `METHODS`."""
    payload: bytes
    timeout: float
    """Seconds, connecting included."""
    metadata: Metadata
    look_after: float | None = None
    """After how many seconds without an answer to see whether the sidecar lives, again and again: it may be
    waiting, as it was asked to. None: it has until `timeout`."""


def call_of(
    method: str, request: Message, timeout: float, metadata: Metadata, *, look_after: float | None = None
) -> Call:
    """Return the call that sends `request`. Raises InvalidRequest for metadata that gRPC would not take."""
    carried = trace_context.along(encoding.metadata(metadata))
    return Call(method, request.SerializeToString(), timeout, carried, look_after)


class Pause(NamedTuple):
    """To wait until `until` is done, for that many seconds at most."""

    until: Future[Any]
    seconds: float


class Later(NamedTuple):
    """To run other steps when it suits, with nobody to wait for their end. Thrown in: it cannot be done."""

    steps: Generator[Any, Any, None]


Steps: TypeAlias = Generator[Call | Pause | Later, Any, T]
"""The steps of a verb: calls, waits and errands out, replies in, the result at the end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a client behaves."""

    budget: Seconds = 0.050
    """How long a Lookup may take."""
    store_timeout: Seconds = 2.5
    """How long every other call may take. Above the sidecar's own write timeout of 2 s."""
    strict: bool = False
    """Raise errors instead of failing open."""
    lanes: int = 0
    """How many Lookups, or batches of them, may be in flight before others gather. 0: none ever gathers."""


class Core:
    """The state of a client, and what its verbs share."""

    def __init__(
        self,
        policy: Policy,
        breaker: CircuitBreaker | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make the core of one client. Raises InvalidRequest for times that are not positive."""
        _positive(policy.budget, "budget")
        _positive(policy.store_timeout, "store_timeout")
        self.policy = policy
        self.gate = Gate(breaker or CircuitBreaker())
        self.clock = clock
        self.reporter = Reporter()

    def guarded(
        self, steps: Steps[T], fallback: Callable[[AskOnceError], T], *, strict: bool | None = None
    ) -> Steps[T]:
        """Run `steps`; turn whatever goes wrong into `fallback`, or raise it under strict."""
        try:
            return (yield from steps)
        except AskOnceError as known:
            error = known
        except Exception as bug:
            error = ClientFault.of(bug)
        self.reporter.report(error)
        if self.policy.strict if strict is None else strict:
            raise error
        let_go_of_frames(error)
        return fallback(error)

    def lookup_once(self, lookup: Lookup, budget: Seconds | None, metadata: Metadata) -> Steps[Decision]:
        """Ask once; raises AskOnceError."""
        deadline = self.clock()
        with self.gate.attempt() as attempt:
            seconds = self.budget_seconds(budget)
            look_after = None
            if lookup.wait_for_fill:
                look_after = seconds
                seconds += seconds_of(lookup.wait_for_fill, "wait_for_fill")
            deadline += seconds
            request = encoding.lookup_request(lookup, budget_seconds=seconds)
            timeout = self.time_left(deadline)
            reply = yield call_of("Lookup", request, timeout, metadata, look_after=look_after)
            response = attempt.answer(reply, pb.LookupResponse)
        return decoding.decision(response.decision, omit_body=lookup.omit_body)

    def budget_seconds(self, budget: Seconds | None) -> float:
        """Return how long a Lookup may take."""
        return _positive(self.policy.budget if budget is None else budget, "budget")

    def timeout_seconds(self, timeout: Seconds | None) -> float:
        """Return how long any other call may take."""
        return _positive(self.policy.store_timeout if timeout is None else timeout, "timeout")

    def time_left(self, deadline: float) -> float:
        """Return the seconds until `deadline`. Raises BudgetExceeded when there are none."""
        left = deadline - self.clock()
        if left <= 0:
            raise BudgetExceeded("no time was left to ask the sidecar")
        return left


def as_lookup(given: Lookup | Descriptor, **options: Unpack[LookupOptions]) -> Lookup:
    """Return the Lookup of a descriptor, with `options`; anything else is left for the encoder to judge."""
    if isinstance(given, Descriptor):
        return Lookup(given, **options)
    return replace(given, **options) if options and isinstance(given, Lookup) else given


def nothing_to_fill(store: Store) -> bool:
    """Whether the decision asked for no Store, so that there is nothing to send."""
    return isinstance(store.source, Decision) and not (store.source.store_answer and store.source.fill_token)


def _positive(value: Seconds, path: str) -> float:
    number = seconds_of(value, path)
    if number <= 0:
        violations = (Violation(path, "must be above 0"),)
        raise InvalidRequest("the request cannot be encoded", violations=violations)
    return number
