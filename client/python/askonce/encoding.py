"""Requests as messages of the contract. Raises InvalidRequest, whose text never quotes a value."""

from __future__ import annotations

import re
import struct
from datetime import datetime

from google.protobuf.timestamp_pb2 import Timestamp

from askonce.descriptor import Content, Descriptor, Digests, Embedding, ProviderBody, Target
from askonce.fields import (
    FAULTS,
    duration,
    extend,
    json_document,
    put,
    put_map,
    put_said,
    put_span,
    wrong,
)
from askonce.request import Controls, Lookup, Metadata, Store
from askonce.results import Decision
from askonce.upstream import UpstreamResponse
from askonce.v1 import decision_pb2, decision_service_pb2, descriptor_pb2

_METADATA_NAME = re.compile(r"[0-9a-z_.-]+")
_METADATA_TEXT = re.compile(r"[ -~]*")


def lookup_request(lookup: Lookup, *, budget_seconds: float) -> decision_service_pb2.LookupRequest:
    """Encode a Lookup whose caller will wait `budget_seconds`."""
    if not isinstance(lookup, Lookup):
        raise wrong("lookup", lookup, "must be a Lookup or a Descriptor")
    message = decision_service_pb2.LookupRequest()
    message.budget.CopyFrom(duration(budget_seconds, "budget"))
    _descriptor(message.descriptor, lookup.descriptor)
    if lookup.controls is not None:
        _controls(message.controls, lookup.controls)
    put_span(message, "wait_for_fill", lookup.wait_for_fill, "wait_for_fill")
    extend(message, "accepts", lookup.accepts, "accepts")
    put_said(message, ("omit_body", "after_upstream_error", "trace", "request_id", "anchor"), lookup, "")
    return message


def store_request(store: Store) -> decision_service_pb2.StoreRequest:
    """Encode a Store."""
    message = decision_service_pb2.StoreRequest()
    if isinstance(store.source, Descriptor):
        _descriptor(message.descriptor, store.source)
    else:
        put(message, "fill_token", fill_token(store.source), "fill_token")
    _response(message.response, store.response)
    put_span(message, "ttl", store.ttl, "ttl")
    put_said(message, ("logging_disabled", "namespace"), store, "")
    return message


def fill_token(source: Decision | bytes) -> bytes:
    """Return the token of a decision, or the token itself."""
    token = source.fill_token if isinstance(source, Decision) else source
    if not isinstance(token, bytes):
        raise wrong("source", source, "must be a Decision, a fill token or a Descriptor")
    return token


def feedback_request(
    subject: Decision | bytes | str, verdict: int, source: str
) -> decision_service_pb2.RecordFeedbackRequest:
    """Encode a judgement on a decision, a feedback token or (as `str`) an entry id."""
    message = decision_service_pb2.RecordFeedbackRequest()
    if isinstance(subject, Decision):
        subject = subject.feedback_token
    name = "entry_id" if isinstance(subject, str) else "feedback_token"
    put(message, name, subject, name)
    put(message, "verdict", verdict, "verdict")
    put(message, "source", source, "source")
    return message


def metadata(given: Metadata) -> Metadata:
    """Return metadata that gRPC will take; its core would write a line per call for what it does not."""
    try:
        pairs = [(name, value) for name, value in given]
        if all(_is_metadatum(name, value) for name, value in pairs):
            return pairs
    except FAULTS:
        pass
    raise wrong("metadata", given, "must be pairs of a lower-case name and printable text, or bytes for -bin")


def _is_metadatum(name: str, value: str | bytes) -> bool:
    if not _METADATA_NAME.fullmatch(name):
        return False
    if name.endswith("-bin"):
        return isinstance(value, bytes)
    return isinstance(value, str) and _METADATA_TEXT.fullmatch(value) is not None


_DESCRIPTOR_FIELDS = ("dialect", "endpoint", "route_id", "route_version", "rule_branch", "personalized")


