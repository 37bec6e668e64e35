"""How the vectors of semantic entries are written as bytes.

A vector's bytes stand before its record, so that a partition is read into an index without parsing anything.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from google.protobuf.message import DecodeError

from askonce_server.core.entries import SemanticRow
from askonce_server.ports import PartitionState
from askonce_server.storage.v1.record_pb2 import PartitionRecord, VectorRecord
from askonce_server.store.layout import ID_BYTES, SCHEMA
from askonce_server.store.seals import Readable, seal

VECTOR_START: Final = 12
"""Where the vector begins in its row's value."""
_PREFIX: Final = Struct(">III")
"""Seal, bytes of the vector, bytes of the record."""
_LENGTHS: Final = Struct(">II")
_SEAL: Final = Struct(">I")
_FLOAT_BYTES: Final = 4
_MAX_ROW_BYTES: Final = 1 << 18
"""No row is longer: 16,384 dimensions and 190 kB of text."""


class VectorRow(NamedTuple):
    """A vector's row."""

    entry_id: bytes
    row: SemanticRow


def check_vector(semantic: SemanticRow) -> None:
    """See that `semantic` can be filed. Raises ValueError."""
    size = len(semantic.vector)
    if size == 0 or size % _FLOAT_BYTES:
        raise ValueError(f"a vector of {size} bytes holds no float32 numbers")
    values = np.frombuffer(semantic.vector, dtype="<f4")
    if not np.isfinite(values).all():
        raise ValueError("a vector holds a number that is not finite")
    if not values.any():
        raise ValueError("a vector is zero: it has no direction")
    if row_bytes(semantic) > _MAX_ROW_BYTES:
        raise ValueError(f"a vector and its text take more than {_MAX_ROW_BYTES} bytes")


def row_bytes(semantic: SemanticRow) -> int:
    """Return how long the value of a vector's row is, at most."""
    strings = (semantic.features, semantic.text.encode(), semantic.group)
    return VECTOR_START + len(semantic.vector) + ID_BYTES + sum(map(len, strings)) + 32


def encode_vector(row: bytes, entry_id: bytes, semantic: SemanticRow) -> bytes:
    """Return the value of the vector's row with key `row`."""
    record = VectorRecord(
        schema=SCHEMA,
        entry_id=entry_id,
        features=semantic.features,
        text=semantic.text,
        answer_group=semantic.group,
    ).SerializeToString()
    checked = b"".join((_LENGTHS.pack(len(semantic.vector), len(record)), semantic.vector, record))
    return _SEAL.pack(crc32(checked, crc32(row))) + checked


def vector_bytes(row: Readable, value: Readable) -> int:
    """Return how many bytes of `value` are the vector's, 0 when the row is damaged.

    The lengths are compared before the rest is touched: a damaged length may point outside the file.
    """
    try:
        expected, vector, record = _PREFIX.unpack_from(value)
    except error:
        return 0
    if len(value) != VECTOR_START + vector + record or len(value) > _MAX_ROW_BYTES:
        return 0
    return vector if crc32(value[_SEAL.size :], crc32(row)) == expected else 0


def decode_vector(row: bytes, value: Readable) -> VectorRow | None:
    """Return what a vector's row holds, or None when it is damaged or of another layout."""
    size = vector_bytes(row, value)
    if size == 0:
        return None
    end = VECTOR_START + size
    try:
        record = VectorRecord.FromString(bytes(value[end:]))
    except DecodeError:
        return None
    if record.schema != SCHEMA:
        return None
    vector = bytes(value[VECTOR_START:end])
    return VectorRow(record.entry_id, SemanticRow(vector, record.features, record.text, record.answer_group))


def encode_partition(partition: bytes, state: PartitionState, scope_key: bytes) -> bytes:
    """Return the value of a partition's row."""
    record = PartitionRecord(schema=SCHEMA, sequence=state.sequence, rows=state.rows, scope_key=scope_key)
    return seal(partition, record.SerializeToString())
