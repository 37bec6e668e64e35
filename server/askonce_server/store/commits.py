"""How a batch of jobs becomes one commit, and what happens when it does not."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

import lmdb

from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import Counts
from askonce_server.store.departed import Departed
from askonce_server.store.environment import OpenEnvironment
from askonce_server.store.eviction import SWEEP_ROWS
from askonce_server.store.faults import describe, is_full
from askonce_server.store.held import StoreLost
from askonce_server.store.jobs import Job
from askonce_server.store.layout import Transaction
from askonce_server.store.reserve import Reserve
from askonce_server.store.rows import Rows
from askonce_server.store.space import Bounds, Space

Commit: TypeAlias = Callable[[Transaction], None]
"""How a transaction is committed. Tests inject faults here."""

_log = logging.getLogger(__name__)


def commit_transaction(txn: Transaction) -> None:
    """Commit `txn`."""
    txn.commit()


class Committer:
    """Runs jobs inside write transactions. Used by one thread alone."""

    def __init__(
        self,
        opened: OpenEnvironment,
        bounds: Bounds,
        departed: Departed,
        *,
        commit: Commit,
        counts: Counts | None = None,
    ) -> None:
        self._env = opened.env
        self._databases = opened.databases
        self._keys = opened.keys
        self._files = opened.files
        self._bounds = bounds
        self._departed = departed
        self._commit = commit
        self._counts = counts
        self._path = Path(opened.env.path())
        self._reserve = Reserve(self._path)
        self._reserve.refill()
        self.begun: float | None = None
        """When the transaction that runs now began to wait for its turn (monotonic seconds)."""
        self.problem: str | None = None
        """Why the last commit failed; None once a later one succeeded."""
        self.commits = 0
        """Commits that carried counted jobs."""
        self.writes = 0
        """Counted jobs that were written."""
        self.evicted = 0
        """Stores that were removed to make room."""

    def run(self, take: Callable[[], list[Job]]) -> None:
        """Begin a transaction, then `take` a batch into it; end every job that was taken.

        The order matters: beginning may wait for another process, whatever arrives meanwhile joins the batch,
        and whoever has given up meanwhile is left out.
        """
        taken: list[Job] = []
        try:
            self._transact(lambda: _extend(taken, take()))
        except Exception as fault:
            if not taken:  # it could not even begin
                self._fail(_extend(taken, take()), fault)
            else:
                self._retry(taken, fault)
        finally:
            self.begun = None
            for job in taken:
                job.ticket.end_one()

    def _transact(self, take: Callable[[], Sequence[Job]]) -> None:
        """Run jobs in one transaction: all of them are committed, or none and the fault is raised.

        A file that is not at its path any more is not written; what was written to it is not acknowledged.
        """
        self._files.check()
        self.begun = time.monotonic()
        txn = self._env.begin(write=True, buffers=True)
        try:
            jobs = [job for job in take() if not job.ticket.abandoned]
            rows = Rows(txn, self._databases, self._keys)
            space = Space(self._env, txn, self._databases, self._bounds)
            results = [job.action(rows, space) for job in jobs]
            if committed := rows.settle():
                self._commit(txn)
                self._files.check()
        finally:
            with suppress(lmdb.Error):
                txn.abort()  # without effect after a commit
        if committed:
            self._reserve.refill()
            self.problem = None
            self.evicted += rows.evicted
            self._remember(rows)
            if self._counts is not None and rows.evicted:
                self._counts.add("evicted", rows.evicted)
        self._acknowledge(jobs, results)

    def _remember(self, rows: Rows) -> None:
        for what, gone in rows.departed:
            self._departed.note(what, gone)

    def _acknowledge(self, jobs: Sequence[Job], results: Sequence[RefusalReason | None]) -> None:
        for job, result in zip(jobs, results, strict=True):
            job.result = result
        written = sum(1 for job in jobs if job.counted and job.result is None)
        self.writes += written
        self.commits += written > 0
        if self._counts is not None and written:
            self._counts.add("commits")
            self._counts.add("writes", written)

    def _retry(self, jobs: Sequence[Job], fault: Exception) -> None:
        """Run each of `jobs` by itself, so that a bad one fails alone."""
        if isinstance(fault, lmdb.MapFullError):
            self._sweep(max(job.now_ms for job in jobs))
        elif len(jobs) == 1 and not jobs[0].urgent:
            self._fail(jobs, fault)
            return
        for job in jobs:
            try:
                self._run_alone(job)
            except Exception as own_fault:
                self._fail((job,), own_fault)

    def _run_alone(self, job: Job) -> None:
        """Run one job, which may use the reserve when it is urgent and the disk is full. Raises the fault."""
        try:
            self._transact(lambda: (job,))
        except (lmdb.Error, OSError) as fault:
            full = is_full(fault, self._path) and not isinstance(fault, lmdb.MapFullError)
            held = self._reserve.let_go() if job.urgent and full else 0
            if not held:
                raise
            try:
                self._transact(lambda: (job,))
            finally:
                self._reserve.take_back(held)

    def _sweep(self, now_ms: int) -> None:
        """Remove expired entries in a transaction of their own, since the full one had to be given up."""
        txn = self._env.begin(write=True, buffers=True)
        try:
            rows = Rows(txn, self._databases, self._keys)
            if rows.remove_expired(now_ms, limit=SWEEP_ROWS) and rows.settle():
                self._commit(txn)
                self._remember(rows)
        except (lmdb.Error, OSError) as fault:
            _log.warning("no room could be made in the store: %s", fault)
        finally:
            with suppress(lmdb.Error):
                txn.abort()

    def _fail(self, jobs: Sequence[Job], fault: Exception) -> None:
        for job in jobs:
            job.result = (
                RefusalReason.STORE_FULL if is_full(fault, self._path) else RefusalReason.STORE_FAILED
            )
        if isinstance(fault, lmdb.MapFullError):
            return  # the store is at its limit, which is no defect
        if isinstance(fault, (lmdb.Error, OSError, StoreLost)):
            self.note(fault)
        else:
            _log.error("a write was dropped for a fault of its own", exc_info=fault)

    def note(self, fault: Exception) -> None:
        """Remember why nothing can be written, and log it once."""
        problem = describe(fault, self._path)
        if problem != self.problem:
            _log.error("%s", problem)
        self.problem = problem


def _extend(jobs: list[Job], more: list[Job]) -> list[Job]:
    jobs.extend(more)
    return jobs
