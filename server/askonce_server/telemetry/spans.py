"""Spans of a call: built after it, from the steps that were kept during it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode

from askonce_server.core.decision import Decision
from askonce_server.core.reasons import RefusalReason
from askonce_server.service.call import Call
from askonce_server.service.steps import Step
from askonce_server.telemetry import facts, names

_UNSET, _ERROR = Status(StatusCode.UNSET), Status(StatusCode.ERROR)
_ERRORS = frozenset({"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"})
"""Which statuses are a server's errors; the others are its callers' (semantic conventions for gRPC)."""
_MOST_EVENTS = 128
"""Of one span, as OpenTelemetry bounds it; a batch may have more items."""

Attributes = dict[str, facts.Value]


@dataclass(slots=True)
class Recording:
    """A sampled call under way."""

    method: str
    span: SpanContext
    parent: SpanContext | None
    sampled_as: Attributes
    """What the sampler says of it."""
    began_ns: int = field(default_factory=time.perf_counter_ns)
    decided: list[tuple[Decision, Call]] = field(default_factory=list)
    stored: list[RefusalReason | None] = field(default_factory=list)


@lru_cache(maxsize=64)
def of_method(method: str) -> Attributes:
    """Return the attributes that a call has before anything is known of it. Not to be changed."""
    return {names.RPC_SYSTEM: "grpc", names.RPC_METHOD: method}


class Spans:
    """Builds the spans of a service that is `resource`. `span_id` gives new ids."""

    def __init__(self, resource: Resource, version: str, span_id: Callable[[], int]) -> None:
        self._resource = resource
        self._scope = InstrumentationScope(names.SCOPE, version)
        self._span_id = span_id

    def of(self, recording: Recording, code: str) -> Iterator[ReadableSpan]:
        """Yield the spans of a call that ends now with the gRPC status `code`: its steps, then its own."""
        now_ns = time.perf_counter_ns()
        since_ns = time.time_ns() - now_ns  # from the clock of the steps to that of spans
        for _, call in recording.decided:
            for step, span, parent in self._placed(call, recording.span):
                yield self._step(step, span, parent, since_ns)
        told = {**recording.sampled_as, **of_method(recording.method), names.RPC_STATUS: code}
        wrong = code in _ERRORS
        if wrong:
            told[names.ERROR_TYPE] = code
        events = _events(recording, told, since_ns + now_ns)
        yield self._span(
            recording.method,
            recording.span,
            recording.parent,
            told,
            kind=SpanKind.SERVER,
            times=(since_ns + recording.began_ns, since_ns + now_ns),
            events=events,
            status=_ERROR if wrong else _UNSET,
        )

    def _placed(self, call: Call, server: SpanContext) -> Iterator[tuple[Step, SpanContext, SpanContext]]:
        """Yield the steps of a call, each with its span and its parent's."""
        spans: dict[int, SpanContext] = {}
        for step in call.steps.all if call.steps is not None else ():
            span = spans[id(step)] = SpanContext(
                server.trace_id,
                self._span_id(),
                is_remote=False,
                trace_flags=server.trace_flags,
                trace_state=server.trace_state,
            )
            yield step, span, server if step.within is None else spans[id(step.within)]

    def _step(self, step: Step, span: SpanContext, parent: SpanContext, since_ns: int) -> ReadableSpan:
        told: Attributes = {names.STEP_RESULT: step.result} if step.result else {}
        for name, value in (step.attributes or {}).items():
            told[names.STEPS[name]] = value
        times = since_ns + step.began_ns, since_ns + step.ended_ns
        return self._span(step.name, span, parent, told, kind=SpanKind.INTERNAL, times=times)

    def _span(  # noqa: PLR0913 - what a span is made of
        self,
        name: str,
        span: SpanContext,
        parent: SpanContext | None,
        told: Attributes,
        *,
        kind: SpanKind,
        times: tuple[int, int],
        events: tuple[Event, ...] = (),
        status: Status = _UNSET,
    ) -> ReadableSpan:
        return ReadableSpan(
            name,
            context=span,
            parent=parent,
            resource=self._resource,
            attributes=told,
            events=events,
            kind=kind,
            status=status,
            start_time=times[0],
            end_time=times[1],
            instrumentation_scope=self._scope,
        )


def _events(recording: Recording, told: Attributes, now_ns: int) -> tuple[Event, ...]:
    """Return the events of a call, and add to `told` what the one decision or Store says."""
    decided, stored = recording.decided, recording.stored
    if len(decided) == 1 and not recording.method.endswith("/BatchLookup"):
        ((decision, call),) = decided
        about = facts.of_decision(decision, call)
        told.update(about)
        return (Event(names.DECISION, _brief(about, call), now_ns),)
    if len(stored) == 1 and not recording.method.endswith("/BatchStore"):
        told.update(_of_store(stored[0]))
        return (Event(names.STORE, _of_store(stored[0]), now_ns),)
    if decided or stored:
        told[names.BATCH_SIZE] = len(decided) + len(stored)
    items = [Event(names.DECISION, _item(at, *one), now_ns) for at, one in enumerate(decided[:_MOST_EVENTS])]
    room = _MOST_EVENTS - len(items)
    items += [
        Event(names.STORE, {names.BATCH_ITEM: at, **_of_store(one)}, now_ns)
        for at, one in enumerate(stored[:room])
    ]
    return tuple(items)


def _brief(about: Attributes, call: Call) -> Attributes:
    """Return what the event of a single decision says: the rest stands on its span."""
    wanted = (names.DECISION_OUTCOME, names.DECISION_KIND, names.DECISION_BYPASS, names.DECISION_DENY)
    return {names.DECISION_ID: call.decision_id, **{name: about[name] for name in wanted if name in about}}


def _item(at: int, decision: Decision, call: Call) -> Attributes:
    return {
        names.BATCH_ITEM: at,
        names.DECISION_ID: call.decision_id,
        **facts.of_decision(decision, call),
    }


def _of_store(refusal: RefusalReason | None) -> Attributes:
    if refusal is None:
        return {names.STORE_OUTCOME: "stored"}
    return {names.STORE_OUTCOME: "refused", names.STORE_REFUSAL: refusal.name.lower()}
