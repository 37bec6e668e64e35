"""An imagined sidecar for tests: answers calls from memory, by script first and else as a tiny cache."""

from __future__ import annotations

import hashlib
import json
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from askonce.core import Call
from askonce.gate import Reply
from askonce.status import Failure
from askonce.v1 import decision_pb2, descriptor_pb2
from askonce.v1 import decision_service_pb2 as pb


class ImaginedSidecar:
    """A cache keyed on canonical JSON. Thread-safe. Entries never expire."""

    def __init__(self, scope: Sequence[str]) -> None:
        """Start empty; a request that lacks a dim of `scope` is bypassed."""
        self._scope = scope
        self._lock = threading.Lock()
        self._entries: dict[str, pb.UpstreamResponse] = {}
        self._tokens: dict[bytes, str] = {}
        self._failures: deque[Failure] = deque()
        self._decisions: deque[decision_pb2.Decision] = deque()
        self._refusals: deque[int] = deque()
        self._handlers: Mapping[str, Callable[[bytes], Any]] = {
            "Lookup": self._on_lookup,
            "BatchLookup": self._on_batch_lookup,
            "Store": self._on_store,
            "BatchStore": self._on_batch_store,
            "Abandon": lambda _: pb.AbandonResponse(released=True),
            "RecordFeedback": lambda _: pb.RecordFeedbackResponse(recorded=True),
        }

    def fail_next(self, failure: Failure) -> None:
        """Fail the next call that has no failure yet."""
        self._failures.append(failure)

    def decide_next(self, decision: decision_pb2.Decision) -> None:
        """Answer the next Lookup that has no answer yet."""
        self._decisions.append(decision)

    def refuse_next(self, reason: int) -> None:
        """Refuse the next Store that has no refusal yet."""
        self._refusals.append(reason)

    def perform(self, call: Call) -> Reply:
        """Answer `call` at once."""
        with self._lock:
            if self._failures:
                return self._failures.popleft()
            answer: bytes = self._handlers[call.method](call.payload).SerializeToString()
            return answer

    def close(self) -> None:
        """Do nothing: there is nothing open."""

    def _on_lookup(self, payload: bytes) -> pb.LookupResponse:
        return pb.LookupResponse(decision=self._decide(pb.LookupRequest.FromString(payload)))

    def _on_batch_lookup(self, payload: bytes) -> pb.BatchLookupResponse:
        request = pb.BatchLookupRequest.FromString(payload)
        results = [pb.BatchLookupResult(decision=self._decide(item)) for item in request.items]
        return pb.BatchLookupResponse(results=results)

    def _on_store(self, payload: bytes) -> pb.StoreResponse:
        return self._file(pb.StoreRequest.FromString(payload))

    def _on_batch_store(self, payload: bytes) -> pb.BatchStoreResponse:
        request = pb.BatchStoreRequest.FromString(payload)
        results = [pb.BatchStoreResult(response=self._file(item)) for item in request.items]
        return pb.BatchStoreResponse(results=results)

    def _decide(self, request: pb.LookupRequest) -> decision_pb2.Decision:
        key = _key(request.descriptor, request.controls.namespace)
        decision = self._decisions.popleft() if self._decisions else self._look_up(request, key)
        decision.decision_id = decision.decision_id or f"{len(self._tokens):032x}"
        mode = request.controls.mode
        if decision.outcome == decision_pb2.OUTCOME_HIT and request.omit_body:
            decision.candidate.ClearField("body")
        if decision.outcome == decision_pb2.OUTCOME_MISS and key is not None:
            writes = mode != pb.CACHE_MODE_READ_ONLY and not request.controls.logging_disabled
            if writes:
                token = b"fill-%d" % len(self._tokens)
                self._tokens[token] = key
                decision.MergeFrom(decision_pb2.Decision(store_answer=True, fill_token=token))
        return decision

    def _look_up(self, request: pb.LookupRequest, key: str | None) -> decision_pb2.Decision:
        mode = request.controls.mode
        if mode == pb.CACHE_MODE_BYPASS:
            return _bypass("BYPASS_REASON_CALLER_BYPASS")
        if not all(request.descriptor.scope.get(dim) for dim in self._scope):
            return _bypass("BYPASS_REASON_SCOPE_MISSING")
        if key is None:
            return _bypass("BYPASS_REASON_UNREPRESENTABLE_CONTENT")
        if mode == pb.CACHE_MODE_REFRESH:
            return decision_pb2.Decision(
                outcome="OUTCOME_MISS", deny_reason="DENY_REASON_REFRESH", cache_status="askonce; fwd=request"
            )
        found = self._entries.get(key)
        if found is None:
            return decision_pb2.Decision(outcome="OUTCOME_MISS", cache_status="askonce; fwd=miss")
        return _hit(key, found)

    def _file(self, request: pb.StoreRequest) -> pb.StoreResponse:
        if request.WhichOneof("source") == "descriptor":
            key = _key(request.descriptor, request.namespace)
        else:
            key = self._tokens.get(request.fill_token)
        refusal: Any = self._refusals.popleft() if self._refusals else _refusal(request, key)
        if refusal or key is None:
            return pb.StoreResponse(outcome="STORE_OUTCOME_REFUSED", refusal_reason=refusal)
        self._entries[key] = request.response
        entry = pb.StoredEntry(kind="MATCH_KIND_EXACT", entry_id=_entry_id(key))
        return pb.StoreResponse(outcome="STORE_OUTCOME_STORED", entries=[entry])


