"""Requests as messages of the contract. Raises InvalidRequest, whose text never quotes a value."""

from __future__ import annotations

import json
import math
import re
import struct
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp

from askonce.descriptor import Content, Descriptor, Digests, Embedding, Json, ProviderBody, Target
from askonce.errors import InvalidRequest, Violation
from askonce.request import Controls, Lookup, Metadata, Seconds, Store
from askonce.results import Decision
from askonce.upstream import UpstreamResponse
from askonce.v1 import decision_pb2, decision_service_pb2, descriptor_pb2

_NANOS = 1_000_000_000
_METADATA_NAME = re.compile(r"[0-9a-z_.-]+")
_METADATA_TEXT = re.compile(r"[ -~]*")
_FAULTS = (TypeError, ValueError, OverflowError, AttributeError, RecursionError, struct.error)
"""What protobuf, json and struct raise for values that they cannot take."""


def lookup_request(lookup: Lookup, *, budget_seconds: float) -> decision_service_pb2.LookupRequest:
    """Encode a Lookup whose caller will wait `budget_seconds`."""
    if not isinstance(lookup, Lookup):
        raise _wrong("lookup", lookup, "must be a Lookup or a Descriptor")
    message = decision_service_pb2.LookupRequest()
    message.budget.CopyFrom(duration(budget_seconds, "budget"))
    _descriptor(message.descriptor, lookup.descriptor)
    if lookup.controls is not None:
        _controls(message.controls, lookup.controls)
    _span(message, "wait_for_fill", lookup.wait_for_fill, "wait_for_fill")
    _extend(message, "accepts", [int(shape) for shape in lookup.accepts], "accepts")
    for name in ("omit_body", "after_upstream_error", "trace", "request_id", "anchor"):
        _put(message, name, getattr(lookup, name), name)
    return message


def store_request(store: Store) -> decision_service_pb2.StoreRequest:
    """Encode a Store."""
    message = decision_service_pb2.StoreRequest()
    if isinstance(store.source, Descriptor):
        _descriptor(message.descriptor, store.source)
    else:
        _put(message, "fill_token", fill_token(store.source), "fill_token")
    _response(message.response, store.response)
    _span(message, "ttl", store.ttl, "ttl")
    _put(message, "logging_disabled", store.logging_disabled, "logging_disabled")
    _put(message, "namespace", store.namespace, "namespace")
    return message


def fill_token(source: Decision | bytes) -> bytes:
    """Return the token of a decision, or the token itself."""
    token = source.fill_token if isinstance(source, Decision) else source
    if not isinstance(token, bytes):
        raise _wrong("source", source, "must be a Decision, a fill token or a Descriptor")
    return token


def feedback_request(
    subject: Decision | bytes | str, verdict: int, source: str
) -> decision_service_pb2.RecordFeedbackRequest:
    """Encode a judgement on a decision, a feedback token or (as `str`) an entry id."""
    message = decision_service_pb2.RecordFeedbackRequest()
    if isinstance(subject, Decision):
        subject = subject.feedback_token
    name = "entry_id" if isinstance(subject, str) else "feedback_token"
    _put(message, name, subject, name)
    _put(message, "verdict", verdict, "verdict")
    _put(message, "source", source, "source")
    return message


def seconds(value: Seconds, path: str) -> float:
    """Return a length of time in seconds."""
    number = value.total_seconds() if isinstance(value, timedelta) else value
    if not isinstance(number, int | float) or not math.isfinite(number):
        raise _wrong(path, value, "must be a finite number of seconds or a timedelta")
    return number


