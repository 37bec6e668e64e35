"""From the wire to the core: messages become plain values, and what is wrong with them is collected."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp
from google.protobuf.unknown_fields import UnknownFieldSet

from askonce.v1 import decision_pb2, decision_service_pb2, descriptor_pb2
from askonce_server.core.admit import Response
from askonce_server.core.descriptor import (
    Content,
    Controls,
    Descriptor,
    Digests,
    Embedding,
    Facts,
    Target,
)
from askonce_server.core.entries import Body, Usage
from askonce_server.core.errors import Violation
from askonce_server.core.reasons import Mode
from askonce_server.rpc import validate
from askonce_server.service.asked import Asked
from askonce_server.service.store import Filed

_EMPTY: Mapping[str, str] = {}
_NO_TARGET = Target()
_MODES = {0: Mode.DEFAULT, **{mode.value: mode for mode in Mode}}
_SHAPES = {decision_pb2.BODY_SHAPE_STREAM: True, decision_pb2.BODY_SHAPE_JSON: False}


def asked(request: decision_service_pb2.LookupRequest) -> Asked:
    """Return the Lookup that `request` asks for."""
    violations: list[Violation] = []
    message = request.descriptor
    known = not has_unknown_fields(message)
    if not request.HasField("descriptor"):
        violations.append(Violation("descriptor", "is required"))
    controls, known_mode = Controls(), True
    if request.HasField("controls"):
        known = known and not has_unknown_fields(request.controls)
        known_mode = request.controls.mode in _MODES
        controls = _controls(request.controls, violations)
    validate.lookup(request, violations)
    return Asked(
        descriptor=_descriptor(message, violations, known=known),
        controls=controls,
        known_fields=known,
        known_mode=known_mode,
        accepts=frozenset(_SHAPES[shape] for shape in request.accepts if shape in _SHAPES),
        omit_body=request.omit_body,
        anchor=request.anchor,
        after_upstream_error=request.after_upstream_error,
        wait_ms=duration_ms(request.wait_for_fill, "wait_for_fill", []) or 0,
        trace=request.trace,
        request_id=request.request_id,
        violations=tuple(violations),
    )


def filed(request: decision_service_pb2.StoreRequest) -> Filed:
    """Return the Store that `request` asks for."""
    violations: list[Violation] = []
    source: bytes | Descriptor | None = None
    kind = request.WhichOneof("source")
    known = not (has_unknown_fields(request) or has_unknown_fields(request.response))
    if kind == "fill_token":
        source = request.fill_token
        validate.fill_token(source, violations)
    elif kind == "descriptor":
        known = known and not has_unknown_fields(request.descriptor)
        source = _descriptor(request.descriptor, violations, known=known)
    elif known:
        violations.append(Violation("source", "is required: fill_token, or descriptor"))
    validate.store(request, violations)
    return Filed(
        source=source,
        response=_response(request.response, violations),
        ttl_ms=_ttl_ms(request, "ttl", violations),
        namespace=request.namespace,
        logging_disabled=request.logging_disabled,
        known_fields=known,
        violations=tuple(violations),
    )


def documents(message: descriptor_pb2.RequestDescriptor) -> tuple[bytes, ...]:
    """Return the JSON documents of a descriptor; digests have none."""
    parts = message.parts
    return (message.body_json, parts.messages, parts.system, parts.tools, parts.params)


def _descriptor(
    message: descriptor_pb2.RequestDescriptor, violations: list[Violation], *, known: bool
) -> Descriptor:
    validate.descriptor(message, violations)
    return Descriptor(
        dialect=message.dialect,
        endpoint=message.endpoint,
        served=_target(message.served) if message.HasField("served") else _NO_TARGET,
        requested=_target(message.requested) if message.HasField("requested") else _NO_TARGET,
        route_id=message.route_id,
        route_version=message.route_version,
        rule_branch=message.rule_branch,
        stream=message.stream if message.HasField("stream") else None,
        scope=dict(message.scope) if len(message.scope) else _EMPTY,
        content=_content(message, violations, known=known),
        versions=dict(message.versions) if len(message.versions) else _EMPTY,
        headers=_headers(message.headers, violations) if len(message.headers) else _EMPTY,
        embedding=_embedding(message, violations),
        personalized=message.personalized,
        attributes=dict(message.attributes) if len(message.attributes) else _EMPTY,
    )


def _target(message: descriptor_pb2.Target) -> Target:
    return Target(message.provider, message.model)


def _content(
    message: descriptor_pb2.RequestDescriptor, violations: list[Violation], *, known: bool
) -> Content | bytes | Digests:
    kind = message.WhichOneof("content")
    if kind == "body_json":
        return message.body_json
    if kind == "parts":
        parts = message.parts
        return Content(parts.messages, parts.system, parts.tools, parts.params)
    if kind == "digests":
        validate.digests(message.digests, violations)
        return _digests(message.digests)
    if known:  # a newer client may have said it in a field that is not known here
        violations.append(Violation("descriptor.content", "is required: body_json, parts or digests"))
    return Content()


def _digests(message: descriptor_pb2.Digests) -> Digests:
    facts = message.facts

    def told(name: str) -> bool:
        return bool(getattr(facts, name)) if facts.HasField(name) else True

    return Digests(
        exact_sha256=message.exact_sha256,
        normalized_sha256=message.normalized_sha256,
        canonicalization=message.canonicalization,
        canonicalization_version=message.canonicalization_version,
        facts=Facts(told("sampling"), told("remote_content"), told("stateful"), told("personalized")),
    )


def _headers(headers: Mapping[str, str], violations: list[Violation]) -> Mapping[str, str]:
    lowered = {name.lower(): value for name, value in headers.items()}
    if len(lowered) != len(headers):
        text = "has names that differ only in case; send each header once"
        violations.append(Violation("descriptor.headers", text))
    return lowered


def _embedding(message: descriptor_pb2.RequestDescriptor, violations: list[Violation]) -> Embedding | None:
    if not message.HasField("embedding"):
        return None
    validate.embedding(message.embedding, violations)
    return Embedding(message.embedding.embedder, message.embedding.values)


def _controls(message: decision_service_pb2.Controls, violations: list[Violation]) -> Controls:
    validate.controls(message, violations)
    return Controls(
        mode=_MODES.get(message.mode, Mode.BYPASS),
        ttl_ms=_ttl_ms(message, "controls.ttl", violations),
        namespace=message.namespace,
        max_age_ms=_optional_ms(message, "max_age", "controls.max_age", violations),
        min_fresh_ms=_optional_ms(message, "min_fresh", "controls.min_fresh", violations),
        max_stale_ms=_optional_ms(message, "max_stale", "controls.max_stale", violations),
        logging_disabled=message.logging_disabled,
    )


def _response(message: decision_service_pb2.UpstreamResponse, violations: list[Violation]) -> Response:
    start: int | None = None
    if message.HasField("request_start_time"):
        path = "response.request_start_time"
        start = timestamp_ms(message.request_start_time, path, violations)
    usage = message.usage
    return Response(
        body=Body(message.body, message.content_type),
        status_code=message.status_code,
        finish_reasons=tuple(message.finish_reasons),
        stream_complete=message.stream_complete,
        usage=Usage(usage.input_tokens, usage.output_tokens) if message.HasField("usage") else None,
        cost_usd=message.cost_usd if message.HasField("cost_usd") else None,
        contains_tool_calls=message.contains_tool_calls,
        refused=message.refused,
        output_guardrail_modified=message.output_guardrail_modified,
        guardrail_failed_open=message.guardrail_failed_open,
        cacheable=message.cacheable if message.HasField("cacheable") else True,
        served=_target(message.served) if message.HasField("served") else _NO_TARGET,
        fallback_used=message.fallback_used,
        source_request_id=message.source_request_id,
        request_start_ms=start,
    )


def _optional_ms(message: Any, field: str, path: str, violations: list[Violation]) -> int | None:
    return duration_ms(getattr(message, field), path, violations) if message.HasField(field) else None


def duration_ms(duration: Duration, path: str, violations: list[Violation]) -> int | None:
    """Return whole milliseconds, rounded down; an invalid Duration becomes a violation, and None."""
    if not validate.duration(path, duration, violations):
        return None
    return duration.seconds * 1000 + duration.nanos // 1_000_000


def _ttl_ms(message: Any, path: str, violations: list[Violation]) -> int | None:
    """Return the ttl of `message`. Whatever the rule, it is more than nothing."""
    if not message.HasField("ttl") or not validate.duration(path, message.ttl, violations):
        return None
    if (message.ttl.seconds, message.ttl.nanos) <= (0, 0):
        violations.append(Violation(path, "must be positive; leave it out for the rule's own"))
        return None
    return duration_ms(message.ttl, path, violations)


def timestamp_ms(timestamp: Timestamp, path: str, violations: list[Violation]) -> int:
    """Return milliseconds since 1970; an invalid Timestamp, or one before 1970, becomes a violation."""
    seconds, nanos = timestamp.seconds, timestamp.nanos
    if not 0 <= seconds <= 253_402_300_799 or not 0 <= nanos <= 999_999_999:
        violations.append(Violation(path, f"is not a valid time: seconds {seconds}, nanos {nanos}"))
        return 0
    return seconds * 1000 + nanos // 1_000_000


def has_unknown_fields(message: Any) -> bool:
    """Whether `message`, or a message in it, has fields that this version does not know."""
    if len(UnknownFieldSet(message)):
        return True
    return any(
        has_unknown_fields(value)
        for name in _SUBMESSAGES[message.DESCRIPTOR.full_name]
        if message.HasField(name) and (value := getattr(message, name)) is not None
    )


def _submessages(message_type: Any, found: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    fields = [
        field for field in message_type.fields if field.message_type is not None and not field.is_repeated
    ]
    found[message_type.full_name] = tuple(field.name for field in fields)
    for field in fields:
        if field.message_type.full_name not in found:
            _submessages(field.message_type, found)
    return found


_SUBMESSAGES: dict[str, tuple[str, ...]] = {}
for _root in (decision_service_pb2.LookupRequest, decision_service_pb2.StoreRequest):
    _submessages(_root.DESCRIPTOR, _SUBMESSAGES)
