"""Features as bytes, to be stored beside a vector."""

from __future__ import annotations

import struct
from typing import Any

from askonce_server.core.guards.features import SCHEMA, GuardFeatures, Tokens

_HEAD = struct.Struct("<BIHB")
"""Schema, length, negations, flags."""
_FLAGS = ("passive", "person", "sampled", "inverted", "acting")
_DIGESTS = ("bag", "sequence", "phrases", "heads", "rest", "shape")
_COUNT = struct.Struct("<H")
_MAX_COUNT = 0xFFFF
_ROWS = tuple(
    name
    for name in GuardFeatures._fields
    if name not in {"schema", "length", "negations", "names", *_FLAGS, *_DIGESTS}
)


def to_bytes(features: GuardFeatures) -> bytes:
    """Write features; a row that is empty takes one bit, a token eight bytes."""
    flags = sum(getattr(features, name) << bit for bit, name in enumerate(_FLAGS))
    rows = [getattr(features, name) for name in _ROWS]
    parts = [
        _HEAD.pack(
            features.schema,
            min(features.length, 0xFFFFFFFF),
            min(features.negations, _MAX_COUNT),
            flags,
        ),
        struct.pack(f"<{len(_DIGESTS)}Q", *(getattr(features, name) for name in _DIGESTS)),
        sum(bool(row) << bit for bit, row in enumerate([*rows, features.names])).to_bytes(4, "little"),
    ]
    parts += [_row(row) for row in rows if row]
    if features.names:
        parts += [_COUNT.pack(len(features.names)), *map(_row, features.names)]
    return b"".join(parts)


def from_bytes(data: bytes) -> GuardFeatures:
    """Read features; those of another schema come back empty. Raises ValueError where the bytes are none."""
    try:
        schema, length, negations, flags = _HEAD.unpack_from(data)
        if schema != SCHEMA:
            return GuardFeatures(schema=schema)
        at = _HEAD.size
        digests = struct.unpack_from(f"<{len(_DIGESTS)}Q", data, at)
        at += 8 * len(_DIGESTS)
        present = int.from_bytes(data[at : at + 4], "little")
        at += 4
        rows: dict[str, Tokens] = {}
        for bit, name in enumerate(_ROWS):
            if present >> bit & 1:
                rows[name], at = _read_row(data, at)
        names: list[Tokens] = []
        if present >> len(_ROWS) & 1:
            (count,) = _COUNT.unpack_from(data, at)
            at += _COUNT.size
            for _ in range(count):
                row, at = _read_row(data, at)
                names.append(row)
    except struct.error as fault:
        raise ValueError(f"not guard features: {fault}") from fault
    if at != len(data):
        raise ValueError("not guard features: bytes are left over")
    values: dict[str, Any] = {
        **{name: bool(flags >> bit & 1) for bit, name in enumerate(_FLAGS)},
        **dict(zip(_DIGESTS, digests, strict=True)),
        **rows,
    }
    return GuardFeatures(schema=schema, length=length, negations=negations, names=tuple(names), **values)


def _row(tokens: Tokens) -> bytes:
    return struct.pack(f"<H{len(tokens)}Q", len(tokens), *tokens)


def _read_row(data: bytes, at: int) -> tuple[Tokens, int]:
    (count,) = _COUNT.unpack_from(data, at)
    at += _COUNT.size
    return struct.unpack_from(f"<{count}Q", data, at), at + 8 * count
