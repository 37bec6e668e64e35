"""Scopes inside a write transaction: what each counts, and under which generations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import islice
from typing import Final

from askonce_server.core.entries import Write
from askonce_server.storage.v1.record_pb2 import ScopeRecord
from askonce_server.store.layout import SCHEMA, Databases, Transaction
from askonce_server.store.records import decode_record
from askonce_server.store.seals import seal

_COUNTED_SCOPES: Final = 20_000
"""How many are looked at to count: about 0.1 s of a read transaction."""


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


def entries_by_rule(txn: Transaction, databases: Databases) -> Mapping[str, int]:
    """Count the entries of the first `_COUNTED_SCOPES` scopes for the rules that stored there last."""
    counts: Counter[str] = Counter()
    with txn.cursor(db=databases.scopes) as cursor:
        for scope_key, value in islice(cursor.iternext(), _COUNTED_SCOPES):
            record = decode_record(ScopeRecord, bytes(scope_key), value)
            if record is not None:
                counts[record.rule_id] += record.entries
    return counts
