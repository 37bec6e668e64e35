"""Stored vectors that were read lately, for as long as their rows are the same bytes.

A recall reads ten of them or more. Making sense of their rows takes five times as long as finding these, and
every commit makes a snapshot that nothing is known of. But each row begins with a hash of what follows and
of its key, and a sequence is never used again: what begins alike is alike.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from askonce_server.ports import StoredVector
from askonce_server.store.keyring import Keyring
from askonce_server.store.layout import Databases, Transaction, vector_row
from askonce_server.store.partitions import Partitions
from askonce_server.store.vectors import VECTOR_START

_MAX_BYTES: Final = 16 << 20
_ROW_BYTES: Final = 2048
"""What one takes in memory besides its vector, features and text, about."""
_SEAL_BYTES: Final = 4


class _Known(NamedTuple):
    vector_start: bytes
    entry_row: bytes
    entry_start: bytes
    entry_size: int
    stored: StoredVector


class RecentVectors:
    """Shared by threads: each change is one step on a dict."""

    __slots__ = ("_bytes", "_databases", "_keys", "_known")

    def __init__(self, databases: Databases, keys: Keyring) -> None:
        """Know nothing yet."""
        self._databases = databases
        self._keys = keys
        self._known: dict[bytes, _Known] = {}
        self._bytes = 0

    def stored(self, txn: Transaction, partition: bytes, sequence: int) -> StoredVector | None:
        """Return the vector at `sequence` and its entry, or None when either is gone or damaged."""
        place = vector_row(partition, sequence)
        known = self._known.get(place)
        if known is not None and self._holds(txn, place, known):
            return known.stored
        found = Partitions(txn, self._databases, self._keys).stored(partition, sequence)
        if found is not None:
            self._keep(txn, place, partition + found.entry.key.entry_id, found)
        return found

    def _holds(self, txn: Transaction, place: bytes, known: _Known) -> bool:
        vector = txn.get(place, db=self._databases.vectors)
        if vector is None or vector[:VECTOR_START] != known.vector_start:
            return False
        entry = txn.get(known.entry_row, db=self._databases.entries)
        return (
            entry is not None and len(entry) == known.entry_size and entry[:_SEAL_BYTES] == known.entry_start
        )

    def _keep(self, txn: Transaction, place: bytes, entry_row: bytes, found: StoredVector) -> None:
        """Remember what was found. Full means full: all is forgotten then."""
        vector = txn.get(place, db=self._databases.vectors)
        entry = txn.get(entry_row, db=self._databases.entries)
        if vector is None or entry is None:
            return
        size = len(vector) + 4 * len(found.row.text) + _ROW_BYTES
        if self._bytes + size > _MAX_BYTES:
            self._known, self._bytes = {}, 0
        self._bytes += size
        self._known[place] = _Known(
            bytes(vector[:VECTOR_START]), entry_row, bytes(entry[:_SEAL_BYTES]), len(entry), found
        )
