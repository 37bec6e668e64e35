"""Which calls are followed.

That is decided before anything is built, so that one that is not sampled costs a look at its metadata.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence

from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Decision as Sampling
from opentelemetry.sdk.trace.sampling import ParentBased, Sampler, TraceIdRatioBased
from opentelemetry.trace import SpanContext, SpanKind, TraceFlags, TraceState

from askonce_server.core.decision import Decision
from askonce_server.core.reasons import RefusalReason
from askonce_server.service.call import Call
from askonce_server.service.steps import Steps
from askonce_server.telemetry import traceparent
from askonce_server.telemetry.spans import Recording, Spans, of_method

_log = logging.getLogger(__name__)
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_NO_STATE = TraceState()
_TELL_SECONDS = 60.0
"""How often a fault of the same kind is told."""

Metadata = Sequence[tuple[str, str | bytes]]


class Tracing:
    """Decides which calls are sampled, and hands their spans over. A Watch of decisions.

    With `follow` a caller's trace is continued.
    """

    def __init__(  # noqa: PLR0913 - the set-up passes each by name
        self,
        *,
        sampler: Sampler,
        ids: IdGenerator,
        hand_over: Sequence[Callable[[ReadableSpan], None]],
        close: Callable[[], None],
        spans: Spans,
        follow: bool = True,
    ) -> None:
        self._sampler = sampler
        self._callers_decide = isinstance(sampler, ParentBased)
        root = getattr(sampler, "_root", sampler)
        self._below: int | None = root.bound if isinstance(root, TraceIdRatioBased) else None
        self._ids = ids
        self._hand_over = hand_over
        self._close = close
        self._mark = self.mark  # the same object, so that it can be taken away again
        self._spans = spans
        self._follow = follow
        self._here = threading.local()
        self._told = -_TELL_SECONDS

    def start(self) -> None:
        """Mark what is logged on behalf of a call from now on."""
        for handler in logging.getLogger().handlers:
            handler.addFilter(self._mark)

    def close(self) -> None:
        """Hand over what there is, and end; it takes a few seconds at most."""
        for handler in logging.getLogger().handlers:
            handler.removeFilter(self._mark)
        self._close()

    def begin(self, method: str, metadata: Metadata) -> Recording | None:
        """Return the recording of a call that begins, or None when it is not sampled. Never raises."""
        try:
            caller = traceparent.caller(metadata) if self._follow else None
            if caller is not None and self._callers_decide and not caller.sampled:
                return None
            recording = self._sampled(method, caller, metadata)
        except Exception as error:
            self._failed(error)
            return None
        if recording is not None:
            self._here.recording = recording
        return recording

    def _sampled(
        self, method: str, caller: traceparent.Caller | None, metadata: Metadata
    ) -> Recording | None:
        trace_id = caller.trace_id if caller is not None else self._ids.generate_trace_id()
        if self._left_out(trace_id, caller):
            return None
        parent, told, state = None, {}, _NO_STATE
        if caller is not None:
            state = TraceState.from_header(traceparent.state(metadata))
            flags = TraceFlags(caller.flags)
            parent = SpanContext(
                trace_id, caller.span_id, is_remote=True, trace_flags=flags, trace_state=state
            )
        if caller is None or not self._callers_decide:
            within = parent and trace.set_span_in_context(trace.NonRecordingSpan(parent))
            result = self._sampler.should_sample(
                within, trace_id, method, SpanKind.SERVER, of_method(method), trace_state=state
            )
            if result.decision is not Sampling.RECORD_AND_SAMPLE:
                return None
            told, state = dict(result.attributes or {}), result.trace_state or _NO_STATE
        span_id = self._ids.generate_span_id()
        span = SpanContext(trace_id, span_id, is_remote=False, trace_flags=_SAMPLED, trace_state=state)
        return Recording(method, span, parent, told)

    def _left_out(self, trace_id: int, caller: traceparent.Caller | None) -> bool:
        """Whether a ratio leaves the trace out, by the sampler's own rule: asking it costs far more."""
        ours = caller is None or not self._callers_decide
        return ours and self._below is not None and trace_id & TraceIdRatioBased.TRACE_ID_LIMIT >= self._below

    def steps(self) -> Steps | None:
        """Return what is to be told the steps of the call under way, if it is sampled."""
        return None if getattr(self._here, "recording", None) is None else Steps()

    def decided(self, decision: Decision, call: Call) -> None:
        """Keep a decision of the call under way, if it is sampled."""
        recording: Recording | None = getattr(self._here, "recording", None)
        if recording is not None:
            recording.decided.append((decision, call))

    def stored(self, refusal: RefusalReason | None) -> None:
        """Keep what became of a Store of the call under way, if it is sampled."""
        recording: Recording | None = getattr(self._here, "recording", None)
        if recording is not None:
            recording.stored.append(refusal)

    def end(self, recording: Recording, code: str) -> None:
        """Hand over the spans of a call that ended with the gRPC status `code`. Never raises."""
        self._here.recording = None
        try:
            for span in self._spans.of(recording, code):
                for to in self._hand_over:
                    to(span)
        except Exception as error:
            self._failed(error)

    def mark(self, record: logging.LogRecord) -> bool:
        """Say in a line of the log which trace it belongs to. A filter that lets everything through."""
        recording: Recording | None = getattr(self._here, "recording", None)
        if recording is not None:
            record.trace_id = f"{recording.span.trace_id:032x}"
            record.span_id = f"{recording.span.span_id:016x}"
        return True

    def trace_id(self) -> str:
        """Return the trace that the calling thread is in, in hex; empty: none."""
        recording: Recording | None = getattr(self._here, "recording", None)
        return "" if recording is None else f"{recording.span.trace_id:032x}"

    def _failed(self, error: Exception) -> None:
        now = time.monotonic()
        if now - self._told >= _TELL_SECONDS:
            self._told = now
            _log.error("a call could not be traced", exc_info=error)
