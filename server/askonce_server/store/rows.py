"""What a write transaction does to the rows, so that all of them always agree."""

from __future__ import annotations

import mmap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from askonce_server.core.entries import ZERO_GENERATION, EntryKey, Generations, SemanticRow
from askonce_server.storage.v1.record_pb2 import BodyHeader, EntryRecord, ScopeRecord
from askonce_server.store.layout import (
    ID_BYTES,
    META_NEXT_SEQUENCE,
    META_NEXT_STORE_ID,
    META_TOUCHED,
    SCHEMA,
    Database,
    Databases,
    Transaction,
    body_row,
    entry_row,
    expiry_row,
    split_expiry_row,
)
from askonce_server.store.partitions import PartitionRows
from askonce_server.store.prepared import Prepared
from askonce_server.store.records import (
    decode_entry,
    decode_generation,
    decode_header,
    decode_scope,
    encode_body,
    encode_entry,
    encode_generation,
    same_generations,
)
from askonce_server.store.seals import seal
from askonce_server.store.vectors import row_bytes

PAGE_BYTES: Final = mmap.PAGESIZE
"""LMDB takes the page size of the machine that makes the file."""
_MAX_IN_LEAF: Final = PAGE_BYTES // 2 - 48
"""A longer value has pages of its own (half a page less headers)."""
ENTRY_COST: Final = 1024
"""What one entry takes besides the body: its row, its expiry row and its share of inner pages."""
PARTITION_COST: Final = 256
"""What the row of a partition takes."""


