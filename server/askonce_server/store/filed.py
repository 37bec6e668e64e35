"""What is filed, as a write transaction sees it, and how many pages it takes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from askonce_server.storage.v1.record_pb2 import EntryRecord
from askonce_server.store.bodies import BodyRows
from askonce_server.store.costs import ENTRY_COST, body_cost, vector_cost
from askonce_server.store.keyring import Keyring
from askonce_server.store.layout import ID_BYTES, Databases, Transaction, entry_row, store_row
from askonce_server.store.partitions import PartitionRows
from askonce_server.store.prepared import Prepared
from askonce_server.store.records import decode_record


class FiledRows:
    """The rows of entries, their bodies and vectors."""

    __slots__ = ("_bodies", "_databases", "_keys", "_partitions", "_txn")

    def __init__(self, txn: Transaction, databases: Databases, keys: Keyring) -> None:
        self._txn = txn
        self._databases = databases
        self._keys = keys
        self._bodies = BodyRows(txn, databases, keys)
        self._partitions = PartitionRows(txn, databases, keys)

    def reclaimable(self, prepared: Prepared) -> int:
        """Return how many bytes of pages `file` gives back by replacing, at least."""
        return self._cost(self._records(entry_row(key) for key in prepared.keys))

    def stores_from(self, store_id: int) -> Iterator[int]:
        """Go through the ids of the Stores from `store_id` on, oldest first."""
        with self._txn.cursor(db=self._databases.stores) as cursor:
            if cursor.set_range(store_row(store_id)):
                for row in cursor.iternext(keys=True, values=False):
                    yield int.from_bytes(row, "big")

    def newest_store(self) -> int:
        """Return the id of the Store that came last; 0 when there is none."""
        with self._txn.cursor(db=self._databases.stores) as cursor:
            return int.from_bytes(cursor.key(), "big") if cursor.last() else 0

    def store_cost(self, store_id: int) -> int:
        """Return how many bytes of pages the rows of a Store take, at most."""
        return self._cost(self._records(self._bodies.entries(store_id)))

    def _cost(self, records: Mapping[bytes, EntryRecord]) -> int:
        """Return how many bytes of pages removing `records` gives back."""
        total = ENTRY_COST * len(records)
        for row, record in records.items():
            if size := record.sequence and self._partitions.vector_size(row[:ID_BYTES], record.sequence):
                total += vector_cost(size)
        for (scope_root, store_id), entries in by_store(records).items():
            if freed := self._bodies.freed(scope_root, store_id, entries):
                total += body_cost(freed)
        return total

    def _records(self, rows: Iterable[bytes]) -> dict[bytes, EntryRecord]:
        """Return the sound records at `rows`. A damaged one is treated as absent and written over."""
        found = ((row, self._txn.get(row, db=self._databases.entries)) for row in rows)
        decoded = ((row, decode_record(EntryRecord, row, value)) for row, value in found)
        return {row: record for row, record in decoded if record is not None}


def by_store(records: Mapping[bytes, EntryRecord]) -> dict[tuple[bytes, int], list[bytes]]:
    """Return the rows of `records` by the scope root and id of their Store."""
    stores: dict[tuple[bytes, int], list[bytes]] = {}
    for row, record in records.items():
        stores.setdefault((record.scope_root, record.store_id), []).append(row)
    return stores
