"""What a write transaction does to the rows, so that all of them always agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice

from askonce_server.core.entries import EntryKey, SemanticRow, Write
from askonce_server.core.fates import Fate, Gone
from askonce_server.core.labels import Label
from askonce_server.ports import NO_BARS, Counted
from askonce_server.storage.v1.record_pb2 import EntryRecord
from askonce_server.store.bars import BarRows
from askonce_server.store.departed import identity_of
from askonce_server.store.filed import FiledRows, by_store
from askonce_server.store.finality import Finality
from askonce_server.store.history import HistoryRows
from askonce_server.store.keyring import Keyring
from askonce_server.store.labels import LabelRows
from askonce_server.store.layout import (
    ID_BYTES,
    META_NEXT_SEQUENCE,
    META_NEXT_STORE_ID,
    META_SWEPT_RAISES,
    META_TOUCHED,
    Databases,
    Transaction,
    entry_row,
    expiry_row,
    is_tombstone,
    split_expiry_row,
)
from askonce_server.store.prepared import Prepared
from askonce_server.store.records import (
    encode_entry,
    expiry_of,
    key_of,
)
from askonce_server.store.scopes import ScopeRows
from askonce_server.store.seals import seal
from askonce_server.store.snapshot import tell_same
from askonce_server.store.unreachable import Removal
from askonce_server.store.verification import Finding, Verification


class Rows(FiledRows):
    """The rows of one store, seen and changed by one write transaction."""

    __slots__ = (
        "_bars",
        "_finality",
        "_labels",
        "_scopes",
        "changed",
        "counted",
        "departed",
        "evicted",
    )

    def __init__(self, txn: Transaction, databases: Databases, keys: Keyring) -> None:
        super().__init__(txn, databases, keys)
        self._finality = Finality(txn, databases)
        self._labels = LabelRows(txn, databases.observations)
        self._bars = BarRows(txn, databases.observations, keys)
        self._scopes = ScopeRows(txn, databases)
        self.changed = False
        """Whether anything changed that a decision may depend on."""
        self.counted = False
        """Whether counts changed, on which no decision depends."""
        self.evicted = 0
        """Stores that were removed to make room."""
        self.departed: list[tuple[bytes, Gone]] = []
        """The entries that were removed and why, to be remembered once that is committed."""

    def admits(self, write: Write) -> bool:
        """Whether nothing that `write` depends on was purged or deleted since it began. Raises Damaged."""
        return self._finality.admits(write)

    def add_counts(self, server: bytes, counted: Counted, *, at_ms: int) -> None:
        """Take over what a server counted; see the port."""
        if HistoryRows(self._txn, self._databases.stats).add(server, counted, at_ms=at_ms):
            self.counted = True

    def file_labels(
        self,
        labels: Sequence[Label],
        groups: Mapping[EntryKey, bytes],
        bars: Mapping[EntryKey, bytes] = NO_BARS,
    ) -> None:
        """Keep labels, give entries their groups and bar some; see the port."""
        for label in labels:
            if self._finality.holds(label.generations) and self._labels.add(label):
                self.counted = True
        for key, group in groups.items():
            self._regroup(key, group)
        for key, vector in bars.items():
            if self._txn.get(entry_row(key), db=self._databases.entries) is not None:
                self._bars.add(key.entry_id, vector)
                self.changed = True

    def _regroup(self, key: EntryKey, group: bytes) -> None:
        """Give an entry its group: its vector is filed anew, since what was read of a vector stays true."""
        row = entry_row(key)
        record = self._records([row]).get(row)
        if record is None:
            return
        semantic = self._partitions.semantic(key.partition, record.sequence)
        if semantic is None or semantic.group == group:
            return
        before = record.sequence
        record.sequence = self._file_vector(key, semantic._replace(group=group))
        self._txn.put(row, seal(row, record.SerializeToString()), db=self._databases.entries)
        self._partitions.remove(key.partition, key.scope_key, before)
        self.changed = True

    def settle(self) -> bool:
        """Note whether what was read of the snapshot before still holds; return whether to commit."""
        if self.changed or self.counted:
            tell_same(self._txn, self._databases, same=not self.changed)
        return self.changed or self.counted

    def raise_generations(self, values: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Give each named generation a new value."""
        self.changed = True
        self._finality.raise_generations(values, at_ms=at_ms)

    def delete(self, entry_id: bytes, *, at_ms: int) -> list[EntryKey]:
        """Remove the entry with that id and the others of its Store, finally; return their keys."""
        self.changed = True
        prefix = self._txn.get(entry_id, db=self._databases.ids)
        first = self._records(() if prefix is None else (bytes(prefix) + entry_id,))
        store_ids = {record.store_id for record in first.values()}
        rows = [row for store_id in store_ids for row in self._bodies.entries(store_id)]
        records = self._records(rows) or first
        self._remove_records(records)
        self._note(records, Gone(Fate.DELETED, at_ms))
        for buried in {entry_id, *(row[ID_BYTES:] for row in records)}:
            self._finality.bury(buried, at_ms=at_ms)
        return [key_of(row, record) for row, record in records.items()]

    def finish_removal(self, removal: Removal) -> None:
        """Note that everything unreachable up to a raise was removed."""
        self._labels.remove(lambda label: not self._finality.holds(label.generations))
        for scope_key in removal.emptied:
            self._txn.delete(scope_key, db=self._databases.scopes)
        self.set_meta(META_SWEPT_RAISES, removal.raises.to_bytes(8, "big"))

    def file(self, prepared: Prepared) -> int:
        """File a write under each of its keys, in place of what was there; return its store id."""
        self.changed = True
        write, rows = prepared.write, {entry_row(key): key for key in prepared.keys}
        self._remove_records(self._records(rows))
        store_id = self._next(META_NEXT_STORE_ID)
        self._bodies.file(prepared, store_id=store_id, entries=list(rows))
        databases = self._databases
        for row, key in rows.items():
            sequence = self._file_vector(key, write.semantic)
            value = encode_entry(row, key, prepared, store_id=store_id, sequence=sequence)
            self._txn.put(row, value, db=databases.entries)
            self._txn.put(expiry_row(write.remove_ms, row), b"", db=databases.expiry)
            self._txn.put(key.entry_id, key.prefix, db=databases.ids)
            self._scopes.count_in(key.scope_key, write)
        return store_id

    def _file_vector(self, key: EntryKey, semantic: SemanticRow | None) -> int:
        """File the vector of a semantic entry and return its sequence, else 0."""
        if not key.partition or semantic is None:
            return 0
        sequence = self._next(META_NEXT_SEQUENCE)
        self._partitions.file(key, semantic, sequence=sequence)
        return sequence

    def mend(self, *, limit: int) -> list[Finding]:
        """Mend at most `limit` rows that do not agree; return what was found and mended."""
        findings = Verification(self._txn, self._databases, self._keys).findings()
        found = list(islice((finding for finding in findings if finding.mendable), limit))
        self.changed = self.changed or bool(found)
        for finding in found:
            database = getattr(self._databases, finding.database)
            if finding.value is None:
                self._txn.delete(finding.row, db=database)
            else:
                self._txn.put(finding.row, finding.value, db=database)
        return found

    def touch(self) -> None:
        """Change something that means nothing, to see whether anything can be written."""
        self.set_meta(META_TOUCHED, b"")
        self._txn.delete(META_TOUCHED, db=self._databases.meta)

    def meta(self, name: bytes) -> bytes | None:
        """Return what `meta` holds under `name`."""
        value = self._txn.get(name, db=self._databases.meta)
        return None if value is None else bytes(value)

    def set_meta(self, name: bytes, value: bytes) -> None:
        """Let `meta` hold `value` under `name`."""
        self.changed = True
        self._txn.put(name, value, db=self._databases.meta)

    def remove(self, rows: Iterable[bytes], gone: Gone | None = None) -> int:
        """Remove the entries at `rows` and the bodies that only they refer to; return how many there were.

        `gone` is what is remembered of them.
        """
        records = self._records(rows)
        self._remove_records(records)
        if gone is not None:
            self._note(records, gone)
        return len(records)

    def remove_expired(self, now_ms: int, *, limit: int) -> int:
        """Remove at most `limit` of what may be removed by now, oldest first; return how many.

        Entries past their ttl, and tombstones that nobody can offend against any more.
        """
        expired: list[tuple[bytes, bytes]] = []
        with self._txn.cursor(db=self._databases.expiry) as cursor:
            for view in cursor.iternext(keys=True, values=False):
                key = bytes(view)
                remove_ms, row = split_expiry_row(key)
                if remove_ms > now_ms or len(expired) == limit:
                    break
                expired.append((key, row))
        records = self._records(row for _, row in expired if not is_tombstone(row))
        self.changed = self.changed or bool(expired)
        for key, row in expired:
            record = records.get(row)
            if record is not None and expiry_of(row, record) != key:
                del records[row]  # a left-over of damage: the entry has another expiry row
            if is_tombstone(row):
                self._finality.unbury(row)
            self._txn.delete(key, db=self._databases.expiry)
        self._remove_records(records)
        for row, record in records.items():
            self._note({row: record}, Gone(Fate.EXPIRED, record.expire_ms))
        return len(expired)

    def evict(self, store_id: int, *, now_ms: int) -> None:
        """Remove what is left of a Store, to make room."""
        self.changed = True
        self.remove(self._bodies.entries(store_id), Gone(Fate.EVICTED, now_ms))
        self._bodies.forget(store_id)

    def _note(self, records: Mapping[bytes, EntryRecord], gone: Gone) -> None:
        for row, record in records.items():
            what = identity_of(
                record.matcher,
                scope_root=record.scope_root,
                fingerprint=record.fingerprint,
                entry_id=row[ID_BYTES:],
            )
            self.departed.append((what, gone))

    def _remove_records(self, records: Mapping[bytes, EntryRecord]) -> None:
        self.changed = self.changed or bool(records)
        databases = self._databases
        for row, record in records.items():
            prefix = row[:ID_BYTES]
            self._txn.delete(row, db=databases.entries)
            self._txn.delete(expiry_of(row, record), db=databases.expiry)
            self._txn.delete(row[ID_BYTES:], db=databases.ids)
            if record.sequence:
                self._partitions.remove(prefix, record.scope_key, record.sequence)
                self._bars.remove(row[ID_BYTES:])
            self._scopes.count_out(record.scope_key or prefix, record.body_bytes)
        for (scope_root, store_id), entries in by_store(records).items():
            self._bodies.release(scope_root, store_id, entries)

    def _next(self, counter: bytes) -> int:
        """Return a number of `counter` that was never given before."""
        value = self.meta(counter)
        number = 1 if value is None else int.from_bytes(value, "big")
        self.set_meta(counter, (number + 1).to_bytes(8, "big"))
        return number
