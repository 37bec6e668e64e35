"""The twin of the embedded store that keeps everything in memory, for tests."""

from __future__ import annotations

import logging
import secrets
import threading
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Final

from askonce_server.core.entries import EntryKey, Write
from askonce_server.core.fates import Fate, Gone
from askonce_server.core.labels import Label
from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import (
    NO_BARS,
    Counted,
    LabelPage,
    Past,
    Reach,
    StoreStats,
    StoreUnavailable,
    Swept,
)
from askonce_server.store.costs import MIB, write_cost
from askonce_server.store.departed import Departed, identity
from askonce_server.store.finality import TOMBSTONE_MS
from askonce_server.store.hits import Hits
from askonce_server.store.layout import entry_row
from askonce_server.store.memory_history import MemoryHistory
from askonce_server.store.memory_labels import MemoryLabels
from askonce_server.store.memory_rows import MemoryRows
from askonce_server.store.memory_view import MemoryReadView
from askonce_server.store.prepared import Prepared, prepare
from askonce_server.store.sieve import victims

_log = logging.getLogger(__name__)


class MemoryEntryStore:
    """The EntryStore in memory, limited to `max_bytes`."""

    def __init__(self, *, max_bytes: int = 256 * MIB) -> None:
        self._limit_bytes: Final = max_bytes
        self._lock = threading.Lock()
        self._rows = MemoryRows()
        self._hits = Hits()
        self.departed = Departed()
        self.departed.follow(secrets.token_bytes(32))
        self._history = MemoryHistory()
        self._labels = MemoryLabels()
        self._hand = 0
        self._evicted = 0
        self._commits = 0
        self._writes = 0
        self._closed = False

    def read(self) -> MemoryReadView:
        """Open a view. Entering it raises StoreUnavailable once the store is closed."""
        return MemoryReadView(self)

    def recall(self, key: Hashable) -> None:
        """Return None: nothing was kept."""

    def borrow(self) -> MemoryRows:
        """Return the rows as they are now; nothing changes them until they are given back."""
        with self._lock:
            self._check_open()
            self._rows.views += 1
            return self._rows

    def mark(self, store_id: int) -> None:
        """Remember that a Store was read."""
        self._hits.mark(store_id)

    def give_back(self, rows: MemoryRows) -> None:
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

    def note_refused(
        self, keys: Sequence[EntryKey], scope_root: bytes, reason: RefusalReason, *, at_ms: int
    ) -> None:
        """Remember for a while that an answer for these entries was refused; see the port."""
        for key in keys:
            self.departed.note(identity(key, scope_root), Gone(Fate.REFUSED, at_ms, reason))

    def raise_generations(self, values: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Give each named generation a new value: what is older becomes unreachable."""
        with self._lock:
            self._changing().generations.update({name: (value, at_ms) for name, value in values.items()})

    def reach(self, names: Collection[bytes], *, within: Collection[bytes] = ()) -> Reach:
        """Count what raising these generations would make unreachable."""
        with self._lock:
            return self._rows.reach(names, within=within)

    def delete(self, entry_id: bytes, *, at_ms: int) -> list[EntryKey]:
        """Remove the entry with that id and the others of its Store, finally; see the port."""
        with self._lock:
            rows = self._changing()
            found = rows.find(entry_id)
            self._note(() if found is None else rows.stores[found.store_id], Fate.DELETED, at_ms)
            return rows.delete(entry_id, at_ms=at_ms)

    def sweep(self, now_ms: int) -> Swept:
        """Remove what has expired, and what a purge left. Raises StoreUnavailable."""
        with self._lock:
            self._check_open()
            rows = self._changing()
            expired, unreachable = rows.expired(now_ms), rows.unreachable()
            self._note(unreachable, Fate.PURGED, now_ms)
            self._note(expired, Fate.EXPIRED, now_ms)
            rows.remove([*expired, *unreachable])
            self._labels.remove(lambda label: not rows.holds(label.generations))
            forgotten = rows.forget_tombstones(now_ms - TOMBSTONE_MS)
        return Swept(expired=len(expired) + forgotten, unreachable=len(unreachable))

    def problem(self) -> str | None:
        """Say why the store cannot be used now, or None when it can."""
        return "the store is closed" if self._closed else None

    def stats(self) -> StoreStats:
        """Count. Raises StoreUnavailable."""
        with self._lock:
            self._check_open()
            rows = self._rows
            return StoreStats(
                commits=self._commits,
                writes=self._writes,
                entries=len(rows.entries),
                used_bytes=rows.used_bytes,
                evicted=self._evicted,
                unreachable=len(rows.unreachable()),
                partitions=len(rows.partitions),
                limit_bytes=self._limit_bytes,
            )

    def entries_by_rule(self) -> Mapping[str, int]:
        """Count what each rule stored. Raises StoreUnavailable."""
        with self._lock:
            self._check_open()
            return Counter(entry.answer.rule_id for entry in self._rows.entries.values())

    def add_counts(self, server: bytes, counted: Counted, *, at_ms: int) -> None:
        """Take over what a server counted; see the port. Raises StoreUnavailable."""
        with self._lock:
            self._check_open()
            self._history.add(server, counted, at_ms=at_ms)

    def counts_since(self, since_ms: int, *, server: bytes) -> Past:
        """Return what was counted from the hour of `since_ms` on. Raises StoreUnavailable."""
        with self._lock:
            self._check_open()
            return self._history.since(since_ms, server=server)

    def file_labels(
        self,
        labels: Sequence[Label],
        groups: Mapping[EntryKey, bytes],
        bars: Mapping[EntryKey, bytes] = NO_BARS,
    ) -> None:
        """Keep labels, give entries their groups and bar some; see the port. Raises StoreUnavailable."""
        with self._lock:
            self._check_open()
            for label in labels:
                if self._rows.holds(label.generations):
                    self._labels.add(label)
            for key, group in groups.items():
                self._changing().regroup(entry_row(key), group)
            for key, vector in bars.items():
                self._changing().bar(key, vector)

    def labels(self, after: int, *, limit: int) -> LabelPage:
        """Return labels that came after number `after`. Raises StoreUnavailable."""
        with self._lock:
            self._check_open()
            return self._labels.page(after, limit=limit)

    def close(self) -> None:
        """Refuse everything from now on."""
        self._closed = True

    def _check_open(self) -> None:
        if self._closed:
            raise StoreUnavailable("the store is closed")

    def _put(self, write: Write) -> RefusalReason | None:
        if self._closed:
            return RefusalReason.STORE_FAILED
        try:
            prepared = prepare(write)
        except Exception:
            _log.exception("a write cannot be stored as it is")
            return RefusalReason.STORE_FAILED
        if not self._rows.admits(write):
            return RefusalReason.GENERATION_CHANGED
        if not self._make_room(prepared):
            return RefusalReason.STORE_FULL
        self._hits.take(self._changing().file(prepared))
        return None

    def _make_room(self, prepared: Prepared) -> bool:
        """Make room as the embedded store does, by the same rules."""
        if self._fits(prepared):
            return True
        if write_cost(prepared) > self._limit_bytes // 2:
            return False
        expired = self._rows.expired(prepared.write.answer.store_ms)
        now_ms = prepared.write.answer.store_ms
        self._note(expired, Fate.EXPIRED, now_ms)
        rows = self._changing()
        rows.remove(expired)
        chosen = victims(rows.stores_from, self._hand, self._hits.take)
        while not self._fits(prepared) and (victim := next(chosen, None)) is not None:
            self._note(rows.stores[victim], Fate.EVICTED, now_ms)
            rows.remove(list(rows.stores[victim]))
            self._hand = next(rows.stores_from(victim + 1), 0)
            self._evicted += 1
        return self._fits(prepared)

    def _note(self, rows: Iterable[bytes], fate: Fate, at_ms: int) -> None:
        """Remember what becomes of the entries at `rows`, which are still there."""
        for row in rows:
            entry = self._rows.entries[row]
            when = entry.answer.expire_ms if fate is Fate.EXPIRED else at_ms
            self.departed.note(identity(entry.key, entry.scope_root), Gone(fate, when))

    def _fits(self, prepared: Prepared) -> bool:
        freed = self._rows.reclaimable(entry_row(key) for key in prepared.keys)
        return self._rows.used_bytes + max(write_cost(prepared) - freed, 0) <= self._limit_bytes

    def _changing(self) -> MemoryRows:
        """Return rows that may be changed: those that a view sees stay as they are."""
        if self._rows.views:
            self._rows = self._rows.copy()
        return self._rows
