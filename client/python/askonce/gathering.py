"""Natural batching: while one Lookup is in flight, those that come gather, and go out together after it.

At low load nothing waits; at high load the batch grows by itself. One of those who wait makes the call for
all, the one that has the most time; the others wait for what it brings, each no longer than its own time.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from concurrent.futures import Future
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

from askonce import decoding, encoding
from askonce.batch import batch_lookup, item_decision, worth_asking_alone
from askonce.breaker import BreakerState
from askonce.core import Core, Later, Pause, Steps
from askonce.errors import AskOnceError, BudgetExceeded, ClientFault, RequestTooLarge
from askonce.request import Lookup, Metadata, Seconds
from askonce.results import Decision
from askonce.rulebook import Rulebook
from askonce.v1 import decision_service_pb2 as pb

MOST_ITEMS = 256
"""The contract's limit of a batch."""
MOST_BYTES = 1 << 20
"""Keeps a batch well below the sidecar's default `max_request` of 8 MiB, and its decoding short."""
MOST_ANSWER_BYTES = 2 << 20
"""Below the sidecar's default `max_response` of 3 MiB, beyond which items come back without their bodies."""


@dataclass(slots=True, eq=False)
class _Item:
    """One Lookup that waits for its turn."""

    lookup: Lookup
    message: pb.LookupRequest
    deadline: float
    outcome: Future[_Outcome] = field(default_factory=Future)
    """Done when something has come, cancelled when nobody waits any more; the lock is held for both."""


class _Turn(NamedTuple):
    """To make the call for all of these, of which the item that is told so is one."""

    batch: Sequence[_Item]


_Outcome: TypeAlias = Decision | AskOnceError | _Turn


