"""Reading: one short transaction over the rows."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from types import TracebackType
from typing import Self, TypeVar

import lmdb

from askonce_server.core.entries import Body, Entry, EntryKey
from askonce_server.ports import PartitionState, StoredVector, StoreUnavailable, VectorBlock
from askonce_server.storage.v1.record_pb2 import EntryRecord
from askonce_server.store.archive import LmdbArchive
from askonce_server.store.bars import BarRows
from askonce_server.store.departed import Departed
from askonce_server.store.environment import OpenEnvironment
from askonce_server.store.finality import Finality
from askonce_server.store.hits import Hits
from askonce_server.store.keyring import KeyMissing
from askonce_server.store.layout import Databases, Transaction, body_row, entry_row
from askonce_server.store.partitions import Partitions
from askonce_server.store.recent import RecentVectors, Shelf
from askonce_server.store.records import decode_body, decode_record, entry_of, key_of
from askonce_server.store.seals import Damaged
from askonce_server.store.snapshot import Snapshot, same_since

Counts = TypeVar("Counts")


class Readers:
    """The views that are open in this process, so that the map is not taken away under one."""

    __slots__ = (
        "_closed",
        "_env",
        "_newest",
        "_snapshot",
        "_views",
        "databases",
        "departed",
        "hits",
        "keys",
        "recent",
        "unreadable",
    )

    def __init__(
        self,
        opened: OpenEnvironment,
        hits: Hits,
        departed: Departed,
        unreadable: Callable[[Exception], StoreUnavailable],
    ) -> None:
        self._env = opened.env
        self._newest = opened.newest
        self.databases = opened.databases
        self.keys = opened.keys
        self.hits = hits
        self.departed = departed
        self.recent = RecentVectors(opened.databases, opened.keys)
        self.unreadable = unreadable
        """Turns a fault of reading into what the port raises."""
        self._views: dict[int, None] = {}
        self._closed = False
        self._snapshot = Snapshot(-1)

    def begin(self, view: LmdbReadView) -> Transaction:
        """Begin the transaction of `view`. Raises StoreUnavailable."""
        self._views[id(view)] = None  # before looking at _closed: close() looks the other way round
        if self._closed:
            self.end(view)
            raise StoreUnavailable("the store is closed")
        try:
            return self._begin()
        except lmdb.Error as fault:
            self.end(view)
            raise self.unreadable(fault) from fault

    def _begin(self) -> Transaction:
        try:
            return self._env.begin(buffers=True)
        except lmdb.ReadersFullError:
            self._env.reader_check()  # slots of processes that were killed
            return self._env.begin(buffers=True)

    def snapshot(self, txn: Transaction) -> Snapshot:
        """Return what is known of the snapshot that `txn` sees."""
        known, txn_id = self._snapshot, txn.id()
        before = known.txn_id
        if before <= txn_id and not known.full:
            if before == txn_id:
                return known
            if same_since(txn, self.databases, at=txn_id) <= before:
                known.txn_id = txn_id
                return known
        fresh = Snapshot(txn_id)
        if txn_id >= before:
            self._snapshot = fresh
        return fresh

    def recall(self, key: Hashable) -> object | None:
        """Return what was derived under `key` from the rows as they are now, or None. Begins nothing."""
        known = self._snapshot
        kept = known.derived.get(key)
        if kept is None or known.txn_id != self._newest.id() or self._closed:
            return None
        found, store_id = kept
        self.hits.mark(store_id)
        return found

    def end(self, view: LmdbReadView) -> None:
        """Forget `view`."""
        self._views.pop(id(view), None)

    def close(self) -> None:
        """Refuse further views."""
        self._closed = True

    def __len__(self) -> int:
        return len(self._views)


_NOTHING = Snapshot(-1)


class LmdbReadView:
    """One read transaction. Its slot in the reader table is free again as soon as the block ends."""

    __slots__ = ("_known", "_readers", "_txn")

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._txn: Transaction | None = None
        self._known = _NOTHING

    def __enter__(self) -> Self:
        self._txn = txn = self._readers.begin(self)
        self._known = self._readers.snapshot(txn)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        txn, self._txn = self._txn, None
        if txn is not None:
            txn.abort()
        del txn  # the slot is kept until the object is gone
        self._readers.end(self)

    def generations(self, names: Sequence[bytes]) -> tuple[bytes, ...]:
        """Return the value of each named generation, 16 bytes; zero when it was never raised."""
        wanted = tuple(names)
        known = self._known.generations.get(wanted)
        if known is not None and self._txn is not None:
            return known
        try:
            values = Finality(self._open(), self._readers.databases).generations(wanted)
        except (lmdb.Error, Damaged) as fault:
            raise self._readers.unreadable(fault) from fault
        self._known.keep_generations(wanted, values)
        return values

    def entry(self, key: EntryKey) -> Entry | None:
        """Return the entry at `key`, expired or not, or None."""
        row = entry_row(key)
        known = self._known.entries.get(row)
        if known is not None and known.key == key and self._txn is not None:
            return known
        try:
            value = self._open().get(row, db=self._readers.databases.entries)
        except lmdb.Error as fault:
            raise self._readers.unreadable(fault) from fault
        record = decode_record(EntryRecord, row, value)
        entry = None if record is None else entry_of(key, record)
        if entry is not None:
            self._known.keep_entry(row, entry)
        return entry

    def body(self, entry: Entry) -> Body | None:
        """Return the entry's body, or None when it is gone or damaged, or its key is not here."""
        self._readers.hits.mark(entry.store_id)
        row = body_row(entry.scope_root, entry.store_id)
        known = self._known.bodies.get(row)
        if known is not None and len(known.data) == entry.body_bytes and self._txn is not None:
            return known
        try:
            value = self._open().get(row, db=self._readers.databases.bodies)
        except lmdb.Error as fault:
            raise self._readers.unreadable(fault) from fault
        body = None if value is None else self._decoded(row, value, entry.body_bytes)
        if body is not None:
            self._known.keep_body(row, body)
        return body

    def _decoded(self, row: bytes, value: memoryview, body_bytes: int) -> Body | None:
        keys = self._readers.keys
        try:
            return decode_body(row, value, body_bytes=body_bytes, keys=keys)
        except KeyMissing as missing:
            keys.tell(missing)
            return None

    def bars(self, entry: Entry) -> tuple[bytes, ...]:
        """Return the vectors for which the entry was found wrong."""
        readers, entry_id = self._readers, entry.key.entry_id
        return self.measure(
            lambda txn: BarRows(txn, readers.databases.observations, readers.keys).of(entry_id)
        )

    def find(self, entry_id: bytes) -> Entry | None:
        """Return the entry with that id, whatever its scope, or None."""
        return self.measure(lambda txn: find_entry(txn, self._readers.databases, entry_id))

    def partition(self, partition: bytes) -> PartitionState:
        """Return the state of the partition."""
        known = self._known.partitions.get(partition)
        if known is not None and self._txn is not None:
            return known
        state = self.measure(lambda txn: self._partitions(txn).state(partition))
        self._known.keep_partition(partition, state)
        return state

    def vectors(self, partition: bytes, *, dim: int, after: int = 0, limit: int) -> VectorBlock:
        """Return at most `limit` live vectors of `dim` dimensions above `after`; fewer: there are no more."""
        return self.measure(
            lambda txn: self._partitions(txn).vectors(partition, dim=dim, after=after, limit=limit)
        )

    def stored_vectors(self, partition: bytes, sequences: Sequence[int]) -> list[StoredVector | None]:
        """Return what is stored at each sequence, None where the vector or its entry is gone or damaged."""
        shelf = self._known.shelves.get(partition)
        if shelf is None or self._txn is None:
            state = self.partition(partition)
            shelf = self.measure(lambda txn: self._readers.recent.shelf(txn, partition, state))
            self._known.keep_shelf(shelf)
        known, newest = shelf.rows, shelf.state.sequence
        found = [known.get(sequence) for sequence in sequences]
        if None not in found and max(sequences, default=0) <= newest:
            return found
        return [
            one if one is not None and sequence <= newest else self._stored_vector(shelf, int(sequence))
            for sequence, one in zip(sequences, found, strict=True)
        ]

    def _stored_vector(self, shelf: Shelf, sequence: int) -> StoredVector | None:
        return self.measure(lambda txn: self._readers.recent.read(txn, shelf, sequence))

    def keep(self, key: Hashable, found: object, *, entry: Entry, size: int) -> None:
        """Keep what was derived from the rows of this view."""
        self._known.keep_derived(key, found, store_id=entry.store_id, size=size)

    @property
    def archive(self) -> LmdbArchive:
        """What it tells operators besides."""
        readers = self._readers
        return LmdbArchive(self, readers.databases, readers.keys, readers.departed)

    def measure(self, count: Callable[[Transaction], Counts]) -> Counts:
        """Return what `count` finds in the transaction."""
        try:
            return count(self._open())
        except (lmdb.Error, Damaged) as fault:
            raise self._readers.unreadable(fault) from fault

    def _partitions(self, txn: Transaction) -> Partitions:
        return Partitions(txn, self._readers.databases, self._readers.keys)

    def _open(self) -> Transaction:
        if self._txn is None:
            raise StoreUnavailable("the view of the store has ended")
        return self._txn


def find_entry(txn: Transaction, databases: Databases, entry_id: bytes) -> Entry | None:
    """Return the entry with that id, or None."""
    prefix = txn.get(entry_id, db=databases.ids)
    row = bytes(prefix or b"") + entry_id
    record = None if prefix is None else decode_record(EntryRecord, row, txn.get(row, db=databases.entries))
    return None if record is None else entry_of(key_of(row, record), record)
