"""What `askonce lookup` and `askonce store` send, and what they do with the answer."""

from __future__ import annotations

import base64
import binascii
import sys

from askonce.v1.decision_service_pb2 import (
    CACHE_MODE_BYPASS,
    CACHE_MODE_DEFAULT,
    CACHE_MODE_READ_ONLY,
    CACHE_MODE_REFRESH,
    STORE_OUTCOME_STORED,
    Controls,
    LookupRequest,
    StoreRequest,
    UpstreamResponse,
)
from askonce_server.cli.connect import call, decisions
from askonce_server.cli.failure import misused
from askonce_server.cli.request import descriptor, read, write
from askonce_server.cli.said import STANDARD_STREAM, Answered, Said, Source, Talk, Wishes
from askonce_server.cli.show import show_decision, show_json, show_stored

MODES = {
    "DEFAULT": CACHE_MODE_DEFAULT,
    "BYPASS": CACHE_MODE_BYPASS,
    "REFRESH": CACHE_MODE_REFRESH,
    "READ_ONLY": CACHE_MODE_READ_ONLY,
}


def lookup(file: str, said: Said, wishes: Wishes, talk: Talk) -> int:
    """Ask for a decision and show it. Raises Failed."""
    controls = Controls(mode=MODES[wishes.mode], namespace=wishes.namespace)
    for name, time in wishes.times.items():
        getattr(controls, name).FromTimedelta(time)
    request = LookupRequest(
        controls=controls, omit_body=wishes.omit_body, trace=wishes.trace, anchor=wishes.anchor
    )
    request.descriptor.CopyFrom(descriptor(read(file), said))
    with decisions(talk) as (address, stub):
        reply = call(address, lambda: stub.Lookup(request, timeout=talk.timeout.total_seconds()))
    decision = reply.decision
    if wishes.fill_token_out is not None:
        token = base64.b64encode(decision.fill_token)
        _write_out("fill token", wishes.fill_token_out, token + b"\n" if token else b"")
    if wishes.body_out is not None:
        _write_out("body", wishes.body_out, decision.candidate.body.data)
    if STANDARD_STREAM not in {wishes.body_out, wishes.fill_token_out}:
        (show_json if talk.as_json else show_decision)(decision)
    return 0


def store(source: Source, answered: Answered, talk: Talk) -> int:
    """File an answer and show what became of it. Raises Failed."""
    request = StoreRequest(namespace=source.namespace)
    if source.fill_token_file is not None:
        request.fill_token = _fill_token(source.fill_token_file)
    else:
        request.descriptor.CopyFrom(descriptor(read(str(source.file)), source.said))
    request.response.CopyFrom(_response(read(answered.body), answered))
    if answered.ttl is not None:
        request.ttl.FromTimedelta(answered.ttl)
    with decisions(talk) as (address, stub):
        stored = call(address, lambda: stub.Store(request, timeout=talk.timeout.total_seconds()))
    (show_json if talk.as_json else show_stored)(stored)
    return 0 if stored.outcome == STORE_OUTCOME_STORED else 1


def _write_out(what: str, file: str, data: bytes) -> None:
    if data:
        write(file, data)
    else:
        sys.stderr.write(f"askonce: the decision has no {what}, so {file} is not written\n")


def _response(body: bytes, answered: Answered) -> UpstreamResponse:
    response = UpstreamResponse(
        body=body,
        content_type=answered.content_type,
        status_code=answered.status,
        finish_reasons=answered.finish_reasons,
        stream_complete=answered.stream_complete,
        cost_usd=answered.cost_usd,
        contains_tool_calls=answered.tool_calls,
        refused=answered.refused,
        source_request_id=answered.source_request_id,
    )
    if answered.input_tokens is not None or answered.output_tokens is not None:
        response.usage.input_tokens = answered.input_tokens or 0
        response.usage.output_tokens = answered.output_tokens or 0
    return response


def _fill_token(file: str) -> bytes:
    try:
        return base64.b64decode(b"".join(read(file).split()), validate=True)
    except binascii.Error:
        raise misused(f"{file} holds no fill token: it is not base64") from None
