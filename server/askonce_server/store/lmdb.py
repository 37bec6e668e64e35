"""The embedded store: entries and bodies in one LMDB environment."""

from __future__ import annotations

import logging
import time
from collections.abc import Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final

from askonce_server.clock import Anchor
from askonce_server.core.entries import EntryKey, Write
from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import StoreStats, StoreUnavailable, Swept
from askonce_server.store.anchors import decode_anchor, encode_anchor
from askonce_server.store.commits import Commit, Committer, commit_transaction
from askonce_server.store.environment import OpenEnvironment, StoreSettings
from askonce_server.store.eviction import SWEEP_ROWS, make_room, trim
from askonce_server.store.faults import describe, is_damage
from askonce_server.store.held import StoreLost
from askonce_server.store.hits import Hits
from askonce_server.store.jobs import Action, Job, Ticket
from askonce_server.store.layout import META_ANCHOR, META_GUARD_KEY, META_TOKEN_KEY, entry_row
from askonce_server.store.prepared import Prepared, prepare
from askonce_server.store.rows import Rows, has_expired
from askonce_server.store.scopes import entries_by_rule
from askonce_server.store.space import Space, used_bytes
from askonce_server.store.verification import Finding, Verification
from askonce_server.store.view import LmdbReadView, Readers
from askonce_server.store.writer import Writer, WriterOptions

_JOB_BYTES: Final = 1024
"""What a waiting write holds in memory besides its body."""
_DRAIN_SECONDS: Final = 2.0
_MEND_ROWS: Final = 10_000
_MEND_SECONDS: Final = 3600.0
_log = logging.getLogger(__name__)


