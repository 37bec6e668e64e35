"""RecordFeedback: parse, check, ask the service."""

from __future__ import annotations

import re

import grpc

from askonce.v1 import decision_service_pb2
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.labels import Judgement
from askonce_server.rpc import validate
from askonce_server.rpc.handlers import parse
from askonce_server.rpc.status import NotFound
from askonce_server.service.feedback import FeedbackService, UnknownEntry
from askonce_server.service.proposals import ForgedToken

_ENTRY_ID = re.compile(r"[0-9a-f]{64}")
_FORGED = Violation("feedback_token", "is not a token of this service; give it back as the decision had it")


class Feedback:
    """The method, over `service`."""

    def __init__(self, service: FeedbackService) -> None:
        self._service = service

    def record(self, raw: bytes, _context: grpc.ServicerContext) -> bytes:
        """Answer a RecordFeedback. Raises MalformedRequest, NotFound, StoreUnavailable."""
        request = parse(decision_service_pb2.RecordFeedbackRequest, raw)
        violations: list[Violation] = []
        judgement = _judgement(request.verdict, violations)
        validate.source(request.source, violations)
        subject = request.WhichOneof("subject")
        if subject is None:
            violations.append(Violation("subject", "is required: feedback_token or entry_id"))
        elif subject == "entry_id" and not _ENTRY_ID.fullmatch(request.entry_id):
            violations.append(Violation("entry_id", "must be 64 hex characters, lower case"))
        if violations or judgement is None:
            raise MalformedRequest(violations)
        recorded = True
        if subject == "entry_id":
            self._of_entry(request.entry_id, judgement, request.source)
        else:
            recorded = self._of_token(request.feedback_token, judgement, request.source)
        return decision_service_pb2.RecordFeedbackResponse(recorded=recorded).SerializeToString()

    def _of_token(self, token: bytes, judgement: Judgement, source: str) -> bool:
        try:
            return self._service.by_token(token, judgement, source)
        except ForgedToken:
            raise MalformedRequest([_FORGED]) from None

    def _of_entry(self, entry_id: str, judgement: Judgement, source: str) -> None:
        try:
            self._service.by_entry(bytes.fromhex(entry_id), judgement, source)
        except UnknownEntry:
            text = f"there is no semantic entry {entry_id}; an exact or normalized one is deleted, not judged"
            raise NotFound(text) from None


def _judgement(verdict: int, violations: list[Violation]) -> Judgement | None:
    try:
        return Judgement(verdict)
    except ValueError:
        violations.append(Violation("verdict", "must be CORRECT, WRONG or STALE"))
        return None
