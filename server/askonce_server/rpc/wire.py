"""A look at a message before it is parsed: how many fields would parsing it make?

A parser builds every field in one go, and no other thread runs meanwhile: 8 MiB of tiny fields would stop
every caller for seconds. Wire format: protobuf.dev/programming-guides/encoding.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from google.protobuf.message import Message

from askonce_server.core.errors import MalformedRequest, Violation

MAX_FIELDS = 512
"""Fields of one request, those in its messages included; a map entry or a repeated value is one. A request
with four full maps has fewer than 300."""

_SMALL = 64 << 10
"""No message up to this size makes much work."""
_VARINT, _FIXED64, _BYTES, _START_GROUP, _END_GROUP, _FIXED32 = range(6)


class _Broken(Exception):
    """The bytes are no message; the parser will say so."""


def check_fields(message_type: type[Message], raw: bytes, *, requests: int = 1) -> None:
    """Refuse a message with more than `MAX_FIELDS` for each of `requests`. Raises MalformedRequest.

    Costs no more than the fields that are allowed, however many there are.
    """
    if len(raw) <= _SMALL:
        return
    most = MAX_FIELDS * requests
    try:
        found = _count(_table(message_type.DESCRIPTOR), raw, 0, len(raw), most)
    except (_Broken, IndexError):
        return
    if found > most:
        raise MalformedRequest([Violation("request", f"has more than {most} fields")])


@lru_cache(maxsize=64)
def _table(descriptor: Any) -> Mapping[int, Any]:
    """Return what to look into, by field number: messages that are no map entries, and packed scalars."""
    found: dict[int, Any] = {}
    for field in descriptor.fields:
        if field.message_type is None:
            if field.is_repeated:
                found[field.number] = None
        elif not field.message_type.GetOptions().map_entry:
            found[field.number] = field.message_type
    return found


def _count(table: Mapping[int, Any], raw: bytes, at: int, end: int, most: int) -> int:
    """Count the fields in `raw[at:end]`, up to one more than `most`. A packed value counts as its bytes."""
    fields = 0
    while at < end and fields <= most:
        fields += 1
        tag, at = _varint(raw, at)
        number, kind = tag >> 3, tag & 7
        if kind == _BYTES:
            size, at = _varint(raw, at)
            stop = at + size
            if stop > end:
                raise _Broken
            if number in table:
                inner = table[number]
                fields += size if inner is None else _count(_table(inner), raw, at, stop, most - fields)
            at = stop
        elif kind == _VARINT:
            _, at = _varint(raw, at)
        elif kind == _FIXED64:
            at += 8
        elif kind == _FIXED32:
            at += 4
        elif kind > _FIXED32:
            raise _Broken
    return fields


def _varint(raw: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = raw[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
        shift += 7
        if shift > 63:
            raise _Broken
