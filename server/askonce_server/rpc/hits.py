"""Hits as bytes: what does not change from one hit to the next of the same entry is encoded once.

A response is what was sent before, a new id and three times. Building a message of them, field by field, and
writing it out costs several times as much as joining them (protobuf.dev/programming-guides/encoding).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from askonce.v1 import decision_pb2
from askonce_server.core.cache_status import around_ttl
from askonce_server.core.decision import Decision
from askonce_server.core.lasting import Lasting
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


@dataclass(frozen=True, slots=True)
class _Pieces:
    """What stands between what changes, in the order of the fields, and how long all of it is."""

    kind: bytes
    before: bytes
    after: bytes
    data: bytes
    body_tail: bytes
    rule: bytes
    status: bytes
    status_tail: bytes
    anchor: bytes
    candidate_bytes: int
    """Of the candidate, but for its times."""
    rest_bytes: int
    """Of the decision, but for its id, the candidate and how long that is, and the status."""
    status_bytes: int
    """Of the status, but for the seconds."""
    start_ms: int
    expire_ms: int


def response(kept: Lasting, *, now_ms: int, decision_id: str) -> bytes:
    """Return the LookupResponse for `kept` at `now_ms`: the bytes of `encode.decision`'s message."""
    made = kept.encoded
    if not isinstance(made, _Pieces):
        made = kept.encoded = _pieces(kept.decision)
    age, left = now_ms - made.start_ms, made.expire_ms - now_ms
    age_value, left_value = _duration(max(0, age)), _duration(left)
    candidate_bytes = made.candidate_bytes + len(age_value) + len(left_value)
    candidate_length = _varint(candidate_bytes)
    seconds, decision_text = b"%d" % (left // 1000), decision_id.encode()
    status_bytes = made.status_bytes + len(seconds)
    id_length, status_length = _varint(len(decision_text)), _varint(status_bytes)
    whole = (
        1 + len(id_length) + len(decision_text) + made.rest_bytes + len(candidate_length) + candidate_bytes
    ) + (len(status_length) + status_bytes)
    return b"".join(
        (
            *(_RESPONSE_DECISION, _varint(whole), _DECISION_ID, id_length, decision_text, made.kind),
            *(candidate_length, made.before, _AGE, age_value, _TTL_LEFT, left_value, made.after, made.data),
            *(made.body_tail, made.rule, _CACHE_STATUS, status_length, made.status, seconds),
            *(made.status_tail, made.anchor),
        )
    )


def _pieces(hit: Decision) -> _Pieces:
    fields = encode.decision(hit, decision_id="")
    found, candidate = hit.candidate, fields["candidate"]
    assert found is not None
    body = candidate["body"]
    content_type = decision_pb2.Body(content_type=body["content_type"]).SerializeToString()
    data = _DATA + _varint(len(body["data"])) if body["data"] else b""
    length = _varint(len(data) + len(body["data"]) + len(content_type))
    changing = {"age", "ttl_left", "body"}
    first = {"entry_id", "entry_sha7", "scope_sha7"}
    rest = {name: value for name, value in candidate.items() if name not in first | changing}
    kind = decision_pb2.Decision(outcome=fields["outcome"], kind=fields["kind"]).SerializeToString()
    before = decision_pb2.Candidate(**{name: candidate[name] for name in first}).SerializeToString()
    after = decision_pb2.Candidate(**rest).SerializeToString() + _BODY + length + data
    rule = decision_pb2.Decision(skipped=fields["skipped"], rule_id=fields["rule_id"]).SerializeToString()
    anchor = decision_pb2.Decision(conversation_anchor=fields["conversation_anchor"]).SerializeToString()
    status, status_tail = (part.encode() for part in around_ttl(hit))
    return _Pieces(
        kind=kind + _CANDIDATE,
        before=before,
        after=after,
        data=body["data"],
        body_tail=content_type,
        rule=rule,
        status=status,
        status_tail=status_tail,
        anchor=anchor,
        candidate_bytes=sum(map(len, (before, _AGE, _TTL_LEFT, after, body["data"], content_type))),
        rest_bytes=sum(map(len, (kind, _CANDIDATE, rule, _CACHE_STATUS, anchor))),
        status_bytes=len(status) + len(status_tail),
        start_ms=found.entry.answer.start_ms,
        expire_ms=found.entry.answer.expire_ms,
    )


def _duration(milliseconds: int) -> bytes:
    """Return a Duration and how long it is."""
    seconds, rest = divmod(milliseconds, 1000)
    encoded = _seconds(seconds) + _MILLISECONDS[rest]
    return _varint(len(encoded)) + encoded


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
