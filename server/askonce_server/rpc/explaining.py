"""Explain on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc

from askonce.v1 import admin_service_pb2
from askonce_server.core.causes import Cause
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.segments import Difference
from askonce_server.rpc import convert
from askonce_server.rpc.handlers import parse
from askonce_server.rpc.status import NotYet, TooLarge
from askonce_server.service.explain import Comparison, ExplainService, Side


class Explaining:
    """Answers Explain. A message has at most `max_request` bytes."""

    def __init__(self, explainer: ExplainService, *, max_request: int) -> None:
        self._explainer = explainer
        self._max_request = max_request

    def explain(self, raw: bytes, _context: grpc.ServicerContext) -> bytes:
        """Say what tells two requests apart, or what became of the entry of one."""
        if len(raw) > self._max_request:
            raise TooLarge("the request", size=len(raw), limit=self._max_request, setting="max_request")
        request = parse(admin_service_pb2.ExplainRequest, raw, requests=2)
        if not request.HasField("lookup"):
            raise MalformedRequest([Violation("lookup", "is required: the request in question")])
        if not request.HasField("other"):
            raise NotYet("Explain of one request is not part of this version")
        first = convert.asked(request.lookup)
        found = self._explainer.compare(first, convert.asked(request.other))
        return compared(found).SerializeToString()


def compared(found: Comparison) -> admin_service_pb2.ExplainResponse:
    """Return the message for two requests."""
    return admin_service_pb2.ExplainResponse(
        differences=differences(found.differences),
        differences_left_out=found.left_out,
        lookup=side(found.first),
        other=side(found.second),
        keys=[
            {"matcher": one.matcher, "same": one.same, "description": one.description} for one in found.keys
        ],
        summary=found.summary,
    )


def differences(found: Iterable[Difference]) -> list[dict[str, Any]]:
    """Return the fields of Differences."""
    return [one._asdict() for one in found]


def side(found: Side) -> dict[str, Any]:
    """Return the fields of an ExplainedRequest."""
    causes: list[Cause] = [*found.causes, *(cause for one in found.skipped for cause in one.causes)]
    return {
        "rule_id": found.plan.rule.id if found.plan.rule is not None else "",
        "bypass_reason": found.reason,
        "causes": [cause._asdict() for cause in causes],
        "skipped": [{"matcher": one.matcher, "reason": one.reason} for one in found.skipped],
    }
