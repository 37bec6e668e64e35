"""One process's use of an open store: its readers, its writer, and the end of both."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Final, TypeVar

from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import StoreUnavailable
from askonce_server.store.commits import Commit, Committer, commit_transaction
from askonce_server.store.departed import Departed
from askonce_server.store.environment import OpenEnvironment, StoreSettings
from askonce_server.store.faults import describe, is_damage
from askonce_server.store.held import StoreLost
from askonce_server.store.hits import Hits
from askonce_server.store.jobs import Action, Job, Ticket
from askonce_server.store.rows import Rows
from askonce_server.store.space import Space
from askonce_server.store.view import LmdbReadView, Readers
from askonce_server.store.writer import Writer, WriterOptions

_DRAIN_SECONDS: Final = 2.0
Given = TypeVar("Given")
_log = logging.getLogger(__name__)


class StoreSession:
    """Reads and writes the rows of an open store."""

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
        self._departed = Departed.shared(settings.path)
        self._readers = Readers(opened, self._hits, self._departed, self._unreadable)
        self._counts = settings.counts
        self._committer = Committer(
            opened, settings.bounds, self._departed, commit=commit, counts=settings.counts
        )
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
        return self._readers.recall(key) if self._lost is None else None

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
            self._hits.close()
            self._departed.close()
        else:
            _log.warning("the store at %s was still in use when it was closed", self._path)

    def _ask(
        self,
        question: Callable[[Rows, Space], Given],
        *,
        timeout: float | None = None,
        urgent: bool = False,
    ) -> Given:
        """Return what `question` gave inside the transaction that was committed. Raises StoreUnavailable.

        What is `urgent` may use the reserve of a disk that is full.
        """
        given: list[Given] = []

        def action(rows: Rows, space: Space) -> None:
            given[:] = [question(rows, space)]

        self._run(action, timeout=timeout, urgent=urgent)
        return given[0]

    def _run(self, action: Action, *, timeout: float | None = None, urgent: bool = False) -> None:
        ticket = Ticket()
        job = Job(action=action, ticket=ticket, urgent=urgent)
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
