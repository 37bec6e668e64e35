"""Hits as bytes: what does not change from one hit to the next of the same entry is encoded once.

A response is what was sent before, a new id and three times. Building a message of them, field by field, and
writing it out costs several times as much as joining them (protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

from functools import lru_cache

from askonce.v1 import decision_pb2
from askonce_server.core.cache_status import of_decision
from askonce_server.core.decision import Decision
from askonce_server.rpc import encode

_RESPONSE_DECISION = b"\x0a"
"""Field 1 of LookupResponse. A tag is the field's number times 8, plus 2 for what has a length."""
_DECISION_ID, _CANDIDATE, _CACHE_STATUS = b"\x0a", b"\x22", b"\x82\x01"
"""Fields 1, 4 and 16 of Decision."""
_AGE, _TTL_LEFT, _BODY = b"\x52", b"\x5a", b"\xa2\x01"
"""Fields 10, 11 and 20 of Candidate."""
_DATA = b"\x0a"
"""Field 1 of Body."""
_SECONDS, _NANOS = b"\x08", b"\x10"
"""Fields 1 and 2 of Duration, as varints."""


def response(found: Decision, *, decision_id: str) -> bytes:
    """Return the LookupResponse for `found`, a hit with a body: the bytes of `encode.decision`'s message.

    Its constant pieces are kept in `found.encoded`.
    """
    candidate = found.candidate
    assert candidate is not None
    assert candidate.body is not None
    pieces = found.encoded
    if not pieces:
        pieces = _constant(found)
        if found.encoded is not None:
            found.encoded[:] = pieces  # in one step: threads share the list
    kind, before, after, body_tail, rule, anchor = pieces
    answer, data, now_ms = candidate.entry.answer, candidate.body.data, found.now_ms
    age = _duration(_AGE, now_ms - answer.start_ms if now_ms > answer.start_ms else 0)
    times = age + _duration(_TTL_LEFT, answer.expire_ms - now_ms)
    size = len(before) + len(times) + len(after) + len(data) + len(body_tail)
    head = _text(_DECISION_ID, decision_id) + kind + _varint(size)
    tail = rule + _text(_CACHE_STATUS, of_decision(found)) + anchor
    whole = _varint(len(head) + size + len(tail))
    return b"".join((_RESPONSE_DECISION, whole, head, before, times, after, data, body_tail, tail))


def _constant(found: Decision) -> list[bytes]:
    """Return the pieces that stand between what changes, in the order of their fields."""
    fields = encode.decision(found, decision_id="")
    candidate = fields["candidate"]
    body = candidate["body"]
    content_type = decision_pb2.Body(content_type=body["content_type"]).SerializeToString()
    data = _DATA + _varint(len(body["data"])) if body["data"] else b""
    length = _varint(len(data) + len(body["data"]) + len(content_type))
    changing = {"age", "ttl_left", "body"}
    first = {"entry_id", "entry_sha7", "scope_sha7"}
    rest = {name: value for name, value in candidate.items() if name not in first | changing}
    return [
        decision_pb2.Decision(outcome=fields["outcome"], kind=fields["kind"]).SerializeToString()
        + _CANDIDATE,
        decision_pb2.Candidate(**{name: candidate[name] for name in first}).SerializeToString(),
        decision_pb2.Candidate(**rest).SerializeToString() + _BODY + length + data,
        content_type,
        decision_pb2.Decision(skipped=fields["skipped"], rule_id=fields["rule_id"]).SerializeToString(),
        decision_pb2.Decision(conversation_anchor=fields["conversation_anchor"]).SerializeToString(),
    ]


def _text(tag: bytes, text: str) -> bytes:
    encoded = text.encode()
    return tag + _varint(len(encoded)) + encoded


def _duration(tag: bytes, milliseconds: int) -> bytes:
    seconds, rest = divmod(milliseconds, 1000)
    encoded = _seconds(seconds) + _MILLISECONDS[rest]
    return tag + _varint(len(encoded)) + encoded


@lru_cache(maxsize=4096)
def _seconds(seconds: int) -> bytes:
    return _SECONDS + _varint(seconds) if seconds else b""


@lru_cache(maxsize=4096)
def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 127:
        encoded.append(value & 127 | 128)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


_MILLISECONDS = [b"", *(_NANOS + _varint(rest * 1_000_000) for rest in range(1, 1000))]
