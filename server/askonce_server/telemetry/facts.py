"""What is told of a decision: names, reasons and the beginnings of digests, nothing that a prompt says."""

from __future__ import annotations

from askonce_server.core.decision import Decision
from askonce_server.core.entries import EntryKey
from askonce_server.service.call import Call
from askonce_server.telemetry import names

Value = str | int | float | bool


def of_decision(decision: Decision, call: Call) -> dict[str, Value]:
    """Return the attributes of a decision."""
    told: dict[str, Value] = {names.DECISION_OUTCOME: decision.outcome.name.lower()}
    if decision.rule_id:
        told[names.RULE_ID] = decision.rule_id
    if decision.kind is not None:
        told[names.DECISION_KIND] = decision.kind.name.lower()
    if decision.bypass_reason is not None:
        told[names.DECISION_BYPASS] = decision.bypass_reason.name.lower()
    if decision.deny_reason is not None:
        told[names.DECISION_DENY] = decision.deny_reason.name.lower()
    if decision.shadow:
        told[names.DECISION_SHADOW] = True
    key = key_of(decision)
    if key is not None:
        told[names.ENTRY_SHA7] = key.entry_id.hex()[:7]
        told[names.SCOPE_SHA7] = key.scope_key.hex()[:7]
    candidate = decision.candidate
    if candidate is not None and candidate.nearness is not None:
        told[names.CANDIDATE_ZONE] = candidate.nearness.zone.name.lower()
        told[names.CANDIDATE_SIMILARITY] = candidate.nearness.similarity
    if call.plan is not None:
        told |= _of_request(call)
    return told


def key_of(decision: Decision) -> EntryKey | None:
    """Return the key of the candidate, else the one that the answer will be filed under first."""
    if decision.candidate is not None:
        return decision.candidate.entry.key
    return decision.grant.keys[0] if decision.grant is not None and decision.grant.keys else None


def _of_request(call: Call) -> dict[str, Value]:
    assert call.plan is not None
    request = call.plan.request
    served = request.descriptor.served
    said = (
        (names.PROVIDER, served.provider),
        (names.MODEL, served.model),
        (names.REQUEST_ID, request.request_id),
    )
    return {name: value for name, value in said if value}
