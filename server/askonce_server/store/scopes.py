"""Scopes inside a write transaction: what each counts, and under which generations."""

from __future__ import annotations

from askonce_server.core.entries import Write
from askonce_server.storage.v1.record_pb2 import ScopeRecord
from askonce_server.store.layout import SCHEMA, Databases, Transaction
from askonce_server.store.records import decode_record
from askonce_server.store.seals import seal


class ScopeRows:
    """The scopes of one store, changed by one write transaction."""

    __slots__ = ("_databases", "_txn")

    def __init__(self, txn: Transaction, databases: Databases) -> None:
        self._txn = txn
        self._databases = databases

    def count_in(self, scope_key: bytes, write: Write) -> None:
        """Count an entry of `write`."""
        record = self._record(scope_key)
        record.entries += 1
        record.bytes += len(write.body.data)
        record.rule_id = write.answer.rule_id
        record.generation_names[:] = write.generations.names
        record.generations[:] = write.generations.values
        self._put(scope_key, record)

    def count_out(self, scope_key: bytes, body_bytes: int) -> None:
        """Count an entry less, whose body has that many bytes."""
        record = self._record(scope_key)
        if record.entries <= 1:
            self._txn.delete(scope_key, db=self._databases.scopes)
            return
        record.entries -= 1
        record.bytes = max(record.bytes - body_bytes, 0)
        self._put(scope_key, record)

    def _record(self, scope_key: bytes) -> ScopeRecord:
        value = self._txn.get(scope_key, db=self._databases.scopes)
        return decode_record(ScopeRecord, scope_key, value) or ScopeRecord(schema=SCHEMA)

    def _put(self, scope_key: bytes, record: ScopeRecord) -> None:
        self._txn.put(scope_key, seal(scope_key, record.SerializeToString()), db=self._databases.scopes)
