"""Whether all rows of a store agree, and what each that does not should be.

An entry is sound when its record, its body and its vector are. Every other row follows from the sound
entries, so that each finding is mended by writing or removing one row. Answers are only ever lost by it, and
only those that could not be served any more. A row under a key that is not here is named, counts as sound and
is left alone: that key may come back.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from askonce_server.ports import PartitionState
from askonce_server.storage.v1.record_pb2 import EntryRecord, PartitionRecord, ScopeRecord, StoreRecord
from askonce_server.store.finality import TOMBSTONE_MS
from askonce_server.store.keyring import KeyMissing, Keyring
from askonce_server.store.layout import (
    ID_BYTES,
    META_NEXT_SEQUENCE,
    META_NEXT_STORE_ID,
    SCHEMA,
    TIME_BYTES,
    Databases,
    Transaction,
    body_row,
    expiry_row,
    is_tombstone,
    split_expiry_row,
    store_row,
    vector_row,
)
from askonce_server.store.records import decode_body, decode_header, decode_record, expiry_of
from askonce_server.store.seals import seal
from askonce_server.store.vectors import decode_vector, decode_vector_record, encode_partition


@dataclass(frozen=True, slots=True)
class Finding:
    """A row that does not agree with the others."""

    database: str
    row: bytes
    text: str
    """What is wrong, without anything of the content."""
    value: bytes | None
    """What the row should hold; None: it should not be there."""
    mendable: bool = True
    """Whether to write or remove the row mends it."""

    def __str__(self) -> str:
        return f"{self.database} {self.row.hex()}: {self.text}"


@dataclass(slots=True)
class _Scope:
    entries: int = 0
    bytes: int = 0


@dataclass(slots=True)
class _Partition:
    scope_key: bytes = b""
    rows: int = 0
    newest: int = 0


@dataclass(slots=True)
class _Expected:
    """What the sound entries make of the other rows."""

    bodies: dict[bytes, int] = field(default_factory=dict)
    """The sound bodies: their rows and lengths."""
    stores: dict[int, StoreRecord] = field(default_factory=dict)
    scopes: defaultdict[bytes, _Scope] = field(default_factory=lambda: defaultdict(_Scope))
    partitions: defaultdict[bytes, _Partition] = field(default_factory=lambda: defaultdict(_Partition))
    remove_ms: dict[bytes, int] = field(default_factory=dict)
    """Of each sound entry, by its row."""
    sequences: dict[bytes, int] = field(default_factory=dict)
    """Of each sound semantic entry, by its row."""


class Verification:
    """One pass over every row that a transaction sees. Keeps some hundred bytes of memory for each entry."""

    def __init__(self, txn: Transaction, databases: Databases, keys: Keyring) -> None:
        self._txn = txn
        self._databases = databases
        self._keys = keys
        self._expected = _Expected()
        self._buried: dict[bytes, int] = {}
        """When each tombstone is to be removed."""

    def findings(self) -> Iterator[Finding]:
        """Go through every row. Raises lmdb.Error when the file itself is damaged."""
        yield from self._bodies()
        yield from self._entries()
        yield from self._unused_bodies()
        yield from self._stores()
        yield from self._vectors()
        yield from self._partitions()
        yield from self._scopes()
        yield from self._tombstones()
        yield from self._expiry()
        yield from self._ids()
        yield from self._counters()

    def _walk(self, name: str) -> Iterator[tuple[bytes, memoryview]]:
        return self._databases.walk(self._txn, name)

    def _get(self, name: str, row: bytes) -> memoryview | None:
        return self._txn.get(row, db=getattr(self._databases, name))

    def _bodies(self) -> Iterator[Finding]:
        for row, value in self._walk("bodies"):
            head = decode_header(row, value)
            if head is not None and self._is_locked(head.header.key_id):
                yield _key_missing("bodies", row, head.header.key_id)
            elif head is None or not self._has_body(row, value, head.size):
                yield Finding("bodies", row, "the body is damaged", None)
                continue
            self._expected.bodies[row] = head.size

    def _has_body(self, row: bytes, value: memoryview, size: int) -> bool:
        return decode_body(row, value, body_bytes=size, keys=self._keys) is not None

    def _is_locked(self, key_id: bytes) -> bool:
        return bool(key_id) and key_id not in self._keys

    def _entries(self) -> Iterator[Finding]:
        for row, value in self._walk("entries"):
            record = decode_record(EntryRecord, row, value)
            problem = "the entry is damaged" if record is None else self._problem(row, record)
            if record is None or problem is not None:
                yield Finding("entries", row, problem or "", None)
                continue
            self._expect(row, record)
            if self._get("expiry", expiry := expiry_of(row, record)) is None:
                yield Finding("expiry", expiry, "the entry's expiry is missing", b"")
            prefix = self._get("ids", row[ID_BYTES:])
            if prefix is None or bytes(prefix) != row[:ID_BYTES]:
                yield Finding("ids", row[ID_BYTES:], "the entry is not found by its id", row[:ID_BYTES])

    def _problem(self, row: bytes, record: EntryRecord) -> str | None:
        """Say why an entry whose record is sound cannot be served."""
        if self._expected.bodies.get(body_row(record.scope_root, record.store_id)) != record.body_bytes:
            return "the entry's body is gone or damaged"
        if not record.scope_key:
            return None
        place = vector_row(row[:ID_BYTES], record.sequence)
        value = self._get("vectors", place)
        if value is None or self._entry_of(place, value) != row[ID_BYTES:]:
            return "the entry's vector is gone or damaged"
        return None

    def _entry_of(self, row: bytes, value: memoryview) -> bytes | None:
        """Return the id of the entry of a vector, or None when the vector is damaged."""
        record = decode_vector_record(row, value)
        if record is None:
            return None
        sound = self._is_locked(record.key_id) or decode_vector(row, value, self._keys) is not None
        return record.entry_id if sound else None

    def _expect(self, row: bytes, record: EntryRecord) -> None:
        expected = self._expected
        expected.remove_ms[row] = record.expire_ms + record.stale_ms
        store = expected.stores.get(record.store_id)
        if store is None:
            store = StoreRecord(schema=SCHEMA, scope_root=record.scope_root)
            expected.stores[record.store_id] = store
        store.entries.append(row)
        scope = expected.scopes[record.scope_key or row[:ID_BYTES]]
        scope.entries += 1
        scope.bytes += record.body_bytes
        if record.scope_key:
            expected.sequences[row] = record.sequence
            partition = expected.partitions[row[:ID_BYTES]]
            partition.scope_key = record.scope_key
            partition.rows += 1
            partition.newest = max(partition.newest, record.sequence)

    def _unused_bodies(self) -> Iterator[Finding]:
        used = {body_row(store.scope_root, number) for number, store in self._expected.stores.items()}
        for row in self._expected.bodies.keys() - used:
            yield Finding("bodies", row, "no entry refers to the body", None)

    def _stores(self) -> Iterator[Finding]:
        missing = dict(self._expected.stores)
        for row, value in self._walk("stores"):
            record = decode_record(StoreRecord, row, value)
            wanted = missing.pop(int.from_bytes(row, "big"), None)
            if wanted is None:
                yield Finding("stores", row, "the Store has no entry", None)
            elif record is None:
                yield Finding("stores", row, "the Store's record is damaged", _sealed(row, wanted))
            elif record.scope_root != wanted.scope_root or set(record.entries) != set(wanted.entries):
                text = f"the Store lists {len(record.entries)} entries, and has {len(wanted.entries)}"
                yield Finding("stores", row, text, _sealed(row, wanted))
        for number, wanted in missing.items():
            row = store_row(number)
            yield Finding("stores", row, "the Store's record is missing", _sealed(row, wanted))

    def _vectors(self) -> Iterator[Finding]:
        for row, value in self._walk("vectors"):
            entry_id, record = self._entry_of(row, value), decode_vector_record(row, value)
            sequence = int.from_bytes(row[ID_BYTES:], "big")
            if entry_id is None or record is None:
                yield Finding("vectors", row, "the vector is damaged", None)
            elif self._expected.sequences.get(row[:ID_BYTES] + entry_id) != sequence:
                yield Finding("vectors", row, "no entry refers to the vector", None)
            elif self._is_locked(record.key_id):
                yield _key_missing("vectors", row, record.key_id)

    def _partitions(self) -> Iterator[Finding]:
        missing = dict(self._expected.partitions)
        for row, value in self._walk("partitions"):
            record = decode_record(PartitionRecord, row, value)
            wanted = missing.pop(row, None)
            if wanted is None:
                yield Finding("partitions", row, "the partition has no vector", None)
            elif record is None:
                yield Finding("partitions", row, "the partition's row is damaged", _partition(row, wanted))
            elif (record.rows, record.scope_key) != (wanted.rows, wanted.scope_key):
                text = f"the partition counts {record.rows} vectors, and has {wanted.rows}"
                yield Finding("partitions", row, text, _partition(row, wanted, record.sequence))
            elif record.sequence < wanted.newest:
                text = "the partition's newest vector is not the newest"
                yield Finding("partitions", row, text, _partition(row, wanted))
        for row, wanted in missing.items():
            yield Finding("partitions", row, "the partition's row is missing", _partition(row, wanted))

    def _scopes(self) -> Iterator[Finding]:
        missing = dict(self._expected.scopes)
        for row, value in self._walk("scopes"):
            record = decode_record(ScopeRecord, row, value)
            wanted = missing.pop(row, None)
            if wanted is None:
                yield Finding("scopes", row, "the scope has no entry", None)
            elif record is None:
                yield Finding("scopes", row, "the scope's row is damaged", _scope(row, wanted))
            elif (record.entries, record.bytes) != (wanted.entries, wanted.bytes):
                text = f"the scope counts {record.entries} entries, and has {wanted.entries}"
                yield Finding("scopes", row, text, _scope(row, wanted, record))
        for row, wanted in missing.items():
            yield Finding("scopes", row, "the scope's row is missing", _scope(row, wanted))

    def _tombstones(self) -> Iterator[Finding]:
        for row, value in self._walk("tombstones"):
            remove_ms = self._buried[row] = int.from_bytes(value, "big") + TOMBSTONE_MS
            if len(value) != TIME_BYTES or len(row) != ID_BYTES:
                yield Finding("tombstones", row, "the tombstone is damaged", None)
            elif self._get("expiry", expiry := expiry_row(remove_ms, row)) is None:
                yield Finding("expiry", expiry, "the tombstone's expiry is missing", b"")

    def _expiry(self) -> Iterator[Finding]:
        for row, _ in self._walk("expiry"):
            remove_ms, named = split_expiry_row(row)
            wanted = self._buried.get(named) if is_tombstone(named) else self._expected.remove_ms.get(named)
            if wanted is None or max(wanted, 0) != remove_ms:
                yield Finding("expiry", row, "nothing expires then", None)

    def _ids(self) -> Iterator[Finding]:
        for row, value in self._walk("ids"):
            if bytes(value) + row not in self._expected.remove_ms:
                yield Finding("ids", row, "no entry has that id", None)

    def _counters(self) -> Iterator[Finding]:
        newest = max((partition.newest for partition in self._expected.partitions.values()), default=0)
        for name, highest in (
            (META_NEXT_STORE_ID, max(self._expected.stores, default=0)),
            (META_NEXT_SEQUENCE, newest),
        ):
            value = self._get("meta", name)
            if highest and (value is None or int.from_bytes(value, "big") <= highest):
                yield Finding("meta", name, "a number would be used again", (highest + 1).to_bytes(8, "big"))


def _key_missing(name: str, row: bytes, key_id: bytes) -> Finding:
    return Finding(name, row, f"key missing: {KeyMissing(key_id)}", None, mendable=False)


def _sealed(row: bytes, record: StoreRecord | ScopeRecord) -> bytes:
    return seal(row, record.SerializeToString())


def _partition(row: bytes, wanted: _Partition, newest: int = 0) -> bytes:
    return encode_partition(row, PartitionState(max(newest, wanted.newest), wanted.rows), wanted.scope_key)


def _scope(row: bytes, wanted: _Scope, record: ScopeRecord | None = None) -> bytes:
    """Return the row with counts as they should be. Generations that are lost come with the next entry."""
    mended = ScopeRecord(schema=SCHEMA)
    if record is not None:
        mended.CopyFrom(record)
    mended.entries, mended.bytes = wanted.entries, wanted.bytes
    return _sealed(row, mended)
