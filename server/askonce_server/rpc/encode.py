"""From the core to the wire."""

from __future__ import annotations

from typing import Any

from askonce.v1 import decision_pb2, decision_service_pb2, reason_pb2
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from askonce_server.core import cache_status
from askonce_server.core.decision import Candidate, Decision
from askonce_server.core.freshness import age_ms
from askonce_server.core.reasons import Outcome
from askonce_server.service.store import Stored


def decision(found: Decision, *, decision_id: str, fill_token: bytes = b"") -> decision_pb2.Decision:
    """Return the message for `found`."""
    message: Any = decision_pb2.Decision(
        decision_id=decision_id,
        rule_id=found.rule_id,
        cache_status=cache_status.of_decision(found),
        store_answer=found.store_answer,
        fill_token=fill_token,
        shadow=found.shadow,
        conversation_anchor=found.anchor,
    )
    message.outcome = found.outcome.value
    if found.kind is not None:
        message.kind = found.kind.value
    if found.bypass_reason is not None:
        message.bypass_reason = found.bypass_reason.value
    if found.deny_reason is not None:
        message.deny_reason = found.deny_reason.value
    for skip in found.skipped:
        message.skipped.add(matcher=skip.matcher.value, reason=skip.reason.value)
    if found.candidate is not None:
        _fill_candidate(message.candidate, found.candidate, found)
    return message  # type: ignore[no-any-return]


def failed(*, decision_id: str) -> decision_pb2.Decision:
    """Return the message for a decision that could not be encoded: call the provider, store nothing."""
    return decision_pb2.Decision(
        decision_id=decision_id,
        outcome=decision_pb2.OUTCOME_BYPASS,
        bypass_reason=reason_pb2.BYPASS_REASON_STORE_FAILED,
        cache_status="askonce; fwd=bypass; detail=store_failed",
    )


def _fill_candidate(message: decision_pb2.Candidate, candidate: Candidate, found: Decision) -> None:
    entry, answer = candidate.entry, candidate.entry.answer
    entry_id = entry.key.entry_id.hex()
    message.entry_id = entry_id
    message.entry_sha7 = entry_id[:7]
    message.scope_sha7 = entry.key.scope_key.hex()[:7]
    _fill_duration(message.age, age_ms(answer, found.now_ms))
    _fill_duration(message.ttl_left, answer.expire_ms - found.now_ms)
    _fill_time(message.store_time, answer.store_ms)
    _fill_time(message.expire_time, answer.expire_ms)
    message.source_request_id = answer.source_request_id
    message.stream = decision_pb2.BODY_SHAPE_STREAM if answer.stream else decision_pb2.BODY_SHAPE_JSON
    message.contains_tool_calls = answer.contains_tool_calls
    if answer.usage is not None:
        message.usage.input_tokens = answer.usage.input_tokens
        message.usage.output_tokens = answer.usage.output_tokens
    if answer.cost_usd is not None:
        message.cost_avoided_usd = answer.cost_usd
    if candidate.body is not None and found.outcome is Outcome.HIT:
        message.body.data = candidate.body.data
        message.body.content_type = candidate.body.content_type


def stored(result: Stored) -> decision_service_pb2.StoreResponse:
    """Return the message for what became of a Store."""
    message: Any = decision_service_pb2.StoreResponse(cache_status=cache_status.of_store(result.refusal))
    if result.refusal is not None:
        message.outcome = decision_service_pb2.STORE_OUTCOME_REFUSED
        message.refusal_reason = result.refusal.value
        return message  # type: ignore[no-any-return]
    message.outcome = decision_service_pb2.STORE_OUTCOME_STORED
    for key in result.keys:
        message.entries.add(kind=key.matcher.value, entry_id=key.entry_id.hex())
    _fill_time(message.expire_time, result.expire_ms)
    return message  # type: ignore[no-any-return]


def _fill_duration(message: Duration, milliseconds: int) -> None:
    """Fill a Duration, whose seconds and nanos have one sign."""
    seconds, rest = divmod(abs(milliseconds), 1000)
    sign = -1 if milliseconds < 0 else 1
    message.seconds = sign * seconds
    message.nanos = sign * rest * 1_000_000


def _fill_time(message: Timestamp, milliseconds: int) -> None:
    message.seconds, rest = divmod(milliseconds, 1000)
    message.nanos = rest * 1_000_000
