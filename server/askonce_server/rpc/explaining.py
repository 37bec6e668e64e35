"""Explain on the wire."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import grpc

from askonce.v1 import admin_service_pb2
from askonce_server.core.causes import Cause
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.segments import Difference
from askonce_server.rpc import convert, encode
from askonce_server.rpc.encode import span
from askonce_server.rpc.handlers import parse
from askonce_server.rpc.status import TooLarge
from askonce_server.service.explain import Comparison, ExplainService, Side, bounded
from askonce_server.service.explain_one import Explanation, StoreExplainer, fate_of
from askonce_server.service.nearest import NearAnswer
from askonce_server.service.whereabouts import ScopeSeen, Whereabouts


class Explaining:
    """Answers Explain. A message has at most `max_request` bytes."""

    def __init__(self, explainer: ExplainService, store: StoreExplainer, *, max_request: int) -> None:
        self._explainer = explainer
        self._store_explainer = store
        self._max_request = max_request

    def explain(self, raw: bytes, _context: grpc.ServicerContext) -> bytes:
        """Say what tells two requests apart, or what became of the entry of one."""
        if len(raw) > self._max_request:
            raise TooLarge("the request", size=len(raw), limit=self._max_request, setting="max_request")
        request = parse(admin_service_pb2.ExplainRequest, raw, requests=2)
        if not request.HasField("lookup"):
            raise MalformedRequest([Violation("lookup", "is required: the request in question")])
        first = convert.asked(request.lookup)
        if not request.HasField("other"):
            return against_the_store(self._store_explainer.explain(first)).SerializeToString()
        return compared(self._explainer.compare(first, convert.asked(request.other))).SerializeToString()


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


def against_the_store(explained: Explanation) -> admin_service_pb2.ExplainResponse:
    """Return the message for one request against the store."""
    decision, found = explained.decision, explained.found
    response = admin_service_pb2.ExplainResponse(
        decision=encode.decision(decision, decision_id=""),
        lookup=side(explained.side),
        differences_left_out=explained.left_out,
        summary=explained.summary,
    )
    near = decision.candidate.nearness if decision.candidate is not None else None
    response.guard = near.guard if near is not None else ""
    if found is None:
        return response
    for place in found.whereabouts:
        response.whereabouts.add(**_whereabouts(place))
    response.scope.MergeFrom(admin_service_pb2.ExplainedScope(**_scope(found.scope)))
    for one in found.nearest:
        response.nearest.add(**_nearest(one))
    if response.nearest:
        response.differences.extend(response.nearest[0].differences)
    return response


def _whereabouts(place: Whereabouts) -> dict[str, Any]:
    return {
        "matcher": place.matcher,
        "entry_id": place.entry_id.hex(),
        "fate": place.fate,
        "time": span(place.at_ms) if place.at_ms is not None else None,
        "refusal_reason": place.refusal,
        "description": fate_of(place),
    }


def _scope(seen: ScopeSeen) -> dict[str, Any]:
    return {
        "dims": seen.dims,
        "namespace": seen.namespace,
        "answers": seen.answers,
        "bounded": seen.bounded,
        "last_purge": span(seen.last_purge_ms) if seen.last_purge_ms is not None else None,
        "last_purge_of": seen.last_purge_of,
    }


def _nearest(one: NearAnswer) -> dict[str, Any]:
    answer = one.kept.entries[0].answer if one.kept.entries else None
    told, _ = bounded(one.differences)
    return {
        "entries": [
            {"kind": entry.key.matcher, "entry_id": entry.key.entry_id.hex()} for entry in one.kept.entries
        ],
        "rule_id": answer.rule_id if answer is not None else "",
        "store_time": span(answer.store_ms) if answer is not None else None,
        "expire_time": span(answer.expire_ms) if answer is not None else None,
        "agreeing": one.agreeing,
        "differences": differences(told),
        "compared": one.compared,
    }


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
