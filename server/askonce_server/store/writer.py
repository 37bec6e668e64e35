"""Group commit: one thread drains what waits into one transaction, then acknowledges all of it.

Nothing waits for a batch to fill: while one commit reaches the disk, the next batch gathers by itself.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import lmdb

from askonce_server.store.commits import Committer
from askonce_server.store.costs import MIB
from askonce_server.store.jobs import Job, JobQueue, Ticket
from askonce_server.store.rows import Rows
from askonce_server.store.space import Space

_BATCH_JOBS: Final = 512
_BATCH_BYTES: Final = 8 * MIB
_PROBE_SECONDS: Final = 1.0
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WriterOptions:
    """How the writer works. Times are seconds."""

    timeout: float = 2.0
    """How long a caller waits for its acknowledgement."""
    sync_interval: float | None = None
    """None: every commit is on the disk before it is acknowledged. Else the time between two syncs."""
    max_pending: int = 1024
    max_pending_bytes: int = 64 * MIB


class Writer:
    """The one thread of this process that writes."""

    def __init__(self, env: lmdb.Environment, committer: Committer, options: WriterOptions) -> None:
        self._env = env
        self._committer = committer
        self._options = options
        self._queue = JobQueue(max_jobs=options.max_pending, max_bytes=options.max_pending_bytes)
        self._thread = threading.Thread(target=self._run, name="askonce-writer", daemon=True)
        self._sync_due: float | None = None
        self._syncing: float | None = None
        self._thread.start()

    def submit(self, jobs: Sequence[Job], ticket: Ticket, *, timeout: float | None = None) -> None:
        """Run `jobs`, all of `ticket`; return when they ended or the caller's time is over.

        While the writer is stuck nothing is queued: a caller that waited for its time-out would only hold a
        thread.
        """
        if self._stuck():
            return
        if self._queue.offer(jobs, ticket):
            ticket.wait(self._options.timeout if timeout is None else timeout)

    def problem(self) -> str | None:
        """Say why nothing can be written now, or None."""
        if self._stuck():
            return (
                f"no write has finished for {self._options.timeout:g} s: the disk hangs, or another process "
                "stopped in the middle of a write; resume or kill that process"
            )
        return self._committer.problem

    def close(self) -> bool:
        """Write what was accepted and stop; return whether that ended in time."""
        self._queue.close()
        self._thread.join(self._options.timeout + 1.0)
        return not self._thread.is_alive()

    def _stuck(self) -> bool:
        since = self._committer.begun or self._syncing
        return since is not None and time.monotonic() - since > self._options.timeout

    def _run(self) -> None:
        while True:
            waiting = self._queue.wait(self._patience())
            try:
                if waiting:
                    self._committer.run(self._take)
                    self._owe_sync()
                elif self._queue.closed:
                    self._sync()
                    return
                elif self._committer.problem is not None:
                    self._probe()
                if self._sync_due is not None and time.monotonic() >= self._sync_due:
                    self._sync()
            except Exception:
                _log.exception("the store's writer met a fault that it does not know")

    def _take(self) -> list[Job]:
        return self._queue.take(max_jobs=_BATCH_JOBS, max_bytes=_BATCH_BYTES)

    def _patience(self) -> float | None:
        """Return how long to wait for jobs, in seconds; None is for ever."""
        if self._sync_due is not None:
            return max(self._sync_due - time.monotonic(), 0.0)
        return None if self._committer.problem is None else _PROBE_SECONDS

    def _owe_sync(self) -> None:
        if self._options.sync_interval is not None and self._sync_due is None:
            self._sync_due = time.monotonic() + self._options.sync_interval

    def _sync(self) -> None:
        """Bring to the disk what `sync_interval` left in memory."""
        if self._sync_due is None:
            return
        self._sync_due = None
        self._syncing = time.monotonic()
        try:
            self._env.sync(force=True)
        except (lmdb.Error, OSError) as fault:
            self._owe_sync()
            self._committer.note(fault)
        finally:
            self._syncing = None

    def _probe(self) -> None:
        """See whether a problem has gone by itself, since no write may come to find out."""
        self._committer.run(lambda: [Job(action=_touch, ticket=Ticket(), counted=False)])


def _touch(rows: Rows, _: Space) -> None:
    rows.touch()
