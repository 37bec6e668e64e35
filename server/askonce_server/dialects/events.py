"""Recorded server-sent events (WHATWG HTML, section 9.2), read from bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import orjson

from askonce_server.dialects.bodies import NotUnderstood

DONE: Final = object()
"""Stands for the data `[DONE]`, which is no JSON."""

_FIELD = re.compile(rb"^(data|event):(.*)", re.MULTILINE)
_DATA = re.compile(rb"(?:^|[\r\n])data:[ \t]*[^ \t\r\n]")
_STARTS = (b"data:", b"event:", b"id:", b"retry:", b":")


def looks_like_events(body: bytes, content_type: str) -> bool:
    """Whether `body`, without white space at its ends, is a stream of events. It outweighs `content_type`."""
    if body.startswith(_STARTS):
        return True
    return content_type.partition(";")[0].strip().lower() == "text/event-stream" and body[:1] not in b'{["'


def has_data(body: bytes) -> bool:
    """Whether any event of `body` has data, be it cut; comments and the names of events are none."""
    return _DATA.search(body) is not None


def chunks(body: bytes) -> Iterator[tuple[str, Any]]:
    """Yield the name and the parsed data of every event of `body` that has data.

    Ends with the last event that came whole: one that a broken connection cut is left out. Raises
    NotUnderstood at data that is neither JSON nor `[DONE]`.
    """
    if b"\r" in body:
        body = body.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    blocks = body.split(b"\n\n")
    last = len(blocks) - 1
    for position, block in enumerate(blocks):
        name, data = _fields(block)
        if not data:
            continue
        if data == b"[DONE]":
            yield name, DONE
            continue
        try:
            value = orjson.loads(data)
        except orjson.JSONDecodeError as error:
            if position == last:
                return
            raise NotUnderstood("an event is not JSON") from error
        yield name, value


def _fields(block: bytes) -> tuple[str, bytes]:
    """Return the event name and the joined data lines of one block; comments and other fields are dropped."""
    if b"\n" not in block:
        return "", block[5:].strip() if block.startswith(b"data:") else b""
    name, data = b"", []
    for field, value in _FIELD.findall(block):
        if field == b"data":
            data.append(value)
        else:
            name = value.strip()
    return name.decode("utf-8", "replace"), b"\n".join(data).strip()
