"""Stores inside a write transaction: each Store's body, and the record of the entries that share it."""

from __future__ import annotations

from collections.abc import Sequence

from askonce_server.storage.v1.record_pb2 import StoreRecord
from askonce_server.store.keyring import Keyring
from askonce_server.store.layout import SCHEMA, Databases, Transaction, body_row, store_row
from askonce_server.store.pages import put_last
from askonce_server.store.prepared import Prepared
from askonce_server.store.records import decode_header, decode_record, encode_body
from askonce_server.store.seals import seal


class BodyRows:
    """The bodies of one store, changed by one write transaction."""

    __slots__ = ("_databases", "_keys", "_txn")

    def __init__(self, txn: Transaction, databases: Databases, keys: Keyring) -> None:
        self._txn = txn
        self._databases = databases
        self._keys = keys

    def file(self, prepared: Prepared, *, store_id: int, entries: Sequence[bytes]) -> None:
        """File the body of a write, shared by the entries at those rows."""
        write = prepared.write
        row = body_row(write.scope_root, store_id)
        value = encode_body(row, write.body, self._keys, content_sha256=prepared.content_sha256)
        put_last(self._txn, self._databases.bodies, row, value)
        record = StoreRecord(
            schema=SCHEMA, scope_root=write.scope_root, entries=entries, outline=write.outline
        )
        self._put(store_id, record)

    def entries(self, store_id: int) -> Sequence[bytes]:
        """Return the rows of the entries that are left of a Store, none when its record is not there."""
        record = self._record(store_id)
        return () if record is None else tuple(record.entries)

    def release(self, scope_root: bytes, store_id: int, entries: Sequence[bytes]) -> None:
        """Take `entries` from those that share a body. It goes with the last."""
        record = self._record(store_id)
        left = [] if record is None else [row for row in record.entries if row not in entries]
        if record is None or not left:
            self._txn.delete(body_row(scope_root, store_id), db=self._databases.bodies)
            self._txn.delete(store_row(store_id), db=self._databases.stores)
        else:
            record.entries[:] = left
            self._put(store_id, record)

    def forget(self, store_id: int) -> None:
        """Remove the record of a Store, where `release` could not: it was damaged, or had no entry."""
        self._txn.delete(store_row(store_id), db=self._databases.stores)

    def freed(self, scope_root: bytes, store_id: int, entries: Sequence[bytes]) -> int:
        """Return how many bytes of body `release` would remove."""
        if set(self.entries(store_id)) - set(entries):
            return 0
        row = body_row(scope_root, store_id)
        value = self._txn.get(row, db=self._databases.bodies)
        found = None if value is None else decode_header(row, value)
        return 0 if found is None else found.size

    def _record(self, store_id: int) -> StoreRecord | None:
        row = store_row(store_id)
        return decode_record(StoreRecord, row, self._txn.get(row, db=self._databases.stores))

    def _put(self, store_id: int, record: StoreRecord) -> None:
        row = store_row(store_id)
        self._txn.put(row, seal(row, record.SerializeToString()), db=self._databases.stores)
