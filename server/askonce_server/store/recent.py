"""Stored vectors that were read lately, for as long as their partitions have them.

A recall reads ten of them or more. Making sense of their rows takes five times as long as finding these, and
every commit makes a snapshot that nothing is known of. But a row is never changed, only added under a
sequence of its own, or removed. While a partition has all that it had, what was read of it holds; when it has
lost some, what is still there holds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from askonce_server.ports import PartitionState, StoredVector
from askonce_server.store.keyring import Keyring
from askonce_server.store.layout import Databases, Transaction, vector_row
from askonce_server.store.partitions import Partitions

_MAX_BYTES: Final = 16 << 20
_ROW_BYTES: Final = 2048
"""What one takes in memory besides its vector, features and text, about."""
_MOST_NEW: Final = 64
"""How many new rows are counted to see whether the old ones are all there."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """What is known of a partition in one state. States that differ by additions alone share the rows."""

    partition: bytes
    state: PartitionState
    rows: dict[int, StoredVector]
    """By their sequences. One above that of the state is another state's."""
    unsure: dict[int, StoredVector]
    """What was known before the partition lost some."""


class RecentVectors:
    """Shared by threads: each change is one step on a dict."""

    __slots__ = ("_bytes", "_databases", "_keys", "_shelves")

    def __init__(self, databases: Databases, keys: Keyring) -> None:
        """Know nothing yet."""
        self._databases = databases
        self._keys = keys
        self._shelves: dict[bytes, Shelf] = {}
        self._bytes = 0

    def shelf(self, txn: Transaction, partition: bytes, state: PartitionState) -> Shelf:
        """Return what is known of `partition`, which `txn` shows in `state`."""
        known = self._shelves.get(partition)
        if known is None:
            known = Shelf(partition, state, {}, {})
        elif known.state != state:
            old = known.state
            if (state.sequence, -state.rows) < (old.sequence, -old.rows):
                return Shelf(partition, state, {}, {})  # of a view from before
            if self._only_grew(txn, known, state):
                known = replace(known, state=state)
            else:
                known = Shelf(partition, state, {}, {**known.unsure, **known.rows})
        self._shelves[partition] = known
        return known

    def read(self, txn: Transaction, shelf: Shelf, sequence: int) -> StoredVector | None:
        """Return the vector at `sequence` and its entry, or None when either is gone or damaged."""
        unsure = shelf.unsure.get(sequence)
        if unsure is not None:
            place = vector_row(shelf.partition, sequence)
            if txn.get(place, db=self._databases.vectors) is not None:
                shelf.rows[sequence] = unsure
                return unsure
        found = Partitions(txn, self._databases, self._keys).stored(shelf.partition, sequence)
        if found is not None:
            self._keep(shelf, sequence, found)
        return found

    def _only_grew(self, txn: Transaction, known: Shelf, state: PartitionState) -> bool:
        after = known.state.sequence
        if state.sequence == after or state.rows - known.state.rows > _MOST_NEW:
            return False
        rows = Partitions(txn, self._databases, self._keys)
        new = rows.rows_after(known.partition, after, limit=_MOST_NEW + 1)
        return known.state.rows + new == state.rows

    def _keep(self, shelf: Shelf, sequence: int, found: StoredVector) -> None:
        """Remember what was found. Full means full: all is forgotten then."""
        if self._shelves.setdefault(shelf.partition, shelf).rows is not shelf.rows:
            return
        row = found.row
        size = len(row.vector) + len(row.features) + 4 * len(row.text) + _ROW_BYTES
        if self._bytes + size > _MAX_BYTES:
            shelves, self._shelves, self._bytes = self._shelves, {}, 0
            for one in list(shelves.values()):
                one.rows.clear()  # a snapshot has them too
                one.unsure.clear()
            return
        self._bytes += size
        shelf.rows[sequence] = found
