"""What an LMDB view tells operators: the newest Stores of a scope, and what became of what is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeVar

from askonce_server.core.entries import Entry, EntryKey
from askonce_server.core.fates import Fate, Gone, latest
from askonce_server.ports.archive import Kept
from askonce_server.storage.v1.record_pb2 import EntryRecord, StoreRecord
from askonce_server.store.departed import Departed, identity
from askonce_server.store.finality import Finality
from askonce_server.store.keyring import KeyMissing, Keyring
from askonce_server.store.layout import ID_BYTES, Databases, Transaction, body_row, store_row
from askonce_server.store.records import decode_body, decode_record, entry_of, key_of

Found = TypeVar("Found")


class Measurable(Protocol):
    """A view whose transaction can be looked into."""

    def measure(self, count: Callable[[Transaction], Found]) -> Found:
        """Return what `count` finds in the transaction. Raises StoreUnavailable."""


class LmdbArchive:
    """The Archive of one view."""

    def __init__(self, view: Measurable, databases: Databases, keys: Keyring, departed: Departed) -> None:
        self._view = view
        self._databases = databases
        self._keys = keys
        self._departed = departed

    def newest(self, scope_root: bytes, *, limit: int) -> list[Kept]:
        """Return the newest Stores of a scope, newest first, at most `limit`. Bodies are not touched."""
        return self._view.measure(lambda txn: list(self._newest(txn, scope_root, limit)))

    def raised_ms(self, names: Sequence[bytes]) -> tuple[int | None, ...]:
        """Return when each named generation was last raised, None where it never was."""
        return self._view.measure(lambda txn: Finality(txn, self._databases).raised_ms(names))

    def gone(self, key: EntryKey, scope_root: bytes) -> Gone | None:
        """Return why there is no entry at `key`, where that is remembered."""
        at_ms = self._view.measure(lambda txn: Finality(txn, self._databases).deleted_ms(key.entry_id))
        deleted = None if at_ms is None else Gone(Fate.DELETED, at_ms)
        return latest(self._departed.find(identity(key, scope_root)), deleted)

    def holds_body(self, entry: Entry) -> bool:
        """Whether the entry's body is there and can be read."""
        return self._view.measure(lambda txn: self._holds_body(txn, entry))

    def _holds_body(self, txn: Transaction, entry: Entry) -> bool:
        row = body_row(entry.scope_root, entry.store_id)
        value = txn.get(row, db=self._databases.bodies)
        try:
            return (
                value is not None
                and decode_body(row, value, body_bytes=entry.body_bytes, keys=self._keys) is not None
            )
        except KeyMissing:
            return False

    def _newest(self, txn: Transaction, scope_root: bytes, limit: int) -> Iterator[Kept]:
        for number, store_id in enumerate(self._store_ids(txn, scope_root)):
            if number == limit:
                return
            row = store_row(store_id)
            record = decode_record(StoreRecord, row, txn.get(row, db=self._databases.stores))
            if record is not None:
                entries = [self._entry(txn, bytes(each)) for each in record.entries]
                yield Kept(tuple(entry for entry in entries if entry is not None), record.outline)

    def _store_ids(self, txn: Transaction, scope_root: bytes) -> Iterator[int]:
        """Go through the ids of the scope's Stores, newest first: their bodies stand in that order."""
        with txn.cursor(db=self._databases.bodies) as cursor:
            beyond = cursor.set_range(scope_root + b"\xff" * 9)
            there = cursor.prev() if beyond else cursor.last()
            while there:
                row = bytes(cursor.key())
                if row[:ID_BYTES] != scope_root:
                    return
                yield int.from_bytes(row[ID_BYTES:], "big")
                there = cursor.prev()

    def _entry(self, txn: Transaction, row: bytes) -> Entry | None:
        record = decode_record(EntryRecord, row, txn.get(row, db=self._databases.entries))
        return None if record is None else entry_of(key_of(row, record), record)
