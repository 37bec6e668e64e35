"""How rows are written as bytes."""

from __future__ import annotations

import hashlib
from struct import Struct, error
from typing import Final, NamedTuple, TypeVar
from zlib import crc32

from google.protobuf.message import DecodeError

from askonce_server.core.entries import Answer, Body, Entry, EntryKey, Usage
from askonce_server.core.reasons import Matcher
from askonce_server.storage.v1.record_pb2 import (
    BodyHeader,
    EntryRecord,
    PartitionRecord,
    ScopeRecord,
    StoreRecord,
)
from askonce_server.store.keyring import SEALED_BYTES, Keyring, Sealed
from askonce_server.store.layout import GENERATION_BYTES, ID_BYTES, SCHEMA, TIME_BYTES, expiry_row
from askonce_server.store.prepared import Prepared
from askonce_server.store.seals import MAX_RECORD_BYTES, Damaged, Readable, seal, unseal

Record = TypeVar("Record", EntryRecord, ScopeRecord, StoreRecord, PartitionRecord)
_BODY_PREFIX: Final = Struct(">II")
_BOUND_BODY: Final = b"askonce/1/body\0"
"""What an encrypted body is bound to: this, its row's key and its header."""


class BodyHead(NamedTuple):
    """What stands before a body."""

    header: BodyHeader
    start: int
    """Where the body begins in its row's value, or what it is encrypted as."""
    size: int
    """The bytes of the body itself."""


def encode_entry(row: bytes, key: EntryKey, prepared: Prepared, *, store_id: int, sequence: int) -> bytes:
    """Return the value of the entry's row. `sequence` is its vector's, 0 when it has none."""
    write, answer = prepared.write, prepared.write.answer
    record = EntryRecord(
        schema=SCHEMA,
        matcher=key.matcher,
        fingerprint=key.fingerprint,
        scope_root=write.scope_root,
        store_id=store_id,
        start_ms=answer.start_ms,
        store_ms=answer.store_ms,
        expire_ms=answer.expire_ms,
        rule_id=answer.rule_id,
        source_request_id=answer.source_request_id,
        stream=answer.stream,
        contains_tool_calls=answer.contains_tool_calls,
        body_bytes=len(write.body.data),
        stale_ms=write.stale_ms,
        scope_key=key.scope_key if key.partition else b"",
        sequence=sequence,
    )
    if answer.usage is not None:
        record.has_usage = True
        record.input_tokens = answer.usage.input_tokens
        record.output_tokens = answer.usage.output_tokens
    if answer.cost_usd is not None:
        record.cost_usd = answer.cost_usd
    return seal(row, record.SerializeToString())


def decode_record(kind: type[Record], row: Readable, value: Readable | None) -> Record | None:
    """Return the record of `kind` in a row, or None when it is absent, damaged or of another layout."""
    payload = None if value is None else unseal(row, value)
    if payload is None:
        return None
    try:
        record = kind.FromString(payload)
    except DecodeError:
        return None
    return record if record.schema == SCHEMA else None


def entry_of(key: EntryKey, record: EntryRecord) -> Entry | None:
    """Return the entry that `record` describes, or None when it was filed under another fingerprint."""
    if record.fingerprint != key.fingerprint or record.matcher != key.matcher:
        return None
    answer = Answer(
        rule_id=record.rule_id,
        start_ms=record.start_ms,
        store_ms=record.store_ms,
        expire_ms=record.expire_ms,
        stream=record.stream,
        contains_tool_calls=record.contains_tool_calls,
        usage=Usage(record.input_tokens, record.output_tokens) if record.has_usage else None,
        cost_usd=record.cost_usd if record.HasField("cost_usd") else None,
        source_request_id=record.source_request_id,
    )
    return Entry(key, answer, record.scope_root, record.store_id, record.body_bytes)


def key_of(row: bytes, record: EntryRecord) -> EntryKey:
    """Return the key of the entry with `record` at `row`."""
    prefix, entry_id, matcher = row[:ID_BYTES], row[ID_BYTES:], Matcher(record.matcher)
    partition = prefix if matcher is Matcher.SEMANTIC else b""
    return EntryKey(matcher, record.scope_key or prefix, record.fingerprint, entry_id, partition)


def expiry_of(row: bytes, record: EntryRecord) -> bytes:
    """Return the key of the expiry row of the entry with `record` at `row`."""
    return expiry_row(record.expire_ms + record.stale_ms, row)


def encode_body(row: bytes, body: Body, keys: Keyring, *, content_sha256: bytes = b"") -> bytes:
    """Return the value of a body's row, encrypted where `keys` has a first one.

    A plain body is kept with its hash, which is taken here where it was not before.
    """
    header = BodyHeader(schema=SCHEMA, content_type=body.content_type)
    if keys.first is None:
        header.content_sha256 = content_sha256 or hashlib.sha256(body.data).digest()
        head, data = header.SerializeToString(), body.data
    else:
        header.key_id = keys.first
        head = header.SerializeToString()
        data = keys.seal(body.data, _BOUND_BODY + row + head)
    return b"".join((_BODY_PREFIX.pack(len(head), crc32(head, crc32(row))), head, data))


def decode_header(row: bytes, value: Readable) -> BodyHead | None:
    """Return what stands before a body, or None when it is damaged or of another layout."""
    try:
        size, expected = _BODY_PREFIX.unpack_from(value)
    except error:
        return None
    start = _BODY_PREFIX.size + size
    if start > len(value) or size > MAX_RECORD_BYTES:
        return None
    head = bytes(value[_BODY_PREFIX.size : start])
    if crc32(head, crc32(row)) != expected:
        return None
    try:
        header = BodyHeader.FromString(head)
    except DecodeError:
        return None
    size = len(value) - start - (SEALED_BYTES if header.key_id else 0)
    return BodyHead(header, start, size) if header.schema == SCHEMA else None


def decode_body(row: bytes, value: Readable, *, body_bytes: int, keys: Keyring) -> Body | None:
    """Return the body of `body_bytes` in a row, or None when anything about it is damaged. Raises KeyMissing.

    The length is compared before the bytes are touched: a damaged length may point outside the file.
    """
    found = decode_header(row, value)
    if found is None or found.size != body_bytes:
        return None
    header, start, _ = found
    if header.key_id:
        head = bytes(value[_BODY_PREFIX.size : start])
        opened = keys.open(Sealed(header.key_id, value[start:]), _BOUND_BODY + row + head)
        return None if opened is None else Body(opened, header.content_type)
    data = bytes(value[start:])
    if hashlib.sha256(data).digest() != header.content_sha256:
        return None
    return Body(data, header.content_type)


def encode_generation(value: bytes, at_ms: int) -> bytes:
    """Return the value of a generation's row."""
    return value + at_ms.to_bytes(TIME_BYTES, "big")


def decode_generation(value: Readable) -> tuple[bytes, int]:
    """Return the value in a generation's row, and when it was last raised.

    Raises Damaged: without it nothing older can be told apart.
    """
    if len(value) != GENERATION_BYTES + TIME_BYTES:
        raise Damaged("a generation's row is damaged")
    return bytes(value[:GENERATION_BYTES]), int.from_bytes(value[GENERATION_BYTES:], "big")