def duration(value: Seconds, path: str) -> Duration:
    """Return a length of time as the contract has it, to the nanosecond."""
    try:
        if isinstance(value, timedelta):  # exact, where its float would not be
            nanos = (value // timedelta(microseconds=1)) * 1000
        else:
            nanos = round(seconds(value, path) * _NANOS)
        sign = -1 if nanos < 0 else 1
        whole, rest = divmod(abs(nanos), _NANOS)
        return Duration(seconds=sign * whole, nanos=sign * rest)
    except _FAULTS:
        raise _wrong(path, value, "is out of range") from None


def metadata(given: Metadata) -> Metadata:
    """Return metadata that gRPC will take; its core would write a line per call for what it does not."""
    try:
        pairs = [(name, value) for name, value in given]
        if all(_is_metadatum(name, value) for name, value in pairs):
            return pairs
    except _FAULTS:
        pass
    raise _wrong(
        "metadata", given, "must be pairs of a lower-case name and printable text, or bytes for -bin"
    )


def _is_metadatum(name: str, value: str | bytes) -> bool:
    if not _METADATA_NAME.fullmatch(name):
        return False
    if name.endswith("-bin"):
        return isinstance(value, bytes)
    return isinstance(value, str) and _METADATA_TEXT.fullmatch(value) is not None


def _descriptor(message: descriptor_pb2.RequestDescriptor, given: Descriptor) -> None:
    if not isinstance(given, Descriptor):
        raise _wrong("descriptor", given, "must be a Descriptor")
    for name in ("dialect", "endpoint", "route_id", "route_version", "rule_branch", "personalized"):
        _put(message, name, getattr(given, name), f"descriptor.{name}")
    if given.stream is not None:
        _put(message, "stream", given.stream, "descriptor.stream")
    for name in ("served", "requested"):
        _target(getattr(message, name), getattr(given, name), f"descriptor.{name}")
    for name in ("scope", "versions", "headers", "attributes"):
        _fill(getattr(message, name), getattr(given, name), f"descriptor.{name}")
    _content(message, given.content)
    if given.embedding is not None:
        _embedding(message.embedding, given.embedding)


def _content(message: descriptor_pb2.RequestDescriptor, content: Content | ProviderBody | Digests) -> None:
    if isinstance(content, ProviderBody):
        body = content.json
        document = (
            body.encode("utf-8", "surrogatepass") if isinstance(body, str) else _json(body, "body_json")
        )
        message.body_json = document
    elif isinstance(content, Content):
        message.parts.SetInParent()
        for name in ("messages", "system", "tools", "params"):
            part = getattr(content, name)
            if part is not None:
                setattr(message.parts, name, _json(part, f"parts.{name}"))
    elif isinstance(content, Digests):
        _digests(message.digests, content)
    else:
        raise _wrong("descriptor.content", content, "must be Content, ProviderBody or Digests")


def _digests(message: descriptor_pb2.Digests, given: Digests) -> None:
    for name in ("exact_sha256", "normalized_sha256", "canonicalization", "canonicalization_version"):
        _put(message, name, getattr(given, name), f"descriptor.digests.{name}")
    for name in ("sampling", "remote_content", "stateful", "personalized"):
        fact = getattr(given.facts, name)
        if fact is not None:
            _put(message.facts, name, fact, f"descriptor.digests.facts.{name}")


def _embedding(message: descriptor_pb2.Embedding, given: Embedding) -> None:
    _put(message, "embedder", given.embedder, "descriptor.embedding.embedder")
    values = given.values
    if not isinstance(values, bytes):
        try:
            values = struct.pack(f"<{len(values)}f", *values)
        except _FAULTS:
            raise _wrong("descriptor.embedding.values", values, "must be numbers of 32 bits") from None
    message.values = values


def _controls(message: decision_service_pb2.Controls, given: Controls) -> None:
    if not isinstance(given, Controls):
        raise _wrong("controls", given, "must be Controls")
    if given.mode is not None:
        _put(message, "mode", given.mode, "controls.mode")
    for name in ("ttl", "max_age", "min_fresh", "max_stale"):
        _span(message, name, getattr(given, name), f"controls.{name}")
    _put(message, "namespace", given.namespace, "controls.namespace")
    _put(message, "logging_disabled", given.logging_disabled, "controls.logging_disabled")


_RESPONSE_FIELDS = (
    "body",
    "content_type",
    "status_code",
    "stream_complete",
    "contains_tool_calls",
    "refused",
    "output_guardrail_modified",
    "guardrail_failed_open",
    "fallback_used",
    "source_request_id",
)


def _response(message: decision_service_pb2.UpstreamResponse, given: UpstreamResponse) -> None:
    if not isinstance(given, UpstreamResponse):
        raise _wrong("response", given, "must be an UpstreamResponse")
    for name in _RESPONSE_FIELDS:
        _put(message, name, getattr(given, name), f"response.{name}")
    for name in ("cost_usd", "cacheable"):
        value = getattr(given, name)
        if value is not None:
            _put(message, name, value, f"response.{name}")
    _extend(message, "finish_reasons", given.finish_reasons, "response.finish_reasons")
    _target(message.served, given.served, "response.served")
    if given.usage is not None:
        _usage(message.usage, given)
    if given.request_start_time is not None:
        message.request_start_time.CopyFrom(_timestamp(given.request_start_time))


def _usage(message: decision_pb2.Usage, given: UpstreamResponse) -> None:
    message.SetInParent()
    for name in ("input_tokens", "output_tokens"):
        _put(message, name, getattr(given.usage, name, None), f"response.usage.{name}")


def _timestamp(value: datetime) -> Timestamp:
    path = "response.request_start_time"
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise _wrong(path, value, "must be a datetime with a time zone")
    message = Timestamp()
    message.FromDatetime(value)
    return message


def _target(message: descriptor_pb2.Target, given: Target | None, path: str) -> None:
    if given is None:
        return
    message.SetInParent()
    for name in ("provider", "model"):
        _put(message, name, getattr(given, name, None), f"{path}.{name}")


def _json(value: Json, path: str) -> bytes:
    """Serialize a JSON value. What JSON cannot say (NaN, a lone surrogate) is for the sidecar to judge."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    try:
        return json.dumps(value, separators=(",", ":"), default=_plain).encode()
    except _FAULTS:
        raise _wrong(f"descriptor.{path}", value, "is not a JSON value") from None


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _span(message: Any, name: str, value: Seconds | None, path: str) -> None:
    if value is not None:
        getattr(message, name).CopyFrom(duration(value, path))


def _put(message: Message, name: str, value: object, path: str) -> None:
    try:
        setattr(message, name, value)
    except _FAULTS:
        raise _wrong(path, value, "has the wrong type, is out of range or is not valid text") from None


def _extend(message: Message, name: str, values: Iterable[object], path: str) -> None:
    # A text is a sequence of texts too: finish_reasons="stop" would be sent as four reasons.
    if isinstance(values, str | bytes):
        raise _wrong(path, values, "must be a sequence")
    try:
        getattr(message, name).extend(values)
    except _FAULTS:
        raise _wrong(path, values, "has an item of the wrong type") from None


def _fill(target: Any, values: Mapping[str, str], path: str) -> None:
    try:
        target.update(values)
    except _FAULTS:
        raise _wrong(path, values, "must map text to text") from None


def _wrong(path: str, value: object, description: str) -> InvalidRequest:
    """Name the field and the type of its value, but never the value: it may be a customer's text."""
    violation = Violation(path, f"{description} (got {type(value).__name__})")
    return InvalidRequest("the request cannot be encoded", violations=(violation,))
