"""Single fields of a message: put a value in, or name the field that cannot take it.

Raises InvalidRequest, whose text never quotes a value: it may be a customer's.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Iterable, Mapping
from datetime import timedelta
from typing import Any

from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message

from askonce.descriptor import Json
from askonce.errors import InvalidRequest, Violation
from askonce.request import Seconds

_NANOS = 1_000_000_000
FAULTS = (TypeError, ValueError, OverflowError, AttributeError, RecursionError, struct.error)
"""What protobuf, json and struct raise for values that they cannot take."""


def seconds(value: Seconds, path: str) -> float:
    """Return a length of time in seconds."""
    number = value.total_seconds() if isinstance(value, timedelta) else value
    if not isinstance(number, int | float) or not math.isfinite(number):
        raise wrong(path, value, "must be a finite number of seconds or a timedelta")
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
    except FAULTS:
        raise wrong(path, value, "is out of range") from None


def json_document(value: Json, path: str) -> bytes:
    """Serialize a JSON value. What JSON cannot say (NaN, a lone surrogate) is for the sidecar to judge."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    try:
        return json.dumps(value, separators=(",", ":"), default=_plain).encode()
    except FAULTS:
        raise wrong(f"descriptor.{path}", value, "is not a JSON value") from None


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def put_span(message: Any, name: str, value: Seconds | None, path: str) -> None:
    """Put a length of time in; None leaves it absent."""
    if value is not None:
        getattr(message, name).CopyFrom(duration(value, path))


def put(message: Message, name: str, value: object, path: str) -> None:
    """Put a value in, a default one too."""
    try:
        setattr(message, name, value)
    except FAULTS:
        raise wrong(path, value, "has the wrong type, is out of range or is not valid text") from None


def put_said(message: Message, names: Iterable[str], given: object, path: str) -> None:
    """Put the fields that say something: most of them are at their default in most requests."""
    for name in names:
        value = getattr(given, name)
        if value:
            put(message, name, value, path + name)


def extend(message: Message, name: str, values: Iterable[object], path: str) -> None:
    """Put a sequence in."""
    # A text is a sequence of texts too: finish_reasons="stop" would be sent as four reasons.
    if not values:
        return
    if isinstance(values, str | bytes):
        raise wrong(path, values, "must be a sequence")
    try:
        getattr(message, name).extend(values)
    except FAULTS:
        raise wrong(path, values, "has an item of the wrong type") from None


def put_map(target: Any, values: Mapping[str, str], path: str) -> None:
    """Put a mapping of text to text in."""
    if not values:
        return
    try:
        target.update(values)
    except FAULTS:
        raise wrong(path, values, "must map text to text") from None


def wrong(path: str, value: object, description: str) -> InvalidRequest:
    """Name the field and the type of its value, but never the value: it may be a customer's text."""
    violation = Violation(path, f"{description} (got {type(value).__name__})")
    return InvalidRequest("the request cannot be encoded", violations=(violation,))
