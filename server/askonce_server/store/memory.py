"""The twin of the embedded store that keeps everything in memory, for tests."""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Final, Self

from askonce_server.core.entries import ZERO_GENERATION, Body, Entry, EntryKey, Write
from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import StoreStats, StoreUnavailable
from askonce_server.store.layout import body_row, entry_row
from askonce_server.store.records import Prepared, prepare
from askonce_server.store.rows import ENTRY_COST, body_cost, write_cost
from askonce_server.store.space import MIB

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _BodyRow:
    body: Body
    references: int


@dataclass(slots=True)
class _Rows:
    """The rows that a view sees. They are copied before a change while any view is open."""

    entries: dict[bytes, Entry] = field(default_factory=dict)
    bodies: dict[bytes, _BodyRow] = field(default_factory=dict)
    generations: dict[bytes, bytes] = field(default_factory=dict)
    used_bytes: int = 0
    views: int = 0

    def copy(self) -> _Rows:
        return _Rows(dict(self.entries), dict(self.bodies), dict(self.generations), self.used_bytes)

    def file(self, prepared: Prepared, store_id: int) -> None:
        write, rows = prepared.write, {entry_row(key): key for key in prepared.keys}
        self.remove(rows)
        for row, key in rows.items():
            self.entries[row] = Entry(key, write.answer, write.scope_root, store_id, len(write.body.data))
        self.bodies[body_row(write.scope_root, store_id)] = _BodyRow(write.body, len(rows))
        self.used_bytes += write_cost(prepared)

    def remove(self, rows: Iterable[bytes]) -> None:
        self.used_bytes -= self.reclaimable(rows := list(rows))
        released = self._released(rows)
        for row in rows:
            self.entries.pop(row, None)
        for row, count in released.items():
            found = self.bodies[row]
            if found.references > count:
                self.bodies[row] = replace(found, references=found.references - count)
            else:
                del self.bodies[row]

    def reclaimable(self, rows: Iterable[bytes]) -> int:
        released = self._released(rows := list(rows))
        gone = [self.bodies[row] for row, count in released.items() if self.bodies[row].references <= count]
        bodies = sum(body_cost(len(found.body.data)) for found in gone)
        return bodies + ENTRY_COST * sum(1 for row in rows if row in self.entries)

    def expired(self, now_ms: int) -> list[bytes]:
        return [row for row, entry in self.entries.items() if entry.answer.expire_ms <= now_ms]

    def _released(self, rows: Iterable[bytes]) -> Counter[bytes]:
        entries = [self.entries[row] for row in rows if row in self.entries]
        return Counter(body_row(entry.scope_root, entry.store_id) for entry in entries)


class MemoryReadView:
    """A view of what was there when it was entered."""

    __slots__ = ("_rows", "_store")

    def __init__(self, store: MemoryEntryStore) -> None:
        self._store = store
        self._rows: _Rows | None = None

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
        generations = self._open().generations
        return tuple(generations.get(name, ZERO_GENERATION) for name in names)

    def entry(self, key: EntryKey) -> Entry | None:
        """Return the entry at `key`, expired or not, or None."""
        entry = self._open().entries.get(entry_row(key))
        if entry is None or (entry.key.fingerprint, entry.key.matcher) != (key.fingerprint, key.matcher):
            return None
        return entry

    def body(self, entry: Entry) -> Body | None:
        """Return the entry's body, or None when it is gone."""
        found = self._open().bodies.get(body_row(entry.scope_root, entry.store_id))
        return None if found is None else found.body

    def _open(self) -> _Rows:
        if self._rows is None:
            raise StoreUnavailable("the view of the store has ended")
        return self._rows


class MemoryEntryStore:
    """The EntryStore in memory, limited to `max_bytes`."""

    def __init__(self, *, max_bytes: int = 256 * MIB) -> None:
        self._limit_bytes: Final = max_bytes
        self._lock = threading.Lock()
        self._rows = _Rows()
        self._next_store_id = 1
        self._commits = 0
        self._writes = 0
        self._closed = False

    def read(self) -> MemoryReadView:
        """Open a view. Entering it raises StoreUnavailable once the store is closed."""
        return MemoryReadView(self)

    def borrow(self) -> _Rows:
        """Return the rows as they are now; nothing changes them until they are given back."""
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            self._rows.views += 1
            return self._rows

    def give_back(self, rows: _Rows) -> None:
        """End a loan of `rows`."""
        with self._lock:
            rows.views -= 1

    def put(self, writes: Sequence[Write]) -> list[RefusalReason | None]:
        """Store each write, all or nothing of each; see the port. Never raises."""
        with self._lock:
            results = [self._put(write) for write in writes]
            written = sum(1 for result in results if result is None)
            self._writes += written
            self._commits += written > 0
        return results

    def remove(self, keys: Sequence[EntryKey]) -> None:
        """Remove the entries at `keys` and the bodies that only they refer to."""
        with self._lock:
            self._changing().remove(entry_row(key) for key in keys)

    def raise_generations(self, values: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Give each named generation (32 bytes) a new value (16 bytes): what is older becomes unreachable."""
        del at_ms  # nobody reads the time of a raise yet
        with self._lock:
            self._changing().generations.update(values)

    def problem(self) -> str | None:
        """Say why the store cannot be used now, or None when it can."""
        return "the store is closed" if self._closed else None

    def stats(self) -> StoreStats:
        """Count. Raises StoreUnavailable."""
        with self._lock:
            if self._closed:
                raise StoreUnavailable("the store is closed")
            rows = self._rows
            return StoreStats(
                commits=self._commits,
                writes=self._writes,
                entries=len(rows.entries),
                used_bytes=rows.used_bytes,
                limit_bytes=self._limit_bytes,
            )

    def close(self) -> None:
        """Refuse everything from now on."""
        self._closed = True

    def _put(self, write: Write) -> RefusalReason | None:
        if self._closed:
            return RefusalReason.STORE_FAILED
        try:
            prepared = prepare(write)
        except Exception:
            _log.exception("a write cannot be stored as it is")
            return RefusalReason.STORE_FAILED
        held, names = self._rows.generations, write.generations.names
        if tuple(held.get(name, ZERO_GENERATION) for name in names) != write.generations.values:
            return RefusalReason.GENERATION_CHANGED
        if not self._make_room(prepared):
            return RefusalReason.STORE_FULL
        self._changing().file(prepared, self._next_store_id)
        self._next_store_id += 1
        return None

    def _make_room(self, prepared: Prepared) -> bool:
        cost, limit = write_cost(prepared), self._limit_bytes
        if self._rows.used_bytes + cost <= limit:
            return True
        expired = self._rows.expired(prepared.write.answer.store_ms)
        if expired:
            self._changing().remove(expired)
        freed = self._rows.reclaimable(entry_row(key) for key in prepared.keys)
        return self._rows.used_bytes + max(cost - freed, 0) <= limit

    def _changing(self) -> _Rows:
        """Return rows that may be changed: those that a view sees stay as they are."""
        if self._rows.views:
            self._rows = self._rows.copy()
        return self._rows
