"""The lines of an export: JSON objects, one a line, each with a checksum of its own.

| type       | what it says                                                                             |
|------------|------------------------------------------------------------------------------------------|
| export     | the first line: layout, key schema, when, how many Stores, the key of guard features       |
| generation | a generation that was raised: its name, its value and when                                 |
| store      | one Store: the answer, its body, and under which keys and generations it was filed         |
| end        | the last line, without which the file was cut short: how many Stores there were            |

Ids, names and digests are hexadecimal, bodies, vectors and features base64, times milliseconds since 1970. A
line's `sha256` is that of its other members as JSON without white space, their names sorted.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson

from askonce_server.core.entries import (
    Answer,
    Body,
    EntryKey,
    Generations,
    SemanticRow,
    Usage,
    Write,
)
from askonce_server.core.reasons import Matcher
from askonce_server.store.layout import GENERATION_BYTES, ID_BYTES

Line = Mapping[str, Any]
_CHECKSUM: Final = "sha256"
_OUTLINE_BYTES: Final = 4096
_FAULTS: Final = (KeyError, TypeError, ValueError, AttributeError)
"""What members that are missing or of another kind raise."""


class Raised(NamedTuple):
    """A generation that had been raised."""

    name: bytes
    value: bytes
    raised_ms: int


class DamagedLine(Exception):
    """A line is not what was written; the message says what is wrong with it, and quotes nothing of it."""


def encode(kind: str, **members: Any) -> bytes:
    """Return a line of type `kind`. Members that are None are left out."""
    line = {"type": kind, **{name: value for name, value in members.items() if value is not None}}
    return orjson.dumps({**line, _CHECKSUM: _checksum(line)}) + b"\n"


def decode(line: bytes) -> dict[str, Any]:
    """Return the members of a line. Raises DamagedLine."""
    try:
        members = orjson.loads(line)
    except orjson.JSONDecodeError:
        raise DamagedLine("it is not a JSON document, or was cut short") from None
    if not isinstance(members, dict) or not isinstance(members.get("type"), str):
        raise DamagedLine("it is not a line of an export")
    if members.pop(_CHECKSUM, None) != _checksum(members):
        raise DamagedLine("its checksum does not match: something in it was changed")
    return members


def encode_generation(raised: Raised) -> bytes:
    """Return the line of a generation."""
    value = raised.value.hex()
    return encode("generation", name=raised.name.hex(), value=value, raised_ms=raised.raised_ms)


def decode_generation(line: Line) -> Raised:
    """Return the generation that a line describes. Raises DamagedLine."""
    try:
        raised = Raised(bytes.fromhex(line["name"]), bytes.fromhex(line["value"]), _number(line["raised_ms"]))
    except _FAULTS as fault:
        raise DamagedLine(f"it describes no generation: {type(fault).__name__}") from None
    if (len(raised.name), len(raised.value)) != (ID_BYTES, GENERATION_BYTES):
        raise DamagedLine("it describes no generation: a length is another")
    return raised


def encode_store(write: Write) -> bytes:
    """Return the line of one Store."""
    answer, semantic = write.answer, write.semantic
    return encode(
        "store",
        rule_id=answer.rule_id,
        start_ms=answer.start_ms,
        store_ms=answer.store_ms,
        expire_ms=answer.expire_ms,
        stale_ms=write.stale_ms,
        stream=answer.stream,
        contains_tool_calls=answer.contains_tool_calls,
        usage=None if answer.usage is None else answer.usage._asdict(),
        cost_usd=answer.cost_usd,
        source_request_id=answer.source_request_id,
        content_type=write.body.content_type,
        body=_base64(write.body.data),
        scope_root=write.scope_root.hex(),
        generations=[
            {"name": name.hex(), "value": value.hex()}
            for name, value in zip(write.generations.names, write.generations.values, strict=True)
        ],
        keys=[_key(key) for key in write.keys],
        outline=write.outline.hex(),
        semantic=None
        if semantic is None
        else {
            "vector": _base64(semantic.vector),
            "features": _base64(semantic.features),
            "text": semantic.text,
            "group": semantic.group.hex(),
        },
    )


def decode_store(line: Line) -> Write:
    """Return the Store that a line describes. Raises DamagedLine."""
    try:
        return _write(line)
    except _FAULTS as fault:
        raise DamagedLine(f"it describes no Store: {type(fault).__name__}") from None


def _write(line: Line) -> Write:
    usage, semantic, cost_usd = line.get("usage"), line.get("semantic"), line.get("cost_usd")
    generations = line["generations"]
    return Write(
        scope_root=bytes.fromhex(line["scope_root"]),
        generations=Generations(
            tuple(bytes.fromhex(one["name"]) for one in generations),
            tuple(bytes.fromhex(one["value"]) for one in generations),
        ),
        keys=tuple(_entry_key(key) for key in line["keys"]),
        answer=Answer(
            rule_id=_text(line["rule_id"]),
            start_ms=_number(line["start_ms"]),
            store_ms=_number(line["store_ms"]),
            expire_ms=_number(line["expire_ms"]),
            stream=line["stream"] is True,
            contains_tool_calls=line["contains_tool_calls"] is True,
            usage=None
            if usage is None
            else Usage(_number(usage["input_tokens"]), _number(usage["output_tokens"])),
            cost_usd=None if cost_usd is None else float(cost_usd),
            source_request_id=_text(line["source_request_id"]),
        ),
        body=Body(_bytes(line["body"]), _text(line["content_type"])),
        semantic=None
        if semantic is None
        else SemanticRow(
            _bytes(semantic["vector"]),
            _bytes(semantic["features"]),
            _text(semantic["text"]),
            bytes.fromhex(semantic["group"]),
        ),
        stale_ms=_number(line["stale_ms"]),
        outline=_outline(line.get("outline", "")),
    )


def _outline(text: str) -> bytes:
    outline = bytes.fromhex(text)
    if len(outline) > _OUTLINE_BYTES:
        raise ValueError
    return outline


def _key(key: EntryKey) -> dict[str, str]:
    ids = {"scope_key": key.scope_key, "fingerprint": key.fingerprint, "entry_id": key.entry_id}
    if key.partition:
        ids["partition"] = key.partition
    return {"matcher": key.matcher.name.lower(), **{name: value.hex() for name, value in ids.items()}}


def _entry_key(key: Mapping[str, str]) -> EntryKey:
    return EntryKey(
        Matcher[key["matcher"].upper()],
        bytes.fromhex(key["scope_key"]),
        bytes.fromhex(key["fingerprint"]),
        bytes.fromhex(key["entry_id"]),
        bytes.fromhex(key.get("partition", "")),
    )


def _number(value: object) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 63:
        raise ValueError
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _bytes(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _checksum(line: Line) -> str:
    return hashlib.sha256(orjson.dumps(line, option=orjson.OPT_SORT_KEYS)).hexdigest()
