"""Fetch, without I/O: serve from the cache, or ask the provider and store, one caller of a request at a time.

Besides calls to the sidecar its steps are to wait for another caller, to ask the provider, and to do
something later; whoever runs them sends back what came of each.
"""

from __future__ import annotations

import hashlib
from collections.abc import Generator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

from askonce import decoding, encoding
from askonce.breaker import CircuitBreaker
from askonce.core import Call, Later, Pause, Policy
from askonce.enums import CacheMode, Outcome
from askonce.errors import TRANSPORT_FAILURES, AskOnceError, InvalidRequest
from askonce.fields import seconds as seconds_of
from askonce.request import Lookup, Metadata, Seconds, Store
from askonce.results import Decision, Fetched, StoreResult
from askonce.single_flight import Ending, Flight, Flights
from askonce.upstream import UpstreamResponse
from askonce.verbs import Verbs

LONGEST_WAIT = 60.0
"""For how many seconds a fetch waits for another's answer if it does not say: as long as a lease lasts."""
_MOST_FLIGHTS = 2
"""For how many others, one after the other, a caller waits. When two in a row have failed, whoever waits goes
on alone: else a provider that is down would be asked by one at a time."""
_HIT_STATUS = 200


class Ask(NamedTuple):
    """To ask the provider. Sent back is its answer, thrown in what it raised."""


Step: TypeAlias = Call | Pause | Ask | Later

T = TypeVar("T")
FetchSteps: TypeAlias = Generator[Step, Any, T]


class FetchingVerbs(Verbs):
    """The verbs, and what is made of them."""

    def __init__(self, policy: Policy, breaker: CircuitBreaker | None = None) -> None:
        """Make the core of one client. Raises InvalidRequest for times that are not positive."""
        super().__init__(policy, breaker)
        self.flights = Flights()

    def fetch(
        self, lookup: Lookup, budget: Seconds | None, metadata: Metadata, *, refresh: bool
    ) -> FetchSteps[Fetched]:
        """Return an answer from the cache or the provider. With `refresh` a stale one is asked for anew."""
        return _Fetch(self, lookup, budget, metadata).run(refresh=refresh)


