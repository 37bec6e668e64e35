"""A view of the store that keeps everything in memory."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from types import TracebackType
from typing import Protocol, Self

from askonce_server.core.entries import Body, Entry, EntryKey
from askonce_server.ports import PartitionState, StoredVector, StoreUnavailable, VectorBlock
from askonce_server.store.departed import Departed
from askonce_server.store.layout import body_row, entry_row
from askonce_server.store.memory_archive import MemoryArchive
from askonce_server.store.memory_rows import MemoryRows


class Lender(Protocol):
    """Whose rows are seen."""

    departed: Departed

    def borrow(self) -> MemoryRows:
        """Return the rows as they are now; nothing changes them until they are given back."""

    def give_back(self, rows: MemoryRows) -> None:
        """End a loan of `rows`."""

    def mark(self, store_id: int) -> None:
        """Remember that a Store was read."""


class MemoryReadView:
    """A view of what was there when it was entered."""

    __slots__ = ("_rows", "_store")

    def __init__(self, store: Lender) -> None:
        self._store = store
        self._rows: MemoryRows | None = None

    def __enter__(self) -> Self:
        self._rows = self._store.borrow()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        rows, self._rows = self._rows, None
        if rows is not None:
            self._store.give_back(rows)

    def generations(self, names: Sequence[bytes]) -> tuple[bytes, ...]:
        """Return the value of each named generation, 16 bytes; zero when it was never raised."""
        return tuple(map(self._open().value, names))

    def entry(self, key: EntryKey) -> Entry | None:
        """Return the entry at `key`, expired or not, or None."""
        entry = self._open().entries.get(entry_row(key))
        if entry is None or (entry.key.fingerprint, entry.key.matcher) != (key.fingerprint, key.matcher):
            return None
        return entry

    def body(self, entry: Entry) -> Body | None:
        """Return the entry's body, or None when it is gone."""
        self._store.mark(entry.store_id)
        found = self._open().bodies.get(body_row(entry.scope_root, entry.store_id))
        return None if found is None else found.body

    def bars(self, entry: Entry) -> tuple[bytes, ...]:
        """Return the vectors for which the entry was found wrong."""
        return self._open().bars.get(entry.key.entry_id, ())

    def find(self, entry_id: bytes) -> Entry | None:
        """Return the entry with that id, whatever its scope, or None."""
        return self._open().find(entry_id)

    def partition(self, partition: bytes) -> PartitionState:
        """Return the state of the partition."""
        return self._open().state(partition)

    def vectors(self, partition: bytes, *, dim: int, after: int = 0, limit: int) -> VectorBlock:
        """Return at most `limit` live vectors of `dim` dimensions above `after`; fewer: there are no more."""
        return self._open().block(partition, dim=dim, after=after, limit=limit)

    def stored_vectors(self, partition: bytes, sequences: Sequence[int]) -> list[StoredVector | None]:
        """Return what is stored at each sequence, None where the vector or its entry is gone."""
        rows = self._open()
        return [rows.stored(partition, int(sequence)) for sequence in sequences]

    def keep(self, key: Hashable, found: object, *, entry: Entry, size: int) -> None:
        """Forget it at once: looking again costs nothing here."""

    @property
    def archive(self) -> MemoryArchive:
        """What it tells operators besides."""
        return MemoryArchive(self._open(), self._store.departed)

    def _open(self) -> MemoryRows:
        if self._rows is None:
            raise StoreUnavailable("the view of the store has ended")
        return self._rows
