"""For which questions a near entry was found wrong: rows `b` ‖ entry id of `observations`."""

from __future__ import annotations

from typing import Final

from askonce_server.ports import MOST_BARS
from askonce_server.storage.v1.record_pb2 import BarRecord
from askonce_server.store.keyring import KeyMissing, Keyring, Sealed
from askonce_server.store.layout import Database, Transaction
from askonce_server.store.seals import seal, unseal

_SCHEMA: Final = 1
_BAR: Final = b"b"
_BOUND: Final = b"askonce/1/bars\0"
_ALL: Final = (b"",)
"""What cannot be read bars the entry for all questions."""


class BarRows:
    """The bars of entries, seen by one transaction."""

    def __init__(self, txn: Transaction, database: Database, keys: Keyring) -> None:
        self._txn = txn
        self._database = database
        self._keys = keys

    def of(self, entry_id: bytes) -> tuple[bytes, ...]:
        """Return the vectors for which an entry is barred."""
        row = _BAR + entry_id
        value = self._txn.get(row, db=self._database)
        if value is None:
            return ()
        payload = unseal(row, value)
        record = None if payload is None else BarRecord.FromString(payload)
        if record is None or record.schema != _SCHEMA:
            return _ALL
        return tuple(record.vectors) if not record.key_id else self._opened(row, record)

    def add(self, entry_id: bytes, vector: bytes) -> None:
        """Bar an entry for one more question."""
        row, known = _BAR + entry_id, self.of(entry_id)
        vectors = [*(one for one in known if one != vector), vector]
        kept = [one for one in vectors if not one][:1] or vectors[-MOST_BARS:]
        record = BarRecord(schema=_SCHEMA, vectors=kept)
        if self._keys.first is not None:
            sealed = self._keys.seal(record.SerializeToString(), _BOUND + row)
            record = BarRecord(schema=_SCHEMA, key_id=self._keys.first, sealed=sealed)
        self._txn.put(row, seal(row, record.SerializeToString()), db=self._database)

    def remove(self, entry_id: bytes) -> None:
        """Forget the bars of an entry, whose answer is another one or gone."""
        self._txn.delete(_BAR + entry_id, db=self._database)

    def _opened(self, row: bytes, record: BarRecord) -> tuple[bytes, ...]:
        try:
            plain = self._keys.open(Sealed(record.key_id, record.sealed), _BOUND + row)
        except KeyMissing as missing:
            self._keys.tell(missing)
            return _ALL
        return _ALL if plain is None else tuple(BarRecord.FromString(plain).vectors)
