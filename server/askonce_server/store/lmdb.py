"""The embedded store: entries and bodies in one LMDB environment."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Final

from askonce_server.core.entries import EntryKey, Write
from askonce_server.core.fates import Fate, Gone
from askonce_server.core.labels import Label
from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import NO_BARS, Counted, LabelPage, Past, Reach, StoreStats
from askonce_server.store.departed import identity
from askonce_server.store.eviction import make_room
from askonce_server.store.history import HistoryRows
from askonce_server.store.hits import Hits
from askonce_server.store.jobs import Job, Ticket
from askonce_server.store.labels import LabelRows
from askonce_server.store.layout import Transaction, entry_row
from askonce_server.store.prepared import Prepared, prepare
from askonce_server.store.rows import Rows
from askonce_server.store.scopes import entries_by_rule
from askonce_server.store.settled import SettlingStore
from askonce_server.store.space import Space, used_bytes
from askonce_server.store.sweeping import SweepingStore
from askonce_server.store.unreachable import Scopes

_JOB_BYTES: Final = 1024
"""What a waiting write holds in memory besides its body."""
_log = logging.getLogger(__name__)


class LmdbEntryStore(SettlingStore, SweepingStore):
    """The EntryStore of one process on a local disk. Made by `open_store`."""

    def put(self, writes: Sequence[Write]) -> list[RefusalReason | None]:
        """Store each write, all or nothing of each; see the port. Never raises."""
        ticket = Ticket()
        jobs = [self._job(write, ticket) for write in writes]
        self._writer.submit([job for job in jobs if job is not None], ticket)
        return [RefusalReason.STORE_FAILED if job is None else job.result for job in jobs]

    def note_refused(
        self, keys: Sequence[EntryKey], scope_root: bytes, reason: RefusalReason, *, at_ms: int
    ) -> None:
        """Remember for a while that an answer for these entries was refused; see the port."""
        for key in keys:
            self._departed.note(identity(key, scope_root), Gone(Fate.REFUSED, at_ms, reason))

    def put_regardless(self, write: Write, *, timeout: float) -> None:
        """Store `write` within `timeout` seconds, also in a full store. Raises StoreUnavailable."""
        prepared = self._prepared(write)
        self._ask(lambda rows, _: rows.file(prepared), timeout=timeout)

    def remove(self, keys: Sequence[EntryKey]) -> None:
        """Remove the entries at `keys` and the bodies that only they refer to. Raises StoreUnavailable."""
        self._ask(lambda rows, _: rows.remove(map(entry_row, keys)))

    def raise_generations(self, values: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Give each named generation a new value: what is older becomes unreachable; see the port.

        Raises StoreUnavailable when it was not acknowledged.
        """
        self._ask(lambda rows, _: rows.raise_generations(values, at_ms=at_ms), urgent=True)

    def reach(self, names: Collection[bytes], *, within: Collection[bytes] = ()) -> Reach:
        """Count what raising these generations would make unreachable. Raises StoreUnavailable."""
        with self.read() as view:
            return view.measure(lambda txn: Scopes(txn, self._opened.databases).reach(names, within=within))

    def delete(self, entry_id: bytes, *, at_ms: int) -> list[EntryKey]:
        """Remove the entry with that id and the others of its Store, finally; see the port.

        Raises StoreUnavailable when it was not acknowledged.
        """
        return self._ask(lambda rows, _: rows.delete(entry_id, at_ms=at_ms), urgent=True)

    def stats(self) -> StoreStats:
        """Count. Raises StoreUnavailable."""
        with self.read() as view:
            entries, used, unreachable, partitions = view.measure(self._measure)
        committer = self._committer
        own = {"commits": committer.commits, "writes": committer.writes, "evicted": committer.evicted}
        counted = own if self._counts is None else self._counts.totals()
        return StoreStats(
            commits=counted.get("commits", 0),
            writes=counted.get("writes", 0),
            entries=entries,
            used_bytes=used,
            limit_bytes=self._limit_bytes,
            evicted=counted.get("evicted", 0),
            unreachable=unreachable,
            partitions=partitions,
        )

    def entries_by_rule(self) -> Mapping[str, int]:
        """Count what each rule stored; see the port. Raises StoreUnavailable."""
        with self.read() as view:
            return view.measure(lambda txn: entries_by_rule(txn, self._opened.databases))

    def add_counts(self, server: bytes, counted: Counted, *, at_ms: int) -> None:
        """Take over what a server counted; see the port. Raises StoreUnavailable."""
        self._ask(lambda rows, _: rows.add_counts(server, counted, at_ms=at_ms))

    def counts_since(self, since_ms: int, *, server: bytes) -> Past:
        """Return what was counted from the hour of `since_ms` on. Raises StoreUnavailable."""
        stats = self._opened.databases.stats
        with self.read() as view:
            return view.measure(lambda txn: HistoryRows(txn, stats).since(since_ms, server=server))

    def file_labels(
        self,
        labels: Sequence[Label],
        groups: Mapping[EntryKey, bytes],
        bars: Mapping[EntryKey, bytes] = NO_BARS,
    ) -> None:
        """Keep labels, give entries their groups and bar some; see the port. Raises StoreUnavailable."""
        self._ask(lambda rows, _: rows.file_labels(labels, groups, bars))

    def labels(self, after: int, *, limit: int) -> LabelPage:
        """Return labels that came after number `after`. Raises StoreUnavailable."""
        observations = self._opened.databases.observations
        with self.read() as view:
            return view.measure(lambda txn: LabelRows(txn, observations).page(after, limit=limit))

    def _measure(self, txn: Transaction) -> tuple[int, int, int, int]:
        """Return how many entries there are, bytes of pages, unreachable entries, and partitions."""
        databases = self._opened.databases
        entries, partitions = (txn.stat(of)["entries"] for of in (databases.entries, databases.partitions))
        return entries, used_bytes(txn, databases), Scopes(txn, databases).unreachable().entries, partitions

    def _prepared(self, write: Write) -> Prepared:
        return prepare(write, encrypted=self._opened.keys.first is not None)

    def _job(self, write: Write, ticket: Ticket) -> Job | None:
        try:
            prepared = self._prepared(write)
        except Exception:
            _log.exception("a write cannot be stored as it is")
            return None
        return Job(
            action=partial(_file, prepared, self._hits),
            ticket=ticket,
            size=len(write.body.data) + _JOB_BYTES,
            now_ms=write.answer.store_ms,
            counted=True,
        )


def _file(prepared: Prepared, hits: Hits, rows: Rows, space: Space) -> RefusalReason | None:
    """File a write where it is still wanted and room can be made."""
    if not rows.admits(prepared.write):
        return RefusalReason.GENERATION_CHANGED
    if not make_room(rows, space, hits, prepared, now_ms=prepared.write.answer.store_ms):
        return RefusalReason.STORE_FULL
    hits.take(rows.file(prepared))
    return None
