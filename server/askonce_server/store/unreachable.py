"""What a purge leaves behind: scopes of which a generation has another value by now, with all in them."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from askonce_server.ports import Reach
from askonce_server.storage.v1.record_pb2 import PartitionRecord, ScopeRecord
from askonce_server.store.finality import Finality
from askonce_server.store.layout import Database, Databases, Transaction
from askonce_server.store.records import decode_record

_MAX_LOOKED: Final = 4096
"""So many rows are looked at in one step; a view of the store is not to last longer."""


class Scopes:
    """The scopes as one transaction sees them."""

    def __init__(self, txn: Transaction, databases: Databases) -> None:
        self._txn = txn
        self._databases = databases
        self._finality = Finality(txn, databases)
        self._current: dict[bytes, bytes] = {}

    def reach(self, names: Collection[bytes], *, within: Collection[bytes] = ()) -> Reach:
        """Count what raising these generations would make unreachable. Raises Damaged."""
        wanted, needed = frozenset(names), frozenset(within)
        found = [
            record
            for _, record in self.after(b"")
            if not wanted.isdisjoint(record.generation_names)
            and needed.issubset(record.generation_names)
            and self.is_reachable(record)
        ]
        return _sum(found)

    def unreachable(self) -> Reach:
        """Count what is unreachable. Raises Damaged."""
        if self._finality.raises() == self._finality.swept_raises():
            return Reach(0, 0, 0)
        return _sum([record for _, record in self.after(b"") if not self.is_reachable(record)])

    def after(self, row: bytes) -> Iterator[tuple[bytes, ScopeRecord]]:
        """Go through the scopes from `row` on. Damaged ones are left out."""
        for key, value in _rows_from(self._txn, self._databases.scopes, row):
            record = decode_record(ScopeRecord, key, value)
            if record is not None:
                yield key, record

    def is_reachable(self, record: ScopeRecord) -> bool:
        """Whether a Lookup of now can come to the scope. Raises Damaged."""
        return all(
            self._value(name) == value
            for name, value in zip(record.generation_names, record.generations, strict=False)
        )

    def _value(self, name: bytes) -> bytes:
        value = self._current.get(name)
        if value is None:
            (value,) = self._finality.generations([name])
            self._current[name] = value
        return value


class Removal:
    """One pass over all scopes, then over all partitions, that finds what is to be removed step by step."""

    def __init__(self, raises: int) -> None:
        self.raises = raises
        """Up to which raise the pass removes what is unreachable."""
        self.emptied: set[bytes] = set()
        """Unreachable scopes without entries of their own: their partitions have them."""
        self.done = False
        self._scope: bytes | None = b""
        self._partition = b""

    def find(self, txn: Transaction, databases: Databases, *, limit: int) -> list[bytes]:
        """Return the rows of at most `limit` entries to remove before the next call. Raises Damaged."""
        rows: list[bytes] = []
        if self._scope is not None:
            self._find_in_scopes(txn, databases, rows, limit)
        elif self.emptied:
            self._find_in_partitions(txn, databases, rows, limit)
        else:
            self.done = True
        return rows

    def _find_in_scopes(self, txn: Transaction, databases: Databases, rows: list[bytes], limit: int) -> None:
        scopes = Scopes(txn, databases)
        for looked, (scope_key, record) in enumerate(scopes.after(self._scope or b"")):
            self._scope = scope_key
            if looked == _MAX_LOOKED:
                return
            if not scopes.is_reachable(record) and not self._take(txn, databases, scope_key, rows, limit):
                return
        self._scope = None

    def _take(
        self, txn: Transaction, databases: Databases, scope_key: bytes, rows: list[bytes], limit: int
    ) -> bool:
        """Add the rows of a scope's entries; return whether that were all of them."""
        before = len(rows)
        if not _add_rows(txn, databases, scope_key, rows, limit):
            return False
        if len(rows) == before:
            self.emptied.add(scope_key)
        return True

    def _find_in_partitions(
        self, txn: Transaction, databases: Databases, rows: list[bytes], limit: int
    ) -> None:
        for looked, (partition, value) in enumerate(_rows_from(txn, databases.partitions, self._partition)):
            self._partition = partition
            if looked == _MAX_LOOKED:
                return
            record = decode_record(PartitionRecord, partition, value)
            dead = record is not None and record.scope_key in self.emptied
            if dead and not _add_rows(txn, databases, partition, rows, limit):
                return
        self.done = True


def _add_rows(txn: Transaction, databases: Databases, prefix: bytes, rows: list[bytes], limit: int) -> bool:
    """Add the rows of entries that begin with `prefix` up to `limit`; return whether that were all."""
    for row, _ in _rows_from(txn, databases.entries, prefix):
        if not row.startswith(prefix):
            break
        if len(rows) == limit:
            return False
        rows.append(row)
    return True


def _rows_from(txn: Transaction, database: Database, row: bytes) -> Iterator[tuple[bytes, memoryview]]:
    with txn.cursor(db=database) as cursor:
        if cursor.set_range(row):
            for key, value in cursor.iternext():
                yield bytes(key), value


def _sum(records: Collection[ScopeRecord]) -> Reach:
    return Reach(
        len(records), sum(record.entries for record in records), sum(record.bytes for record in records)
    )
