"""Decisions on their way out: one that cannot be encoded is a bypass, never an error."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from askonce.v1 import decision_pb2, decision_service_pb2
from askonce_server.core.decision import Decision
from askonce_server.core.lasting import Lasting
from askonce_server.rpc import encode, hits
from askonce_server.service.call import Call
from askonce_server.service.faults import FaultLog
from askonce_server.service.lookup import LookupService
from askonce_server.service.tokens import FillTokens


class Replies:
    """Encodes decisions, with their fill tokens and the steps that were asked for."""

    def __init__(self, lookups: LookupService, tokens: FillTokens, faults: FaultLog) -> None:
        self._lookups = lookups
        self._tokens = tokens
        self._faults = faults

    def response(self, decision: Decision, call: Call) -> bytes:
        """Return the LookupResponse."""
        try:
            response = decision_service_pb2.LookupResponse(decision=self._fields(decision, call))
            return response.SerializeToString()
        except Exception as error:
            fields = self._failed_fields(decision, call, error)
            return decision_service_pb2.LookupResponse(decision=fields).SerializeToString()

    def again(self, kept: Lasting, call: Call) -> bytes:
        """Return the LookupResponse of a hit that is given again."""
        candidate = kept.decision.candidate
        if candidate is None or candidate.body is None:  # the caller wants none
            return self.response(replace(kept.decision, now_ms=call.now_ms), call)
        try:
            return hits.response(kept, now_ms=call.now_ms, decision_id=call.decision_id)
        except Exception as error:
            fields = self._failed_fields(kept.decision, call, error)
            return decision_service_pb2.LookupResponse(decision=fields).SerializeToString()

    def message(self, decision: Decision, call: Call) -> decision_pb2.Decision:
        """Return the decision of one item of a batch."""
        try:
            return decision_pb2.Decision(**self._fields(decision, call))
        except Exception as error:
            return decision_pb2.Decision(**self._failed_fields(decision, call, error))

    def _fields(self, decision: Decision, call: Call) -> dict[str, Any]:
        token = self._tokens.sign(decision.grant) if decision.grant is not None else b""
        fields = encode.decision(decision, decision_id=call.decision_id, fill_token=token)
        if decision.served is not None:
            fields["feedback_token"] = self._tokens.sign_served(decision.served)
        if call.plan is not None and call.plan.request.trace and call.steps is not None:
            fields["trace"] = encode.trace(call.steps)
        return fields

    def _failed_fields(self, decision: Decision, call: Call, error: Exception) -> dict[str, Any]:
        """Return what stands in for a decision that cannot be encoded; it was counted as what it was."""
        self._faults.record("encoding a decision", error)
        self._lookups.let_go(decision)
        return encode.failed(decision_id=call.decision_id)
