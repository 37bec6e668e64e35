"""What was read of one snapshot of the store, so that it is read once.

LMDB numbers its snapshots: a transaction with the same id sees the same rows, in every process. What one
view read therefore holds for every view of the same id. A commit, a purge among them, makes a new id, for
which it holds no more, unless that commit says of itself that it changed nothing but counts. It saves little
time by itself, but each call into LMDB lets go of the interpreter's lock; beside other threads getting it
back costs more than the call (`benchmarks/ghz/ratio.py`).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Final

from askonce_server.core.entries import Body, Entry
from askonce_server.ports import PartitionState
from askonce_server.store.layout import META_SAME_SINCE, Databases, Transaction
from askonce_server.store.recent import Shelf
from askonce_server.store.seals import seal, unseal

_MAX_BYTES: Final = 32 << 20
_MAX_BODY_BYTES: Final = 64 << 10
_ENTRY_BYTES: Final = 1024
"""What an entry takes in memory, about."""


@dataclass(slots=True)
class Snapshot:
    """Rows of one snapshot. Shared by threads: each change is one step on a dict."""

    txn_id: int
    """The newest snapshot that is known to have these rows."""
    generations: dict[tuple[bytes, ...], tuple[bytes, ...]] = field(default_factory=dict)
    entries: dict[bytes, Entry] = field(default_factory=dict)
    bodies: dict[bytes, Body] = field(default_factory=dict)
    partitions: dict[bytes, PartitionState] = field(default_factory=dict)
    shelves: dict[bytes, Shelf] = field(default_factory=dict)
    derived: dict[Hashable, tuple[object, int]] = field(default_factory=dict)
    full: bool = False
    """Whether something did not find room any more."""
    _bytes: int = 0

    def keep_generations(self, names: tuple[bytes, ...], values: tuple[bytes, ...]) -> None:
        """Remember the values of generations."""
        if self._has_room(_ENTRY_BYTES):
            self.generations[names] = values

    def keep_entry(self, row: bytes, entry: Entry) -> None:
        """Remember the entry at `row`."""
        if self._has_room(_ENTRY_BYTES):
            self.entries[row] = entry

    def keep_body(self, row: bytes, body: Body) -> None:
        """Remember the body at `row`, unless it is large: reading it again costs little beside sending it."""
        if len(body.data) <= _MAX_BODY_BYTES and self._has_room(len(body.data) + _ENTRY_BYTES):
            self.bodies[row] = body

    def keep_partition(self, partition: bytes, state: PartitionState) -> None:
        """Remember the state of a partition."""
        if self._has_room(_ENTRY_BYTES):
            self.partitions[partition] = state

    def keep_shelf(self, shelf: Shelf) -> None:
        """Remember where the vectors of a partition are that were read lately."""
        if self._has_room(_ENTRY_BYTES):
            self.shelves[shelf.partition] = shelf

    def keep_derived(self, key: Hashable, found: object, *, store_id: int, size: int) -> None:
        """Remember what a caller derived from the rows; `size` is what it and its key take, in bytes."""
        if self._has_room(size):
            self.derived[key] = (found, store_id)

    def _has_room(self, size: int) -> bool:
        """Take `size` bytes of the bound. Full means full: the next view begins anew."""
        if self._bytes + size > _MAX_BYTES:
            self.full = True
            return False
        self._bytes += size
        return True


def tell_same(txn: Transaction, databases: Databases, *, same: bool) -> None:
    """Say in the snapshot that `txn` makes whether it has the rows of the one before, but for counts."""
    if not same:
        txn.delete(META_SAME_SINCE, db=databases.meta)
        return
    since = same_since(txn, databases, at=txn.id() - 1).to_bytes(8, "big")
    txn.put(META_SAME_SINCE, seal(META_SAME_SINCE, since), db=databases.meta)


def same_since(txn: Transaction, databases: Databases, *, at: int) -> int:
    """Return the oldest snapshot known to have the rows, but for counts, of that which `txn` reads, `at`."""
    value = txn.get(META_SAME_SINCE, db=databases.meta)
    since = None if value is None else unseal(META_SAME_SINCE, value)
    return at if since is None else min(int.from_bytes(since, "big"), at)
