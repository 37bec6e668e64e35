"""What a view of the store in memory tells operators."""

from __future__ import annotations

from collections.abc import Sequence

from askonce_server.core.entries import Entry, EntryKey
from askonce_server.core.fates import Fate, Gone, latest
from askonce_server.ports.archive import Kept
from askonce_server.store.departed import Departed, identity
from askonce_server.store.layout import body_row
from askonce_server.store.memory_rows import MemoryRows


class MemoryArchive:
    """The Archive of one view."""

    def __init__(self, rows: MemoryRows, departed: Departed) -> None:
        self._rows = rows
        self._departed = departed

    def newest(self, scope_root: bytes, *, limit: int) -> list[Kept]:
        """Return the newest Stores of a scope, newest first, at most `limit`."""
        rows = self._rows
        found: list[Kept] = []
        for store_id in sorted(rows.stores, reverse=True):
            if body_row(scope_root, store_id) in rows.bodies and len(found) < limit:
                entries = tuple(rows.entries[row] for row in rows.stores[store_id])
                found.append(Kept(entries, rows.outlines[store_id]))
        return found

    def raised_ms(self, names: Sequence[bytes]) -> tuple[int | None, ...]:
        """Return when each named generation was last raised, None where it never was."""
        raised = self._rows.generations
        return tuple(raised[name][1] if name in raised else None for name in names)

    def gone(self, key: EntryKey, scope_root: bytes) -> Gone | None:
        """Return why there is no entry at `key`, where that is remembered."""
        at_ms = self._rows.tombstones.get(key.entry_id)
        deleted = None if at_ms is None else Gone(Fate.DELETED, at_ms)
        return latest(self._departed.find(identity(key, scope_root)), deleted)

    def holds_body(self, entry: Entry) -> bool:
        """Whether the entry's body is there."""
        return body_row(entry.scope_root, entry.store_id) in self._rows.bodies