class LmdbEntryStore:
    """The EntryStore of one process on a local disk. Made by `open_store`."""

    def __init__(
        self, opened: OpenEnvironment, settings: StoreSettings, *, commit: Commit = commit_transaction
    ) -> None:
        self._opened = opened
        self._path: Path = settings.path
        self._limit_bytes = settings.max_bytes
        self._read_problem: str | None = None
        self._lost: str | None = None
        self._closed = False
        self._hits = Hits.shared(settings.path)
        self._readers = Readers(opened, self._hits, self._unreadable)
        self._counts = settings.counts
        self._committer = Committer(opened, settings.bounds, commit=commit, counts=settings.counts)
        options = WriterOptions(
            timeout=settings.write_timeout,
            sync_interval=settings.sync_interval if settings.durability == "periodic" else None,
            max_pending=settings.max_pending,
            max_pending_bytes=settings.max_pending_bytes,
        )
        self._writer = Writer(opened.env, self._committer, options)

    def read(self) -> LmdbReadView:
        """Open a view. Raises StoreUnavailable, also on entering it."""
        if self._lost is not None or self._opened.files.is_cut_short():
            raise StoreUnavailable(self.lost() or "")
        return LmdbReadView(self._readers)

    def recall(self, key: Hashable) -> object | None:
        """Return what a view kept under `key`, unless a row has changed since."""
        if self._lost is not None or self._opened.files.is_cut_short():
            return None
        return self._readers.recall(key)

    def put(self, writes: Sequence[Write]) -> list[RefusalReason | None]:
        """Store each write, all or nothing of each; see the port. Never raises."""
        ticket = Ticket()
        jobs = [self._job(write, ticket) for write in writes]
        self._writer.submit([job for job in jobs if job is not None], ticket)
        return [RefusalReason.STORE_FAILED if job is None else job.result for job in jobs]

    def put_regardless(self, write: Write, *, timeout: float) -> None:
        """Store `write` within `timeout` seconds, also in a full store. Raises StoreUnavailable."""
        prepared = prepare(write)

        def action(rows: Rows, _: Space) -> None:
            rows.file(prepared)

        self._run(action, timeout=timeout)

    def remove(self, keys: Sequence[EntryKey]) -> None:
        """Remove the entries at `keys` and the bodies that only they refer to. Raises StoreUnavailable."""
        rows = [entry_row(key) for key in keys]

        def action(held: Rows, _: Space) -> None:
            held.remove(rows)

        self._run(action)

    def raise_generations(self, values: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Give each named generation (32 bytes) a new value (16 bytes): what is older becomes unreachable.

        Raises StoreUnavailable when it was not acknowledged.
        """

        def action(rows: Rows, _: Space) -> None:
            rows.raise_generations(values, at_ms=at_ms)

        self._run(action)

    def settle_anchor(self, proposed: Anchor) -> Anchor:
        """Return the clock anchor kept for the boot of `proposed`; keep `proposed` when there is none.

        Raises StoreUnavailable.
        """
        settled = [proposed]

        def action(rows: Rows, _: Space) -> None:
            kept = decode_anchor(rows.meta(META_ANCHOR))
            if kept is not None and kept.boot_id == proposed.boot_id:
                settled[0] = kept
            else:
                rows.set_meta(META_ANCHOR, encode_anchor(proposed))

        self._run(action)
        return settled[0]

    def settle_token_key(self, proposed: bytes) -> bytes:
        """Return the key that signs fill tokens; keep `proposed` when there is none yet.

        It lives as long as the store, so that tokens outlive a restart. Raises StoreUnavailable.
        """
        return self._settle(META_TOKEN_KEY, proposed)

    def settle_guard_key(self, proposed: bytes) -> bytes:
        """Return the key of the guards' tokens; keep `proposed` when there is none yet.

        Raises StoreUnavailable.
        """
        return self._settle(META_GUARD_KEY, proposed)

    def _settle(self, name: bytes, proposed: bytes) -> bytes:
        settled = [proposed]

        def action(rows: Rows, _: Space) -> None:
            kept = rows.meta(name)
            if kept is None:
                rows.set_meta(name, proposed)
            else:
                settled[0] = kept

        self._run(action)
        return settled[0]

    def sweep(self, now_ms: int) -> Swept:
        """Remove a bounded number of the entries that nobody can be served any more.

        Looks first whether there are any: a write transaction would hold up those of other processes. Raises
        StoreUnavailable.
        """
        databases = self._opened.databases
        with self.read() as view:
            readers = self._opened.env.reader_check()
            expired = view.measure(lambda txn: has_expired(txn, databases, now_ms))
            over = view.measure(lambda txn: used_bytes(txn, databases)) > self._limit_bytes
        if not expired and not over:
            return Swept(readers=readers)
        swept = [Swept()]

        def action(rows: Rows, space: Space) -> None:
            removed = rows.remove_expired(now_ms, limit=SWEEP_ROWS)
            more = trim(rows, space, self._hits) or removed == SWEEP_ROWS
            swept[0] = Swept(removed, rows.evicted, readers, more)

        self._run(action)
        return swept[0]

    def verify(self, *, repair: bool = False) -> list[Finding]:
        """Return every row that does not agree with the others; with `repair` all of them were mended.

        Reads every row, and holds writers up while it repairs: for a store that is not in use. Raises
        StoreUnavailable.
        """
        if not repair:
            with self.read() as view:
                return view.measure(lambda txn: list(Verification(txn, self._opened.databases).findings()))
        mended: list[Finding] = []
        some: list[Finding] = []

        def action(rows: Rows, _: Space) -> None:
            some[:] = rows.mend(limit=_MEND_ROWS)

        while True:
            self._run(action, timeout=_MEND_SECONDS)
            if not some:
                return mended
            mended += some

    def problem(self) -> str | None:
        """Say why the store cannot be used now, or None when it can."""
        if self._closed:
            return "the store is closed"
        return self._lost or self._read_problem or self._writer.problem()

    def lost(self) -> str | None:
        """Say that the store's files were taken away, after which nothing is read either, or None."""
        try:
            self._opened.files.check()
        except StoreLost as loss:
            self._lost = str(loss)
        return self._lost

    def stats(self) -> StoreStats:
        """Count. Raises StoreUnavailable."""
        databases = self._opened.databases
        with self.read() as view:
            entries, used = view.measure(
                lambda txn: (txn.stat(databases.entries)["entries"], used_bytes(txn, databases))
            )
        committer = self._committer
        own = {"commits": committer.commits, "writes": committer.writes, "evicted": committer.evicted}
        counted = own if self._counts is None else self._counts.totals()
        return StoreStats(
            commits=counted.get("commits", 0),
            writes=counted.get("writes", 0),
            entries=entries,
            used_bytes=used,
            evicted=counted.get("evicted", 0),
            limit_bytes=self._limit_bytes,
        )

    def entries_by_rule(self) -> Mapping[str, int]:
        """Count what each rule stored; see the port. Raises StoreUnavailable."""
        with self.read() as view:
            return view.measure(lambda txn: entries_by_rule(txn, self._opened.databases))

    def close(self) -> None:
        """Finish what was accepted and let go of the files.

        When a write or a view does not end in time the files stay open until the process ends: taking the map
        away from under one would end it at once.
        """
        if self._closed:
            return
        self._closed = True
        written = self._writer.close()
        self._readers.close()
        deadline = time.monotonic() + _DRAIN_SECONDS
        while len(self._readers) and time.monotonic() < deadline:
            time.sleep(0.001)
        if written and not len(self._readers):
            self._opened.close()
        else:
            _log.warning("the store at %s was still in use when it was closed", self._path)

    def _job(self, write: Write, ticket: Ticket) -> Job | None:
        try:
            prepared = prepare(write)
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

    def _run(self, action: Action, *, timeout: float | None = None) -> None:
        ticket = Ticket()
        job = Job(action=action, ticket=ticket)
        self._writer.submit([job], ticket, timeout=timeout)
        if job.result is not None:
            full = job.result is RefusalReason.STORE_FULL
            said = "has no page left to change rows with" if full else "did not finish a write in time"
            raise StoreUnavailable(self.problem() or f"the store at {self._path} {said}")

    def _unreadable(self, fault: Exception) -> StoreUnavailable:
        problem = describe(fault, self._path)
        if is_damage(fault) and problem != self._read_problem:
            _log.error("%s", problem)
            self._read_problem = problem
        return StoreUnavailable(problem)


def _file(prepared: Prepared, hits: Hits, rows: Rows, space: Space) -> RefusalReason | None:
    """File a write where it is still wanted and room can be made."""
    if not rows.hold(prepared.write.generations):
        return RefusalReason.GENERATION_CHANGED
    if not make_room(rows, space, hits, prepared, now_ms=prepared.write.answer.store_ms):
        return RefusalReason.STORE_FULL
    hits.take(rows.file(prepared))
    return None
