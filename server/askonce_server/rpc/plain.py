"""Messages as plain values for JSON: numbers as numbers, durations in seconds, times in milliseconds."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.protobuf.timestamp_pb2 import Timestamp


def plain(message: Message) -> Any:
    """Return every field of `message` by its name in the contract; None where it is absent.

    Values of enums are their names. Bytes are left out: no answer for people has any.
    """
    if isinstance(message, Duration):
        return message.seconds + message.nanos / 1e9
    if isinstance(message, Timestamp):
        return message.ToMilliseconds()
    return {
        field.name: _field(message, field)
        for field in message.DESCRIPTOR.fields
        if field.type != FieldDescriptor.TYPE_BYTES
    }


def _field(message: Message, field: Any) -> Any:
    value = getattr(message, field.name)
    if field.is_repeated:
        if field.message_type is not None and field.message_type.GetOptions().map_entry:
            return dict(value)
        return [_one(one, field) for one in value]
    if field.has_presence and not message.HasField(field.name):
        return None
    return _one(value, field)


def _one(value: Any, field: Any) -> Any:
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        return value if known is None else known.name
    return plain(value) if field.message_type is not None else value
