"""The verbs of both clients, as steps without I/O."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from askonce import decoding, encoding
from askonce.batch import LookupBatch, store_batch
from askonce.breaker import CircuitBreaker
from askonce.core import Core, Policy, Steps, call_of, nothing_to_fill
from askonce.enums import Verdict
from askonce.gathering import Gathering
from askonce.request import Lookup, Metadata, Seconds, Store
from askonce.results import AbandonResult, Decision, FeedbackResult, StoreResult
from askonce.v1 import decision_service_pb2 as pb


class Verbs(Core):
    """What a client can be asked to do. Every verb fails open, or raises AskOnceError under strict."""

    def __init__(
        self,
        policy: Policy,
        breaker: CircuitBreaker | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make the core of one client. Raises InvalidRequest for times that are not positive."""
        super().__init__(policy, breaker, clock=clock)
        self.gathering = Gathering(self)

    def lookup(self, lookup: Lookup, budget: Seconds | None, metadata: Metadata) -> Steps[Decision]:
        """Ask whether a stored answer may be served."""
        return self.guarded(self.gathering.decide(lookup, budget, metadata), decoding.no_decision)

    def store(self, store: Store, timeout: Seconds | None, metadata: Metadata) -> Steps[StoreResult]:
        """File an answer."""
        return self.guarded(self._store(store, timeout, metadata), decoding.not_stored)

    def batch_lookup(
        self, lookups: Sequence[Lookup], budget: Seconds | None, metadata: Metadata
    ) -> Steps[list[Decision]]:
        """Ask for several decisions at once; the order is kept."""
        steps = LookupBatch(self, lookups, metadata).run(budget)
        return self.guarded(steps, lambda error: [decoding.no_decision(error) for _ in lookups])

    def batch_store(
        self, stores: Sequence[Store], timeout: Seconds | None, metadata: Metadata
    ) -> Steps[list[StoreResult]]:
        """File several answers at once; the order is kept."""
        steps = store_batch(self, stores, timeout, metadata)
        return self.guarded(steps, lambda error: [decoding.not_stored(error) for _ in stores])

    def abandon(
        self, source: Decision | bytes, timeout: Seconds | None, metadata: Metadata
    ) -> Steps[AbandonResult]:
        """Give a lease back."""
        return self.guarded(
            self._abandon(source, timeout, metadata), lambda error: AbandonResult(released=False, error=error)
        )

    def feedback(
        self,
        judgement: tuple[Decision | bytes | str, Verdict, str],
        timeout: Seconds | None,
        metadata: Metadata,
    ) -> Steps[FeedbackResult]:
        """Tell whether a served answer was right: its subject, the verdict and who judged."""
        return self.guarded(
            self._feedback(judgement, timeout, metadata),
            lambda error: FeedbackResult(recorded=False, error=error),
        )

    def _store(self, store: Store, timeout: Seconds | None, metadata: Metadata) -> Steps[StoreResult]:
        if nothing_to_fill(store):
            return decoding.nothing_to_fill()
        with self.gate.attempt() as attempt:
            request = encoding.store_request(store)
            seconds = self.timeout_seconds(timeout)
            reply = yield call_of("Store", request, seconds, metadata)
            response = attempt.answer(reply, pb.StoreResponse)
        return decoding.store_result(response)

    def _abandon(
        self, source: Decision | bytes, timeout: Seconds | None, metadata: Metadata
    ) -> Steps[AbandonResult]:
        if isinstance(source, Decision) and not source.lease_holder:
            return AbandonResult(released=False)
        with self.gate.attempt() as attempt:
            request = pb.AbandonRequest(fill_token=encoding.fill_token(source))
            seconds = self.timeout_seconds(timeout)
            reply = yield call_of("Abandon", request, seconds, metadata)
            response = attempt.answer(reply, pb.AbandonResponse)
        return AbandonResult(released=response.released)

    def _feedback(
        self,
        judgement: tuple[Decision | bytes | str, Verdict, str],
        timeout: Seconds | None,
        metadata: Metadata,
    ) -> Steps[FeedbackResult]:
        with self.gate.attempt() as attempt:
            request = encoding.feedback_request(*judgement)
            seconds = self.timeout_seconds(timeout)
            reply = yield call_of("RecordFeedback", request, seconds, metadata)
            response = attempt.answer(reply, pb.RecordFeedbackResponse)
        return FeedbackResult(recorded=response.recorded)