class Gathering:
    """The Lookups of one client that gather. Thread-safe."""

    def __init__(self, core: Core) -> None:
        """Start with nothing in flight."""
        self._core = core
        self._lanes = core.policy.lanes
        self._rules = Rulebook(core.clock)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._callers = 0
        self._flying = 0
        self._waiting: list[_Item] = []
        self._mean_bytes = 0
        """A running mean of the bodies of hits, so that batches of large ones stay small."""

    def decide(self, lookup: Lookup, budget: Seconds | None, metadata: Metadata) -> Steps[Decision]:
        """Ask for one decision: alone or, where that costs nobody time, with others. Raises AskOnceError."""
        may_gather = self._lanes and not metadata and isinstance(lookup, Lookup) and not lookup.wait_for_fill
        if not may_gather or self._pid != os.getpid():  # the lock may have stayed behind at a fork
            return (yield from self._core.lookup_once(lookup, budget, metadata))
        crowded = self._arrive()
        try:
            if crowded and self._is_well() and self._rules.is_due():
                with suppress(Exception):  # it is asked again in a while
                    yield Later(self._rules.ask(self._core.timeout_seconds(None)))
            if self._rules.deterministic(lookup.descriptor):
                decision = yield from self._decide_in_turn(lookup, budget)
            else:
                decision = yield from self._core.lookup_once(lookup, budget, ())
        finally:
            self._depart()
        self._rules.learn(lookup.descriptor, decision.rule_id)
        return decision

    def _decide_in_turn(self, lookup: Lookup, budget: Seconds | None) -> Steps[Decision]:
        if self._take_off():
            try:
                return (yield from self._core.lookup_once(lookup, budget, ()))
            finally:
                self._land()
        core = self._core
        seconds = core.budget_seconds(budget)
        message = encoding.lookup_request(lookup, budget_seconds=seconds)
        item = _Item(lookup, message, core.clock() + seconds)
        try:
            return (yield from self._gather(item))
        except RequestTooLarge:  # of the batch, perhaps, which could not carry this item's body
            return (yield from core.lookup_once(lookup, core.time_left(item.deadline), ()))

    def _gather(self, item: _Item) -> Steps[Decision]:
        with self._lock:
            self._waiting.append(item)
        if self._take_off():  # what was in flight has returned since
            self._land()
        try:
            yield Pause(item.outcome, max(item.deadline - self._core.clock(), 0))
        except BaseException:
            outcome = self._leave(item)
            if isinstance(outcome, _Turn):
                self._pass_on(outcome.batch, item)
            raise
        outcome = self._leave(item)
        if isinstance(outcome, _Turn):
            outcome = yield from self._fly(item, outcome.batch)
        if isinstance(outcome, AskOnceError):
            raise outcome
        return outcome

    def _fly(self, mine: _Item, batch: Sequence[_Item]) -> Steps[Decision | AskOnceError]:
        """Make the call for `batch`, tell the others what came for them, and return what came for `mine`."""
        request = pb.BatchLookupRequest(items=[item.message for item in batch])
        results: Sequence[pb.BatchLookupResult] = ()
        failed: AskOnceError | None = None
        try:
            results = yield from batch_lookup(self._core, request, mine.deadline, ())
        except AskOnceError as error:
            failed = error
        except BaseException:  # this caller goes; the others stay
            self._pass_on(batch, mine)
            raise
        self._land()
        # Each caller raises, or keeps, an error of its own.
        outcomes = [copy(failed) for _ in batch] if failed else self._outcomes(batch, results)
        with self._lock:
            for item, outcome in zip(batch, outcomes, strict=True):
                if not item.outcome.done():
                    item.outcome.set_result(outcome)
        return outcomes[batch.index(mine)]

    def _outcomes(
        self, batch: Sequence[_Item], results: Sequence[pb.BatchLookupResult]
    ) -> Sequence[Decision | AskOnceError]:
        outcomes: list[Decision | AskOnceError] = []
        sizes: list[int] = []

        def earlier(index: int) -> Decision:
            outcome = outcomes[index]
            return outcome if isinstance(outcome, Decision) else decoding.no_decision(outcome)

        for index, (item, result) in enumerate(zip(batch, results, strict=True)):
            try:
                decision = item_decision(index, result, item.lookup, earlier)
            except AskOnceError as error:
                alone = worth_asking_alone(error, result)
                outcomes.append(RequestTooLarge("the batch could not carry it") if alone else error)
            except Exception as bug:  # the others' answers are none the worse for it
                outcomes.append(ClientFault.of(bug))
            else:
                outcomes.append(replace(decision, same_as=None))  # the caller knows nothing of a batch
                if decision.body is not None:
                    sizes.append(len(decision.body))
        if sizes:
            self._mean_bytes = (7 * self._mean_bytes + sum(sizes) // len(sizes)) // 8
        return outcomes

    def _leave(self, item: _Item) -> _Outcome:
        """Return what has come for an item that waits no longer."""
        with self._lock:
            if item.outcome.done():
                return item.outcome.result()
            item.outcome.cancel()
            return BudgetExceeded("no time was left to ask the sidecar")

    def _is_well(self) -> bool:
        return self._core.gate.breaker.state is BreakerState.CLOSED

    def _arrive(self) -> bool:
        """Count a caller; return whether there are others."""
        with self._lock:
            self._callers += 1
            return self._callers > 1

    def _depart(self) -> None:
        with self._lock:
            self._callers -= 1

    def _take_off(self) -> bool:
        """Take a lane, if one is free."""
        with self._lock:
            free = self._flying < self._lanes
            self._flying += free
            return free

    def _land(self) -> None:
        """Give a lane to what has gathered meanwhile, or free it."""
        with self._lock:
            self._give(self._next_batch())

    def _pass_on(self, batch: Sequence[_Item], without: _Item) -> None:
        """Give the lane of one that goes to the rest of its batch."""
        with self._lock:
            rest = [item for item in batch if item is not without and not item.outcome.done()]
            self._give(rest or self._next_batch())

    def _give(self, batch: Sequence[_Item]) -> None:
        """Let the one of `batch` that has the most time make its call. The lock is held."""
        if batch:
            pilot = max(batch, key=lambda item: item.deadline)
            pilot.outcome.set_result(_Turn(batch))
        else:
            self._flying -= 1

    def _next_batch(self) -> Sequence[_Item]:
        """Take as many as may go together, leaving out those that wait no longer. The lock is held."""
        most = MOST_ITEMS
        if self._mean_bytes:
            most = min(most, max(1, MOST_ANSWER_BYTES // self._mean_bytes))
        batch: list[_Item] = []
        room = MOST_BYTES
        for taken, item in enumerate(self._waiting):
            if item.outcome.done():
                continue
            room -= item.message.ByteSize()
            if batch and (len(batch) == most or room < 0):
                del self._waiting[:taken]
                return batch
            batch.append(item)
        self._waiting.clear()
        return batch
