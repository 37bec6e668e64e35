"""Reading: one short transaction over the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self, TypeVar

import lmdb

from askonce_server.core.entries import Body, Entry, EntryKey
from askonce_server.ports import StoreUnavailable
from askonce_server.store.layout import Databases, body_row, entry_row
from askonce_server.store.records import Damaged, decode_body, decode_entry, entry_of
from askonce_server.store.rows import Transaction, current_generations

Counts = TypeVar("Counts")


class Readers:
    """The views that are open in this process, so that the map is not taken away under one."""

    __slots__ = ("_closed", "_env", "_views", "databases", "unreadable")

    def __init__(
        self,
        env: lmdb.Environment,
        databases: Databases,
        unreadable: Callable[[Exception], StoreUnavailable],
    ) -> None:
        self._env = env
        self.databases = databases
        self.unreadable = unreadable
        """Turns a fault of reading into what the port raises."""
        self._views: dict[int, None] = {}
        self._closed = False

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

    def end(self, view: LmdbReadView) -> None:
        """Forget `view`."""
        self._views.pop(id(view), None)

    def close(self) -> None:
        """Refuse further views."""
        self._closed = True

    def __len__(self) -> int:
        return len(self._views)


class LmdbReadView:
    """One read transaction. Its slot in the reader table is free again as soon as the block ends."""

    __slots__ = ("_readers", "_txn")

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._txn: Transaction | None = None

    def __enter__(self) -> Self:
        self._txn = self._readers.begin(self)
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
        try:
            return current_generations(self._open(), self._readers.databases.generations, names)
        except (lmdb.Error, Damaged) as fault:
            raise self._readers.unreadable(fault) from fault

    def entry(self, key: EntryKey) -> Entry | None:
        """Return the entry at `key`, expired or not, or None."""
        row = entry_row(key)
        try:
            value = self._open().get(row, db=self._readers.databases.entries)
        except lmdb.Error as fault:
            raise self._readers.unreadable(fault) from fault
        record = None if value is None else decode_entry(row, value)
        return None if record is None else entry_of(key, record)

    def body(self, entry: Entry) -> Body | None:
        """Return the entry's body, checked against its hash, or None when it is gone or damaged."""
        row = body_row(entry.scope_root, entry.store_id)
        try:
            value = self._open().get(row, db=self._readers.databases.bodies)
        except lmdb.Error as fault:
            raise self._readers.unreadable(fault) from fault
        return None if value is None else decode_body(row, value, body_bytes=entry.body_bytes)

    def measure(self, count: Callable[[Transaction], Counts]) -> Counts:
        """Return what `count` finds in the transaction."""
        try:
            return count(self._open())
        except lmdb.Error as fault:
            raise self._readers.unreadable(fault) from fault

    def _open(self) -> Transaction:
        if self._txn is None:
            raise StoreUnavailable("the view of the store has ended")
        return self._txn
