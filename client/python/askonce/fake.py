"""Stand-ins for tests of code that uses a client: the same verbs, no sidecar, no socket.

A fake is a whole client around an imagined sidecar, so it checks and fails open exactly as the real one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeVar

from askonce.aio import AsyncAskOnce
from askonce.breaker import CircuitBreaker
from askonce.client import AskOnce
from askonce.core import Call, Policy, Steps
from askonce.enums import BypassReason, DenyReason, MatchKind, RefusalReason, Verdict
from askonce.fetching import FetchingVerbs
from askonce.gate import Reply
from askonce.imagined import ImaginedSidecar
from askonce.request import Lookup, Metadata, Seconds, Store
from askonce.results import AbandonResult, Decision, FeedbackResult, StoreResult
from askonce.status import Failure
from askonce.v1 import decision_pb2

T = TypeVar("T")


class Recorded(NamedTuple):
    """One use of a verb."""

    verb: str
    """`lookup`, `batch_lookup`, `store`, `batch_store`, `abandon` or `feedback`."""
    argument: object
    """A `Lookup` or `Store`, a tuple of them for a batch, else what the verb was given."""


class _RecordingVerbs(FetchingVerbs):
    """Verbs that remember how they were used. A fetch is what it is made of."""

    def __init__(self, policy: Policy, breaker: CircuitBreaker | None) -> None:
        super().__init__(policy, breaker)
        self.calls: list[Recorded] = []

    def lookup(self, lookup: Lookup, budget: Seconds | None, metadata: Metadata) -> Steps[Decision]:
        self.calls.append(Recorded("lookup", lookup))
        return super().lookup(lookup, budget, metadata)

    def batch_lookup(
        self, lookups: Sequence[Lookup], budget: Seconds | None, metadata: Metadata
    ) -> Steps[list[Decision]]:
        self.calls.append(Recorded("batch_lookup", tuple(lookups)))
        return super().batch_lookup(lookups, budget, metadata)

    def store(self, store: Store, timeout: Seconds | None, metadata: Metadata) -> Steps[StoreResult]:
        self.calls.append(Recorded("store", store))
        return super().store(store, timeout, metadata)

    def batch_store(
        self, stores: Sequence[Store], timeout: Seconds | None, metadata: Metadata
    ) -> Steps[list[StoreResult]]:
        self.calls.append(Recorded("batch_store", tuple(stores)))
        return super().batch_store(stores, timeout, metadata)

    def abandon(
        self, source: Decision | bytes, timeout: Seconds | None, metadata: Metadata
    ) -> Steps[AbandonResult]:
        self.calls.append(Recorded("abandon", source))
        return super().abandon(source, timeout, metadata)

    def feedback(
        self,
        judgement: tuple[Decision | bytes | str, Verdict, str],
        timeout: Seconds | None,
        metadata: Metadata,
    ) -> Steps[FeedbackResult]:
        self.calls.append(Recorded("feedback", judgement))
        return super().feedback(judgement, timeout, metadata)


class _Programmable:
    """What both fakes can be told, and what they can tell.

    Programmed answers are used up in the order in which they were given; after the last one the fake is a
    tiny cache again: a Lookup misses and hands out a token, a Store with it is found by the next Lookup.
    """

    _recording: _RecordingVerbs
    _sidecar: ImaginedSidecar

    def will_hit(
        self, body: bytes, *, content_type: str = "application/json", kind: MatchKind = MatchKind.EXACT
    ) -> None:
        """Serve `body` to the next Lookup."""
        candidate = decision_pb2.Candidate(body=decision_pb2.Body(data=body, content_type=content_type))
        decision = decision_pb2.Decision(outcome="OUTCOME_HIT", candidate=candidate)
        decision.kind = int(kind)  # type: ignore[assignment]  # an enum of protobuf is an int
        self._sidecar.decide_next(decision)

    def will_miss(self, *, deny_reason: DenyReason = DenyReason.NONE, lease_holder: bool = False) -> None:
        """Let the next Lookup miss, whatever is stored."""
        decision = decision_pb2.Decision(outcome="OUTCOME_MISS", lease_holder=lease_holder)
        decision.deny_reason = int(deny_reason)  # type: ignore[assignment]
        self._sidecar.decide_next(decision)

    def will_bypass(self, reason: BypassReason) -> None:
        """Bypass the next Lookup for one of the sidecar's own reasons; for the others use `will_fail`."""
        decision = decision_pb2.Decision(outcome="OUTCOME_BYPASS")
        decision.bypass_reason = int(reason)  # type: ignore[assignment]
        self._sidecar.decide_next(decision)

    def will_refuse(self, reason: RefusalReason) -> None:
        """Refuse the next Store."""
        self._sidecar.refuse_next(int(reason))

    def will_fail(self, code: str = "UNAVAILABLE", message: str = "programmed") -> None:
        """Fail the next call, of whatever verb, with the gRPC status code of that name."""
        self._sidecar.fail_next(Failure(code, message))

    @property
    def calls(self) -> Sequence[Recorded]:
        """Every use of a verb, in order."""
        return tuple(self._recording.calls)

    @property
    def lookups(self) -> Sequence[Lookup]:
        """Every Lookup, those of batches included, in order."""
        return _all_of(Lookup, self._recording.calls)

    @property
    def stores(self) -> Sequence[Store]:
        """Every Store, those of batches included, in order."""
        return _all_of(Store, self._recording.calls)


class FakeAskOnce(_Programmable, AskOnce):
    """A stand-in for `AskOnce`."""

    def __init__(
        self,
        *,
        scope: Sequence[str] = ("tenant",),
        strict: bool = False,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        """Start empty.

        Args:
            scope: The dims without which a request is bypassed, as in the sidecar's default rule.
            strict: Raise errors instead of failing open.
            breaker: In place of one with the defaults.
        """
        self._sidecar = ImaginedSidecar(scope)
        self._recording = _RecordingVerbs(Policy(strict=strict), breaker)
        self._attach(self._recording, self._sidecar)


class AsyncFakeAskOnce(_Programmable, AsyncAskOnce):
    """A stand-in for `AsyncAskOnce`."""

    def __init__(
        self,
        *,
        scope: Sequence[str] = ("tenant",),
        strict: bool = False,
        breaker: CircuitBreaker | None = None,
    ) -> None:
        """Start empty; see `FakeAskOnce`."""
        self._sidecar = ImaginedSidecar(scope)
        self._recording = _RecordingVerbs(Policy(strict=strict), breaker)
        self._attach(self._recording, _Awaited(self._sidecar))


class _Awaited:
    """The imagined sidecar behind an asynchronous front."""

    def __init__(self, sidecar: ImaginedSidecar) -> None:
        self._sidecar = sidecar

    async def perform(self, call: Call) -> Reply:
        return self._sidecar.perform(call)

    async def close(self) -> None:
        self._sidecar.close()


def _all_of(kind: type[T], calls: Sequence[Recorded]) -> Sequence[T]:
    arguments = [
        argument
        for call in calls
        for argument in (call.argument if isinstance(call.argument, tuple) else (call.argument,))
    ]
    return tuple(argument for argument in arguments if isinstance(argument, kind))
