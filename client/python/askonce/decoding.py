"""Messages of the contract as results. What is not known, or contradicts itself, reads as "no cache"."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from askonce.enums import (
    BodyShape,
    BypassReason,
    DenyReason,
    MatchKind,
    Outcome,
    RefusalReason,
    StoreOutcome,
    Zone,
)
from askonce.errors import AskOnceError, SidecarFailed
from askonce.results import (
    Body,
    Candidate,
    Decision,
    Evidence,
    SkippedMatcher,
    StoredEntry,
    StoreResult,
    TraceStep,
    Usage,
)
from askonce.v1 import decision_pb2, decision_service_pb2

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def decision(message: decision_pb2.Decision, *, omit_body: bool, twin_of: Decision | None = None) -> Decision:
    """Decode a decision.

    Args:
        message: As received.
        omit_body: Whether the caller asked for no body.
        twin_of: The decision of an earlier, identical item of the batch, whose body this one borrows.

    Raises:
        SidecarFailed: A hit that cannot be served, since it has no body or says that it is a shadow.
    """
    outcome = Outcome(message.outcome)
    hit = outcome is Outcome.HIT
    found = _candidate(message.candidate, hit=hit) if message.HasField("candidate") else None
    if hit and twin_of is not None and twin_of.hit:
        found = _with_body_of(found, twin_of)
    if hit and message.shadow:
        raise SidecarFailed("the sidecar sent a hit of a rule that only watches")
    if hit and not omit_body and (found is None or found.body is None):
        raise SidecarFailed("the sidecar sent a hit without a body")
    bypass = outcome is Outcome.BYPASS
    reason = BypassReason(message.bypass_reason)
    if bypass and reason is BypassReason.NONE:
        reason = BypassReason.UNKNOWN
    return Decision(
        outcome=outcome,
        decision_id=message.decision_id,
        kind=MatchKind(message.kind),
        candidate=found,
        bypass_reason=reason,
        deny_reason=DenyReason(message.deny_reason),
        skipped=tuple(SkippedMatcher(MatchKind(s.matcher), BypassReason(s.reason)) for s in message.skipped),
        # Nothing is stored after a bypass, nor after an outcome that this client does not know.
        store_answer=message.store_answer and not bypass,
        fill_token=b"" if bypass else message.fill_token,
        lease_holder=message.lease_holder and not bypass,
        collapsed=message.collapsed,
        stale=message.stale,
        same_as=message.same_as if message.HasField("same_as") else None,
        rule_id=message.rule_id,
        shadow=message.shadow,
        cache_status=message.cache_status,
        embed_cost_usd=message.embed_cost_usd if message.HasField("embed_cost_usd") else None,
        feedback_token=message.feedback_token,
        conversation_anchor=message.conversation_anchor,
        trace=tuple(TraceStep(t.name, _timedelta(t.duration), t.result) for t in message.trace),
        body_omitted=omit_body,
    )


def no_decision(error: AskOnceError) -> Decision:
    """Return the bypass that stands for a decision that never came."""
    reason = BypassReason[error.local_reason]
    status = f"askonce; fwd=bypass; detail={reason}"
    return Decision(outcome=Outcome.BYPASS, bypass_reason=reason, cache_status=status, error=error)


def store_result(message: decision_service_pb2.StoreResponse) -> StoreResult:
    """Decode what became of a Store."""
    outcome = StoreOutcome(message.outcome)
    reason = RefusalReason(message.refusal_reason)
    if outcome is StoreOutcome.REFUSED and reason is RefusalReason.NONE:
        reason = RefusalReason.UNKNOWN
    return StoreResult(
        outcome=outcome,
        refusal_reason=reason,
        entries=tuple(StoredEntry(MatchKind(e.kind), e.entry_id) for e in message.entries),
        expire_time=_datetime(message.expire_time) if message.HasField("expire_time") else None,
        cache_status=message.cache_status,
    )


def not_stored(error: AskOnceError) -> StoreResult:
    """Return the refusal that stands for an acknowledgement that never came."""
    return StoreResult(
        outcome=StoreOutcome.REFUSED, refusal_reason=RefusalReason[error.local_reason], error=error
    )


def nothing_to_fill() -> StoreResult:
    """Return the refusal of a Store that its decision did not ask for."""
    return StoreResult(outcome=StoreOutcome.REFUSED, refusal_reason=RefusalReason.NOTHING_TO_FILL)


def _with_body_of(found: Candidate | None, original: Decision) -> Candidate | None:
    if found is None or original.candidate is None:
        return original.candidate
    return found if found.body is not None else replace(found, body=original.candidate.body)


def _candidate(message: decision_pb2.Candidate, *, hit: bool) -> Candidate:
    has_body = hit and message.HasField("body")
    return Candidate(
        entry_id=message.entry_id,
        entry_sha7=message.entry_sha7,
        scope_sha7=message.scope_sha7,
        similarity=message.similarity if message.HasField("similarity") else None,
        threshold=message.threshold if message.HasField("threshold") else None,
        low_threshold=message.low_threshold if message.HasField("low_threshold") else None,
        zone=Zone(message.zone),
        verified=message.verified,
        verifier=message.verifier,
        age=_timedelta(message.age) if message.HasField("age") else None,
        ttl_left=_timedelta(message.ttl_left) if message.HasField("ttl_left") else None,
        store_time=_datetime(message.store_time) if message.HasField("store_time") else None,
        expire_time=_datetime(message.expire_time) if message.HasField("expire_time") else None,
        source_request_id=message.source_request_id,
        stream=BodyShape(message.stream),
        contains_tool_calls=message.contains_tool_calls,
        usage=_usage(message.usage) if message.HasField("usage") else None,
        evidence=_evidence(message.evidence) if message.HasField("evidence") else None,
        cost_avoided_usd=message.cost_avoided_usd if message.HasField("cost_avoided_usd") else None,
        body=Body(message.body.data, message.body.content_type) if has_body else None,
    )


def _usage(message: decision_pb2.Usage) -> Usage:
    return Usage(message.input_tokens, message.output_tokens)


def _evidence(message: decision_pb2.Evidence) -> Evidence:
    return Evidence(
        vote=message.vote,
        cut=message.cut,
        labels=message.labels,
        wrong=message.wrong,
        upper_bound=message.upper_bound,
    )


def _timedelta(message: Duration) -> timedelta:
    return timedelta(seconds=message.seconds, microseconds=message.nanos / 1000)


def _datetime(message: Timestamp) -> datetime:
    return _EPOCH + timedelta(seconds=message.seconds, microseconds=message.nanos / 1000)