def value_cost(value_bytes: int) -> int:
    """Return how many bytes of pages a value takes, at most: one that fits into a leaf may have it alone."""
    return PAGE_BYTES if value_bytes <= _MAX_IN_LEAF else -(-value_bytes // PAGE_BYTES) * PAGE_BYTES


def body_cost(body_bytes: int) -> int:
    """Return how many bytes of pages a body takes, at most."""
    return value_cost(body_bytes + 256)


def write_cost(prepared: Prepared) -> int:
    """Return how many bytes of pages a write takes, at most."""
    semantic = prepared.write.semantic
    vectors = sum(1 for key in prepared.keys if key.partition)
    vector = 0 if semantic is None else value_cost(row_bytes(semantic)) + PARTITION_COST
    return body_cost(len(prepared.write.body.data)) + ENTRY_COST * len(prepared.keys) + vector * vectors


def current_generations(txn: Transaction, database: Database, names: Sequence[bytes]) -> tuple[bytes, ...]:
    """Return the value of each named generation, zero when it was never raised. Raises Damaged."""
    values = [txn.get(name, db=database) for name in names]
    return tuple(ZERO_GENERATION if value is None else decode_generation(value) for value in values)


class Rows:
    """The rows of one store, seen and changed by one write transaction."""

    __slots__ = ("_databases", "_partitions", "_txn", "changed")

    def __init__(self, txn: Transaction, databases: Databases) -> None:
        self._txn = txn
        self._databases = databases
        self._partitions = PartitionRows(txn, databases)
        self.changed = False
        """Whether there is anything to commit."""

    def hold(self, generations: Generations) -> bool:
        """Whether none of `generations` has been raised since they were read. Raises Damaged."""
        current = current_generations(self._txn, self._databases.generations, generations.names)
        return same_generations(generations, current)

    def raise_generations(self, values: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Give each named generation a new value."""
        self.changed = True
        for name, value in values.items():
            self._txn.put(name, encode_generation(value, at_ms), db=self._databases.generations)

    def file(self, prepared: Prepared) -> None:
        """File a write under each of its keys, in place of what was there."""
        self.changed = True
        rows = {entry_row(key): key for key in prepared.keys}
        self._remove_records(self._records(rows))
        write = prepared.write
        store_id = self._next(META_NEXT_STORE_ID)
        body = body_row(write.scope_root, store_id)
        header = BodyHeader(
            schema=SCHEMA,
            references=len(rows),
            content_type=write.body.content_type,
            content_sha256=prepared.content_sha256,
        )
        databases = self._databases
        self._txn.put(body, encode_body(body, header, write.body.data), db=databases.bodies)
        for row, key in rows.items():
            sequence = self._file_vector(key, write.semantic)
            value = encode_entry(row, key, prepared, store_id=store_id, sequence=sequence)
            self._txn.put(row, value, db=databases.entries)
            self._txn.put(expiry_row(write.answer.expire_ms, row), b"", db=databases.expiry)
            self._count_in(key.scope_key, prepared)

    def _file_vector(self, key: EntryKey, semantic: SemanticRow | None) -> int:
        """File the vector of a semantic entry and return its sequence, else 0."""
        if not key.partition or semantic is None:
            return 0
        sequence = self._next(META_NEXT_SEQUENCE)
        self._partitions.file(key, semantic, sequence=sequence)
        return sequence

    def touch(self) -> None:
        """Change something that means nothing, to see whether anything can be written."""
        self.set_meta(META_TOUCHED, b"")
        self._txn.delete(META_TOUCHED, db=self._databases.meta)

    def meta(self, name: bytes) -> bytes | None:
        """Return what `meta` holds under `name`."""
        value = self._txn.get(name, db=self._databases.meta)
        return None if value is None else bytes(value)

    def set_meta(self, name: bytes, value: bytes) -> None:
        """Let `meta` hold `value` under `name`."""
        self.changed = True
        self._txn.put(name, value, db=self._databases.meta)

    def remove(self, rows: Iterable[bytes]) -> int:
        """Remove the entries at `rows` and the bodies that only they refer to; return how many there were."""
        records = self._records(rows)
        self._remove_records(records)
        return len(records)

    def remove_expired(self, now_ms: int, *, limit: int) -> int:
        """Remove at most `limit` of the entries whose ttl is over, oldest first; return how many."""
        expired: list[tuple[bytes, bytes]] = []
        with self._txn.cursor(db=self._databases.expiry) as cursor:
            for view in cursor.iternext(keys=True, values=False):
                key = bytes(view)
                expire_ms, row = split_expiry_row(key)
                if expire_ms > now_ms or len(expired) == limit:
                    break
                expired.append((key, row))
        records = self._records(row for _, row in expired)
        self.changed = self.changed or bool(expired)
        for key, row in expired:
            record = records.get(row)
            if record is not None and expiry_row(record.expire_ms, row) != key:
                del records[row]  # a left-over of damage: the entry has another expiry row
            self._txn.delete(key, db=self._databases.expiry)
        self._remove_records(records)
        return len(expired)

    def reclaimable(self, prepared: Prepared) -> int:
        """Return how many bytes of pages `file` gives back by replacing, at least."""
        records = self._records(entry_row(key) for key in prepared.keys)
        total = ENTRY_COST * len(records)
        for row, record in records.items():
            if size := record.sequence and self._partitions.vector_size(row[:ID_BYTES], record.sequence):
                total += value_cost(size)
        for body, released in self._released(records).items():
            value = self._txn.get(body, db=self._databases.bodies)
            found = None if value is None else decode_header(body, value)
            if value is not None and found is not None and found[0].references <= released:
                total += body_cost(len(value) - found[1])
        return total

    def _records(self, rows: Iterable[bytes]) -> dict[bytes, EntryRecord]:
        """Return the sound records at `rows`. A damaged one is treated as absent and written over."""
        records = {}
        for row in rows:
            value = self._txn.get(row, db=self._databases.entries)
            record = None if value is None else decode_entry(row, value)
            if record is not None:
                records[row] = record
        return records

    def _remove_records(self, records: Mapping[bytes, EntryRecord]) -> None:
        self.changed = self.changed or bool(records)
        for row, record in records.items():
            self._txn.delete(row, db=self._databases.entries)
            self._txn.delete(expiry_row(record.expire_ms, row), db=self._databases.expiry)
            prefix = row[:ID_BYTES]
            if record.sequence:
                self._partitions.remove(prefix, record.scope_key, record.sequence)
            self._count_out(record.scope_key or prefix, record.body_bytes)
        for body, released in self._released(records).items():
            self._release(body, released)

    @staticmethod
    def _released(records: Mapping[bytes, EntryRecord]) -> Counter[bytes]:
        return Counter(body_row(record.scope_root, record.store_id) for record in records.values())

    def _release(self, body: bytes, released: int) -> None:
        """Take `released` references from a body; at none left the row goes."""
        value = self._txn.get(body, db=self._databases.bodies)
        found = None if value is None else decode_header(body, value)
        if value is None:
            return
        if found is None or found[0].references <= released:
            self._txn.delete(body, db=self._databases.bodies)
            return
        header, start = found
        header.references -= released
        self._txn.put(body, encode_body(body, header, bytes(value[start:])), db=self._databases.bodies)

    def _next(self, counter: bytes) -> int:
        """Return a number of `counter` that was never given before."""
        value = self.meta(counter)
        number = 1 if value is None else int.from_bytes(value, "big")
        self.set_meta(counter, (number + 1).to_bytes(8, "big"))
        return number

    def _scope(self, scope_key: bytes) -> ScopeRecord:
        value = self._txn.get(scope_key, db=self._databases.scopes)
        record = None if value is None else decode_scope(scope_key, value)
        return ScopeRecord(schema=SCHEMA) if record is None else record

    def _count_in(self, scope_key: bytes, prepared: Prepared) -> None:
        write, record = prepared.write, self._scope(scope_key)
        record.entries += 1
        record.bytes += len(write.body.data)
        record.rule_id = write.answer.rule_id
        record.generation_names[:] = write.generations.names
        record.generations[:] = write.generations.values
        self._txn.put(scope_key, seal(scope_key, record.SerializeToString()), db=self._databases.scopes)

    def _count_out(self, scope_key: bytes, body_bytes: int) -> None:
        record = self._scope(scope_key)
        if record.entries <= 1:
            self._txn.delete(scope_key, db=self._databases.scopes)
            return
        record.entries -= 1
        record.bytes = max(record.bytes - body_bytes, 0)
        self._txn.put(scope_key, seal(scope_key, record.SerializeToString()), db=self._databases.scopes)