@dataclass(slots=True)
class _Fetch:
    verbs: FetchingVerbs
    lookup: Lookup
    budget: Seconds | None
    metadata: Metadata
    mine: Flight | None = field(default=None, init=False)
    """What others of this process wait for."""

    def run(self, *, refresh: bool) -> FetchSteps[Fetched]:
        """Look up, wait, fill, store, abandon: as far as it takes."""
        try:
            decision = yield from self._decide()
            if decision.body is None:
                answer, stored = yield from self._fill(decision)
                return Fetched(
                    body=answer.body,
                    content_type=answer.content_type,
                    status_code=answer.status_code,
                    decision=decision,
                    stored=stored,
                )
            if decision.lease_holder:
                yield from self._refresh(decision, wanted=refresh)
        finally:
            self._end(Ending.ABANDONED)
        return Fetched(
            body=decision.body,
            content_type=decision.content_type,
            status_code=_HIT_STATUS,
            decision=decision,
        )

    def _decide(self) -> FetchSteps[Decision]:
        """Return the decision once it is this caller's turn."""
        verbs = self.verbs
        wait = _longest_wait(self.lookup)
        if wait is None:
            return (yield from verbs.lookup(self.lookup, self.budget, self.metadata))
        until = verbs.clock() + wait
        key = self._key()
        for _ in range(_MOST_FLIGHTS if key else 0):
            flight, mine = verbs.flights.begin(key)
            if mine:
                self.mine = flight
                return (yield from self._lead(flight, until))
            yield Pause(flight.decided, max(until - verbs.clock(), 0) + verbs.budget_seconds(self.budget))
            if flight.failed is not None:
                return (yield from verbs.guarded(_raising(flight.failed), decoding.no_decision))
            yield Pause(flight.settled, max(until - verbs.clock(), 0))
            if not flight.settled.done() or flight.settled.result() is not Ending.ABANDONED:
                break
        return (yield from self._look_up(until))

    def _lead(self, flight: Flight, until: float) -> FetchSteps[Decision]:
        """Look up for all; unless an answer is to be stored, nobody has to wait any longer."""
        decision: Decision | None = None
        try:
            decision = yield from self._look_up(until)
            flight.failed = _transport_failure(decision.error)
        except AskOnceError as error:
            flight.failed = _transport_failure(error)
            raise
        finally:
            if decision is not None and _worth_waiting(decision):
                flight.decided.set_result(None)
            elif decision is not None or flight.failed is not None:
                self._end(Ending.OVER)
            else:
                self._end(Ending.ABANDONED)
        return decision

    def _look_up(self, until: float) -> FetchSteps[Decision]:
        left = max(until - self.verbs.clock(), 0)
        lookup = replace(self.lookup, wait_for_fill=left, omit_body=False)
        return (yield from self.verbs.lookup(lookup, self.budget, self.metadata))

    def _fill(self, decision: Decision) -> FetchSteps[tuple[UpstreamResponse, StoreResult]]:
        """Ask the provider and store its answer; give the lease back when there is none."""
        verbs = self.verbs
        try:
            answer = _checked((yield Ask()))
        except GeneratorExit:
            raise
        except BaseException:
            yield from self._abandon(decision)
            raise
        try:
            stored = yield from verbs.store(Store(decision, answer), None, self.metadata)
        finally:
            self._end(Ending.OVER)
        return answer, stored

    def _refresh(self, decision: Decision, *, wanted: bool) -> FetchSteps[None]:
        """Have a stale answer asked for anew, or leave that to the next caller."""
        if wanted:
            try:
                yield Later(self._fill_anew(decision))
            except Exception as error:
                self.verbs.reporter.report_refresh(error)
            else:
                return
        yield from self._abandon(decision)

    def _abandon(self, decision: Decision) -> FetchSteps[None]:
        """Give the lease back, if there is one. What goes wrong is logged; a lease ends by itself."""
        with suppress(AskOnceError):
            yield from self.verbs.abandon(decision, None, self.metadata)

    def _fill_anew(self, decision: Decision) -> FetchSteps[None]:
        try:
            yield from self._fill(decision)
        except Exception as error:  # the caller has long been served
            self.verbs.reporter.report_refresh(error)

    def _key(self) -> bytes:
        """Identify the request among those of this process; empty when it is to be looked up for itself.

        Only an ordinary Lookup may be answered by what another one brought.
        """
        lookup = self.lookup
        try:
            if lookup.controls is not None and lookup.controls.mode not in {None, CacheMode.DEFAULT}:
                return b""
            said = replace(lookup, request_id="", trace=False, wait_for_fill=None, omit_body=False)
            budget = self.verbs.budget_seconds(self.budget)
            message = encoding.lookup_request(said, budget_seconds=budget)
            return hashlib.sha256(message.SerializeToString(deterministic=True)).digest()
        except Exception:  # the Lookup will say what is wrong
            return b""

    def _end(self, how: Ending) -> None:
        if self.mine is not None:
            self.verbs.flights.end(self.mine, how)


def _longest_wait(lookup: Lookup) -> float | None:
    """Return how many seconds to wait for others. None: the question is none, which a Lookup refuses."""
    if not isinstance(lookup, Lookup):
        return None
    if lookup.wait_for_fill is None:
        return LONGEST_WAIT
    try:
        wait = seconds_of(lookup.wait_for_fill, "wait_for_fill")
    except InvalidRequest:
        return None
    return wait if wait >= 0 else None


def _worth_waiting(decision: Decision) -> bool:
    """Whether others will find the answer. A shadow rule serves nobody, so that it keeps nobody waiting."""
    return decision.outcome is Outcome.MISS and decision.store_answer and not decision.shadow


def _checked(answer: object) -> UpstreamResponse:
    if not isinstance(answer, UpstreamResponse):
        raise TypeError(f"fill must return an UpstreamResponse, not {type(answer).__name__}")
    return answer


def _transport_failure(error: AskOnceError | None) -> AskOnceError | None:
    return error if isinstance(error, TRANSPORT_FAILURES) else None


def _raising(error: AskOnceError) -> Generator[Call, Any, Decision]:
    raise error
    yield
