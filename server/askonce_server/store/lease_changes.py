"""Changes of shared leases: one thread makes those of this process, several in one transaction.

A process that is stopped inside a transaction would keep every other from beginning one. The thread may wait
for that; its callers wait for a moment only, and go on without a lease.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from queue import SimpleQueue
from typing import Final, Generic, TypeAlias, TypeVar

import lmdb

Given = TypeVar("Given")
Transaction: TypeAlias = "lmdb.Transaction[bytes]"
_PATIENCE_SECONDS: Final = 0.1
"""How long a caller waits: some hundred times what a change takes (`benchmarks/micro/leases.py`)."""
_log = logging.getLogger(__name__)


def _nothing(_given: object) -> None:
    pass


class Change(Generic[Given]):
    """One change that waits to be made."""

    def __init__(self, make: Callable[[Transaction], Given], undo: Callable[[Given], None]) -> None:
        self._make = make
        self._undo = undo
        self._lock = threading.Lock()
        self._done = threading.Lock()
        self._done.acquire()
        self._abandoned = self._ended = False
        self._given: list[Given] = []

    def wait(self, seconds: float) -> Given | None:
        """Return what the change gave once it was made, or None when that did not happen in time."""
        self._done.acquire(timeout=seconds)
        with self._lock:
            self._abandoned = not self._ended
        return self._given[0] if self._given else None

    def run(self, txn: Transaction) -> list[Given]:
        """Make the change inside `txn`, unless nobody waits for it any more."""
        with self._lock:
            return [] if self._abandoned else [self._make(txn)]

    def end(self, given: list[Given]) -> None:
        """Say what was committed; undo what nobody learned of."""
        with self._lock:
            self._ended = True
            if not self._abandoned:
                self._given = given
            elif given:
                self._undo(given[0])
        self._done.release()


class Changes:
    """Makes changes in the order in which they come."""

    def __init__(self, env: lmdb.Environment, told: Callable[[], None]) -> None:
        self._env = env
        self._told = told
        """Called after each commit."""
        self._queue: SimpleQueue[Change[object] | None] = SimpleQueue()
        self._begun: float | None = None
        self._failed = False
        self._thread = threading.Thread(target=self._run, name="askonce-leases", daemon=True)
        self._thread.start()

    def make(
        self, make: Callable[[Transaction], Given], undo: Callable[[Given], None] | None = None
    ) -> Given | None:
        """Return what `make` gave inside a committed transaction, or None when it could not be made in time.

        `undo` is called when it was made after all.
        """
        begun = self._begun
        if begun is not None and time.monotonic() - begun > _PATIENCE_SECONDS:
            return None
        change = Change(make, undo or _nothing)
        self._queue.put(change)  # type: ignore[arg-type]
        return change.wait(_PATIENCE_SECONDS)

    def post(self, make: Callable[[Transaction], object]) -> None:
        """Make a change that nobody waits for."""
        self._queue.put(Change(make, _nothing))

    def close(self) -> None:
        """Stop once everything that came before was made."""
        self._queue.put(None)

    def _run(self) -> None:
        while True:
            changes = [self._queue.get()]
            while not self._queue.empty():
                changes.append(self._queue.get())
            self._commit([change for change in changes if change is not None])
            if None in changes:
                return

    def _commit(self, changes: Sequence[Change[object]]) -> None:
        if not changes:
            return
        given: list[list[object]] = [[] for _ in changes]
        self._begun = time.monotonic()
        try:
            with self._env.begin(write=True) as txn:
                made = [change.run(txn) for change in changes]
            given, self._failed = made, False
        except Exception as fault:
            with suppress(lmdb.Error):
                self._env.reader_check()  # a reader that was killed keeps every page from being used again
            if not self._failed:
                _log.error("no lease can be given, so that nobody waits for another's answer: %s", fault)
            self._failed = True
        finally:
            self._begun = None
        self._told()
        for change, one in zip(changes, given, strict=True):
            change.end(one)
