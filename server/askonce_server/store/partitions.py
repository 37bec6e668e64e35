"""Partitions inside a transaction: their vectors, and the row that counts them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import TypeAlias, TypeVar

import numpy as np

from askonce_server.core.entries import EntryKey, SemanticRow
from askonce_server.ports import PartitionState, StoredVector, VectorBlock
from askonce_server.storage.v1.record_pb2 import EntryRecord, PartitionRecord
from askonce_server.store.keyring import KeyMissing, Keyring
from askonce_server.store.layout import ID_BYTES, Databases, Transaction, vector_row
from askonce_server.store.pages import put_last
from askonce_server.store.records import decode_record, entry_of, key_of
from askonce_server.store.seals import Readable
from askonce_server.store.vectors import decode_vector, encode_partition, encode_vector, vector_of

Row = TypeVar("Row", bytes, memoryview)
Given = TypeVar("Given")
Decode: TypeAlias = Callable[[Row, memoryview, Keyring], Given | None]


class Partitions:
    """The partitions as one transaction sees them."""

    __slots__ = ("_databases", "_keys", "_txn")

    def __init__(self, txn: Transaction, databases: Databases, keys: Keyring) -> None:
        self._txn = txn
        self._databases = databases
        self._keys = keys

    def state(self, partition: bytes) -> PartitionState:
        """Return the state of `partition`. Where its row is damaged the vectors are counted."""
        value = self._txn.get(partition, db=self._databases.partitions)
        if value is None:
            return PartitionState(0, 0)
        record = decode_record(PartitionRecord, partition, value)
        return self.count(partition) if record is None else PartitionState(record.sequence, record.rows)

    def count(self, partition: bytes) -> PartitionState:
        """Return the state of `partition` as its vectors tell it."""
        newest, rows = 0, 0
        for row, _ in self._after(partition, 0):
            newest, rows = int.from_bytes(row[ID_BYTES:], "big"), rows + 1
        return PartitionState(newest, rows)

    def rows_after(self, partition: bytes, sequence: int, *, limit: int) -> int:
        """Count the rows of `partition` above `sequence`, at most `limit`."""
        return sum(1 for _ in islice(self._after(partition, sequence), limit))

    def vectors(self, partition: bytes, *, dim: int, after: int, limit: int) -> VectorBlock:
        """Return at most `limit` sound vectors of `dim` dimensions above `after`; fewer: that is all."""
        size = dim * np.dtype(np.float32).itemsize
        sequences: list[Readable] = []
        vectors: list[Readable] = []
        for row, value in self._after(partition, after):
            if len(vectors) == limit:
                break
            vector = self._readable(vector_of, row, value)
            if vector is not None and len(vector) == size:
                sequences.append(row[ID_BYTES:])
                vectors.append(vector)
        return VectorBlock(
            np.frombuffer(b"".join(sequences), dtype=">i8").astype(np.int64),
            np.frombuffer(b"".join(vectors), dtype="<f4").astype(np.float32, copy=False).reshape(-1, dim),
        )

    def stored(self, partition: bytes, sequence: int) -> StoredVector | None:
        """Return the vector at `sequence` and its entry, or None when either is gone or damaged."""
        place = vector_row(partition, sequence)
        value = self._txn.get(place, db=self._databases.vectors)
        found = None if value is None else self._readable(decode_vector, place, value)
        if found is None:
            return None
        row = partition + found.entry_id
        record = decode_record(EntryRecord, row, self._txn.get(row, db=self._databases.entries))
        if record is None or record.sequence != sequence:
            return None
        entry = entry_of(key_of(row, record), record)
        return None if entry is None else StoredVector(entry, found.row)

    def semantic(self, partition: bytes, sequence: int) -> SemanticRow | None:
        """Return what is kept at `sequence`, or None when it is gone or damaged."""
        row = vector_row(partition, sequence)
        value = self._txn.get(row, db=self._databases.vectors)
        found = None if value is None else self._readable(decode_vector, row, value)
        return None if found is None else found.row

    def _readable(self, decode: Decode[Row, Given], row: Row, value: memoryview) -> Given | None:
        """Return what `decode` finds, or None where the row is damaged or its key is not here."""
        try:
            return decode(row, value, self._keys)
        except KeyMissing as missing:
            self._keys.tell(missing)
            return None

    def _after(self, partition: bytes, sequence: int) -> Iterator[tuple[memoryview, memoryview]]:
        """Go through the vectors of `partition` above `sequence`."""
        with self._txn.cursor(db=self._databases.vectors) as cursor:
            if cursor.set_range(vector_row(partition, sequence + 1)):
                for row, value in cursor.iternext():
                    if row[:ID_BYTES] != partition:
                        return
                    yield row, value


class PartitionRows(Partitions):
    """The partitions, changed by one write transaction."""

    __slots__ = ()

    def file(self, key: EntryKey, semantic: SemanticRow, *, sequence: int) -> None:
        """File the vector of the entry at `key` under `sequence`, and count it."""
        row = vector_row(key.partition, sequence)
        put_last(
            self._txn, self._databases.vectors, row, encode_vector(row, key.entry_id, semantic, self._keys)
        )
        self._count(key.partition, key.scope_key, 1, newest=sequence)

    def remove(self, partition: bytes, scope_key: bytes, sequence: int) -> None:
        """Remove a vector, and the partition's row with the last."""
        if self._txn.delete(vector_row(partition, sequence), db=self._databases.vectors):
            self._count(partition, scope_key, -1)

    def vector_size(self, partition: bytes, sequence: int) -> int:
        """Return how long the value of a vector's row is; 0 when there is none."""
        value = self._txn.get(vector_row(partition, sequence), db=self._databases.vectors)
        return 0 if value is None else len(value)

    def _count(self, partition: bytes, scope_key: bytes, change: int, *, newest: int | None = None) -> None:
        """Count a vector that was filed or removed. A damaged row is written anew from the vectors."""
        database = self._databases.partitions
        value = self._txn.get(partition, db=database)
        record = decode_record(PartitionRecord, partition, value)
        if value is None:
            state = PartitionState(newest or 0, change)
        elif record is None:
            state = self.count(partition)
        else:
            state = PartitionState(newest or record.sequence, record.rows + change)
        if state.rows > 0:
            self._txn.put(partition, encode_partition(partition, state, scope_key), db=database)
        else:
            self._txn.delete(partition, db=database)