def _descriptor(message: descriptor_pb2.RequestDescriptor, given: Descriptor) -> None:
    if not isinstance(given, Descriptor):
        raise wrong("descriptor", given, "must be a Descriptor")
    put_said(message, _DESCRIPTOR_FIELDS, given, "descriptor.")
    if given.stream is not None:
        put(message, "stream", given.stream, "descriptor.stream")
    for name in ("served", "requested"):
        _target(getattr(message, name), getattr(given, name), f"descriptor.{name}")
    for name in ("scope", "versions", "headers", "attributes"):
        put_map(getattr(message, name), getattr(given, name), f"descriptor.{name}")
    _content(message, given.content)
    if given.embedding is not None:
        _embedding(message.embedding, given.embedding)


def _content(message: descriptor_pb2.RequestDescriptor, content: Content | ProviderBody | Digests) -> None:
    if isinstance(content, ProviderBody):
        body = content.json
        if isinstance(body, str):
            body = body.encode("utf-8", "surrogatepass")
        message.body_json = json_document(body, "body_json")
    elif isinstance(content, Content):
        message.parts.SetInParent()
        for name in ("messages", "system", "tools", "params"):
            part = getattr(content, name)
            if part is not None:
                setattr(message.parts, name, json_document(part, f"parts.{name}"))
    elif isinstance(content, Digests):
        _digests(message.digests, content)
    else:
        raise wrong("descriptor.content", content, "must be Content, ProviderBody or Digests")


def _digests(message: descriptor_pb2.Digests, given: Digests) -> None:
    for name in ("exact_sha256", "normalized_sha256", "canonicalization", "canonicalization_version"):
        put(message, name, getattr(given, name), f"descriptor.digests.{name}")
    for name in ("sampling", "remote_content", "stateful", "personalized"):
        fact = getattr(given.facts, name)
        if fact is not None:
            put(message.facts, name, fact, f"descriptor.digests.facts.{name}")


def _embedding(message: descriptor_pb2.Embedding, given: Embedding) -> None:
    put(message, "embedder", given.embedder, "descriptor.embedding.embedder")
    values = given.values
    if not isinstance(values, bytes):
        try:
            values = struct.pack(f"<{len(values)}f", *values)
        except FAULTS:
            raise wrong("descriptor.embedding.values", values, "must be numbers of 32 bits") from None
    message.values = values


def _controls(message: decision_service_pb2.Controls, given: Controls) -> None:
    if not isinstance(given, Controls):
        raise wrong("controls", given, "must be Controls")
    if given.mode is not None:
        put(message, "mode", given.mode, "controls.mode")
    for name in ("ttl", "max_age", "min_fresh", "max_stale"):
        put_span(message, name, getattr(given, name), f"controls.{name}")
    put_said(message, ("namespace", "logging_disabled"), given, "controls.")


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
        raise wrong("response", given, "must be an UpstreamResponse")
    put_said(message, _RESPONSE_FIELDS, given, "response.")
    for name in ("cost_usd", "cacheable"):
        value = getattr(given, name)
        if value is not None:
            put(message, name, value, f"response.{name}")
    extend(message, "finish_reasons", given.finish_reasons, "response.finish_reasons")
    _target(message.served, given.served, "response.served")
    if given.usage is not None:
        _usage(message.usage, given)
    if given.request_start_time is not None:
        message.request_start_time.CopyFrom(_timestamp(given.request_start_time))


def _usage(message: decision_pb2.Usage, given: UpstreamResponse) -> None:
    message.SetInParent()
    for name in ("input_tokens", "output_tokens"):
        put(message, name, getattr(given.usage, name, None), f"response.usage.{name}")


def _timestamp(value: datetime) -> Timestamp:
    path = "response.request_start_time"
    if not isinstance(value, datetime) or value.utcoffset() is None:
        raise wrong(path, value, "must be a datetime with a time zone")
    message = Timestamp()
    message.FromDatetime(value)
    return message


def _target(message: descriptor_pb2.Target, given: Target | None, path: str) -> None:
    if given is None:
        return
    message.SetInParent()
    for name in ("provider", "model"):
        put(message, name, getattr(given, name, None), f"{path}.{name}")
