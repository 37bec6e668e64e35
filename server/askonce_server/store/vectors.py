"""How the vectors of semantic entries are written as bytes.

A vector's bytes stand before its record, so that a partition is read into an index without parsing anything.
Of an encrypted row nothing stands before the record, and the record shows the entry's id alone.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final, NamedTuple
from zlib import crc32

import numpy as np
from google.protobuf.message import DecodeError

from askonce_server.core.entries import SemanticRow
from askonce_server.ports import PartitionState
from askonce_server.storage.v1.record_pb2 import PartitionRecord, SecretVector, VectorRecord
from askonce_server.store.keyring import SEALED_BYTES, Keyring, Sealed
from askonce_server.store.layout import ID_BYTES, SCHEMA
from askonce_server.store.seals import Readable, seal

VECTOR_START: Final = 12
"""Where the vector begins in its row's value."""
_PREFIX: Final = Struct(">III")
"""Seal, bytes of the vector, bytes of the record."""
_LENGTHS: Final = Struct(">II")
_SEAL: Final = Struct(">I")
_FLOAT_BYTES: Final = 4
_BOUND_VECTOR: Final = b"askonce/1/vector\0"
"""What an encrypted vector is bound to: this, its row's key and its entry's id."""
_RECORD_ROOM: Final = 32 + SEALED_BYTES + 48
"""What a record has besides its strings, encrypted or not."""
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
    return VECTOR_START + len(semantic.vector) + ID_BYTES + sum(map(len, strings)) + _RECORD_ROOM


def encode_vector(row: bytes, entry_id: bytes, semantic: SemanticRow, keys: Keyring) -> bytes:
    """Return the value of the vector's row with key `row`, encrypted where `keys` has a first one."""
    record = VectorRecord(schema=SCHEMA, entry_id=entry_id)
    vector = b""
    if keys.first is None:
        vector = semantic.vector
        record.features, record.text, record.answer_group = semantic.features, semantic.text, semantic.group
    else:
        secret = SecretVector(
            vector=semantic.vector,
            features=semantic.features,
            text=semantic.text,
            answer_group=semantic.group,
        )
        record.key_id = keys.first
        record.sealed = keys.seal(secret.SerializeToString(), _BOUND_VECTOR + row + entry_id)
    told = record.SerializeToString()
    checked = b"".join((_LENGTHS.pack(len(vector), len(told)), vector, told))
    return _SEAL.pack(crc32(checked, crc32(row))) + checked


def vector_of(row: Readable, value: memoryview, keys: Keyring) -> memoryview | None:
    """Return the bytes of the vector in a row alone, or None when the row is damaged. Raises KeyMissing."""
    end = _record_start(row, value)
    if end != VECTOR_START:
        return value[VECTOR_START:end] if end else None
    decoded = decode_vector(bytes(row), value, keys)
    return None if decoded is None else memoryview(decoded.row.vector)


def decode_vector(row: bytes, value: Readable, keys: Keyring) -> VectorRow | None:
    """Return what a vector's row holds, or None when it is damaged or of another layout.

    Raises KeyMissing.
    """
    record = decode_vector_record(row, value)
    if record is None:
        return None
    if record.key_id:
        semantic = _opened(row, record, keys)
    else:
        vector = bytes(value[VECTOR_START : _record_start(row, value)])
        semantic = SemanticRow(vector, record.features, record.text, record.answer_group)
    return None if semantic is None or not semantic.vector else VectorRow(record.entry_id, semantic)


def decode_vector_record(row: bytes, value: Readable) -> VectorRecord | None:
    """Return the record in a vector's row as it stands there, or None when the row is damaged."""
    end = _record_start(row, value)
    if end == 0:
        return None
    try:
        record = VectorRecord.FromString(bytes(value[end:]))
    except DecodeError:
        return None
    return record if record.schema == SCHEMA else None


def _opened(row: bytes, record: VectorRecord, keys: Keyring) -> SemanticRow | None:
    sealed = Sealed(record.key_id, record.sealed)
    plain = keys.open(sealed, _BOUND_VECTOR + row + record.entry_id)
    if plain is None:
        return None
    secret = SecretVector.FromString(plain)
    return SemanticRow(secret.vector, secret.features, secret.text, secret.answer_group)


def _record_start(row: Readable, value: Readable) -> int:
    """Return where the record begins in `value`, behind the vector if one is there; 0 when it is damaged.

    The lengths are compared before the rest is touched: a damaged length may point outside the file.
    """
    try:
        expected, vector, record = _PREFIX.unpack_from(value)
    except error:
        return 0
    if len(value) != VECTOR_START + vector + record or len(value) > _MAX_ROW_BYTES:
        return 0
    return VECTOR_START + vector if crc32(value[_SEAL.size :], crc32(row)) == expected else 0


def encode_partition(partition: bytes, state: PartitionState, scope_key: bytes) -> bytes:
    """Return the value of a partition's row."""
    record = PartitionRecord(schema=SCHEMA, sequence=state.sequence, rows=state.rows, scope_key=scope_key)
    return seal(partition, record.SerializeToString())
