"""From the core to the wire."""

from __future__ import annotations

from typing import Any

from askonce.v1 import decision_pb2, decision_service_pb2
from askonce_server.core import cache_status
from askonce_server.core.decision import Candidate, Decision, Nearness
from askonce_server.core.entries import Entry
from askonce_server.core.freshness import age_ms
from askonce_server.core.reasons import BypassReason, Outcome
from askonce_server.core.ruling import Evidence
from askonce_server.service.steps import Steps
from askonce_server.service.store import Stored


def decision(found: Decision, *, decision_id: str, fill_token: bytes = b"") -> dict[str, Any]:
    """Return the fields of the message for `found`.

    A message that is made of all its fields at once costs half of one whose fields are set one by one.
    """
    candidate = found.candidate
    return {
        "decision_id": decision_id,
        "outcome": found.outcome,
        "kind": found.kind,
        "candidate": _candidate(candidate, found) if candidate is not None else None,
        "bypass_reason": found.bypass_reason,
        "deny_reason": found.deny_reason,
        "skipped": found.skipped and [{"matcher": s.matcher, "reason": s.reason} for s in found.skipped],
        "store_answer": found.store_answer,
        "fill_token": fill_token,
        "rule_id": found.rule_id,
        "shadow": found.shadow,
        "stale": found.stale,
        "lease_holder": found.lease_holder,
        "collapsed": found.collapsed,
        "cache_status": cache_status.of_decision(found),
        "conversation_anchor": found.anchor,
        "embed_cost_usd": found.embed_cost_usd,
    }


def trace(steps: Steps) -> list[dict[str, Any]]:
    """Return the fields of a decision's TraceSteps."""
    return [
        {"name": s.name, "duration": _nanos(s.ended_ns - s.began_ns), "result": s.result} for s in steps.all
    ]


def entry(found: Entry, *, now_ms: int) -> dict[str, Any]:
    """Return the fields of a Candidate for an entry that an operator asks for."""
    return _candidate(Candidate(found), Decision(Outcome.MISS, now_ms))


def failed(*, decision_id: str) -> dict[str, Any]:
    """Return the fields for a decision that could not be encoded: call the provider, store nothing."""
    return {
        "decision_id": decision_id,
        "outcome": Outcome.BYPASS,
        "bypass_reason": BypassReason.STORE_FAILED,
        "cache_status": "askonce; fwd=bypass; detail=store_failed",
    }


def _candidate(candidate: Candidate, found: Decision) -> dict[str, Any]:
    key, answer, now_ms = candidate.entry.key, candidate.entry.answer, found.now_ms
    entry_id, usage = key.entry_id.hex(), answer.usage
    fields = {
        "entry_id": entry_id,
        "entry_sha7": entry_id[:7],
        "scope_sha7": key.scope_key[:4].hex()[:7],
        "age": span(age_ms(answer, now_ms)),
        "ttl_left": span(answer.expire_ms - now_ms),
        "store_time": span(answer.store_ms),
        "expire_time": span(answer.expire_ms),
        "source_request_id": answer.source_request_id,
        "stream": decision_pb2.BODY_SHAPE_STREAM if answer.stream else decision_pb2.BODY_SHAPE_JSON,
        "contains_tool_calls": answer.contains_tool_calls,
        "usage": usage and {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens},
        "cost_avoided_usd": answer.cost_usd,
    }
    if candidate.nearness is not None:
        fields |= _nearness(candidate.nearness)
        if not found.priced:
            fields["cost_avoided_usd"] = None
    if candidate.body is not None and found.outcome is Outcome.HIT:
        data, content_type = candidate.body
        fields["body"] = {"data": data, "content_type": content_type}
    return fields


def _nearness(nearness: Nearness) -> dict[str, Any]:
    """Return what a semantic candidate has besides."""
    return {
        "similarity": nearness.similarity,
        "threshold": nearness.threshold,
        "low_threshold": nearness.low_threshold,
        "zone": nearness.zone,
        "verified": nearness.verified,
        "verifier": nearness.verifier,
        "evidence": None if nearness.evidence is None else _evidence(nearness.evidence),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    """Return what was found around a candidate. A cut of 1: nothing is served yet."""
    return {
        "vote": evidence.vote,
        "cut": 1.0 if evidence.cut is None else evidence.cut,
        "labels": evidence.labels,
        "wrong": evidence.wrong,
        "upper_bound": evidence.upper_bound,
    }


def stored(result: Stored) -> decision_service_pb2.StoreResponse:
    """Return the message for what became of a Store."""
    fields: dict[str, Any] = {"cache_status": cache_status.of_store(result.refusal)}
    if result.refusal is not None:
        fields |= {
            "outcome": decision_service_pb2.STORE_OUTCOME_REFUSED,
            "refusal_reason": result.refusal,
        }
    else:
        fields |= {
            "outcome": decision_service_pb2.STORE_OUTCOME_STORED,
            "entries": [{"kind": key.matcher, "entry_id": key.entry_id.hex()} for key in result.keys],
            "expire_time": span(result.expire_ms),
        }
    return decision_service_pb2.StoreResponse(**fields)


def _nanos(nanoseconds: int) -> dict[str, int]:
    return {"seconds": nanoseconds // 1_000_000_000, "nanos": nanoseconds % 1_000_000_000}


def span(milliseconds: int) -> dict[str, int]:
    """Return the fields of a Duration or a Timestamp. A Duration's seconds and nanos have one sign."""
    if milliseconds < 0:
        return {"seconds": -(-milliseconds // 1000), "nanos": -(-milliseconds % 1000) * 1_000_000}
    return {"seconds": milliseconds // 1000, "nanos": milliseconds % 1000 * 1_000_000}