def _refusal(request: pb.StoreRequest, key: str | None) -> Any:
    response = request.response
    if key is None:
        by_token = request.WhichOneof("source") == "fill_token"
        return "REFUSAL_REASON_TOKEN_EXPIRED" if by_token else "REFUSAL_REASON_UNREPRESENTABLE_CONTENT"
    if request.logging_disabled:
        return "REFUSAL_REASON_LOGGING_DISABLED"
    if not 200 <= response.status_code <= 299:
        return "REFUSAL_REASON_UPSTREAM_ERROR"
    if not response.body:
        return "REFUSAL_REASON_EMPTY"
    if response.HasField("cacheable") and not response.cacheable:
        return "REFUSAL_REASON_NOT_CACHEABLE"
    return 0


def _hit(key: str, found: pb.UpstreamResponse) -> decision_pb2.Decision:
    entry_id = _entry_id(key)
    candidate = decision_pb2.Candidate(
        entry_id=entry_id,
        entry_sha7=entry_id[:7],
        source_request_id=found.source_request_id,
        contains_tool_calls=found.contains_tool_calls,
        usage=found.usage if found.HasField("usage") else None,
        body=decision_pb2.Body(data=found.body, content_type=found.content_type),
    )
    return decision_pb2.Decision(
        outcome="OUTCOME_HIT",
        kind="MATCH_KIND_EXACT",
        candidate=candidate,
        cache_status="askonce; hit",
        feedback_token=b"feedback-" + entry_id.encode(),
    )


def _bypass(reason: Any) -> decision_pb2.Decision:
    return decision_pb2.Decision(
        outcome="OUTCOME_BYPASS", bypass_reason=reason, cache_status="askonce; fwd=bypass"
    )


def _entry_id(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def _key(descriptor: descriptor_pb2.RequestDescriptor, namespace: str) -> str | None:
    """Return everything that the answer depends on as sorted JSON, or None when it is not JSON."""
    content = descriptor.WhichOneof("content")
    try:
        if content == "body_json":
            said: Any = json.loads(descriptor.body_json)
        elif content == "parts":
            said = {field.name: json.loads(value) for field, value in descriptor.parts.ListFields()}
        else:
            said = descriptor.digests.exact_sha256.hex()
    except (ValueError, RecursionError):
        return None
    names = ("dialect", "endpoint", "route_id", "route_version", "rule_branch")
    material = {name: getattr(descriptor, name) for name in names}
    for name in ("served", "requested"):
        target = getattr(descriptor, name)
        material[name] = [target.provider, target.model]
    for name in ("scope", "versions", "headers"):
        material[name] = dict(getattr(descriptor, name))
    stream = descriptor.stream if descriptor.HasField("stream") else None
    return json.dumps([material, stream, namespace, said], sort_keys=True)
