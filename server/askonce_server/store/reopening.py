"""A store that is opened anew: where it could not be opened, and where its files were taken away."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from askonce_server.core.entries import EntryKey, Write
from askonce_server.core.labels import Label
from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import (
    NO_BARS,
    Counted,
    EntryStore,
    LabelPage,
    Past,
    Reach,
    ReadView,
    StoreStats,
    StoreUnavailable,
    Swept,
)
from askonce_server.store.unavailable import UnavailableStore

_log = logging.getLogger(__name__)


class LosableStore(EntryStore, Protocol):
    """An EntryStore whose files can be taken away from under it."""

    def lost(self) -> str | None:
        """Look, and say that they were, or None."""


class ReopeningStore:
    """The store that `open_store` opens, at once or as soon as it can: a disk may come late, an instance end.

    Until then everything passes through, and it is tried every `interval_seconds`. An open one is looked at
    every `watch_seconds`: one whose files are not at its path any more is given up, and opened anew.
    """

    def __init__(
        self,
        open_store: Callable[[], LosableStore],
        *,
        interval_seconds: float = 5.0,
        watch_seconds: float = 1.0,
    ) -> None:
        self._open_store = open_store
        self._interval_seconds = interval_seconds
        self._watch_seconds = watch_seconds
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._opened: LosableStore | None = None
        self._store: EntryStore
        self._open()
        threading.Thread(target=self._watch, name="askonce-store-reopen", daemon=True).start()

    def read(self) -> AbstractContextManager[ReadView]:
        """Open a view. Raises StoreUnavailable."""
        return self._store.read()

    def recall(self, key: Hashable) -> object | None:
        """Return what a view kept under `key`; see the port."""
        return self._store.recall(key)

    def put(self, writes: Sequence[Write]) -> list[RefusalReason | None]:
        """Store each write; see the port."""
        return self._store.put(writes)

    def note_refused(
        self, keys: Sequence[EntryKey], scope_root: bytes, reason: RefusalReason, *, at_ms: int
    ) -> None:
        """Remember for a while that an answer for these entries was refused; see the port."""
        self._store.note_refused(keys, scope_root, reason, at_ms=at_ms)

    def raise_generations(self, values: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Give each named generation a new value; see the port. Raises StoreUnavailable."""
        self._store.raise_generations(values, at_ms=at_ms)

    def reach(self, names: Collection[bytes], *, within: Collection[bytes] = ()) -> Reach:
        """Count what raising these generations would make unreachable. Raises StoreUnavailable."""
        return self._store.reach(names, within=within)

    def delete(self, entry_id: bytes, *, at_ms: int) -> list[EntryKey]:
        """Remove an entry and the others of its Store, finally; see the port. Raises StoreUnavailable."""
        return self._store.delete(entry_id, at_ms=at_ms)

    def sweep(self, now_ms: int) -> Swept:
        """Remove a bounded number of entries; see the port. Raises StoreUnavailable."""
        return self._store.sweep(now_ms)

    def problem(self) -> str | None:
        """Say why the store cannot be used now, or None when it can."""
        return self._store.problem()

    def stats(self) -> StoreStats:
        """Count. Raises StoreUnavailable."""
        return self._store.stats()

    def entries_by_rule(self) -> Mapping[str, int]:
        """Count what each rule stored; see the port. Raises StoreUnavailable."""
        return self._store.entries_by_rule()

    def add_counts(self, server: bytes, counted: Counted, *, at_ms: int) -> None:
        """Take over what a server counted; see the port. Raises StoreUnavailable."""
        self._store.add_counts(server, counted, at_ms=at_ms)

    def counts_since(self, since_ms: int, *, server: bytes) -> Past:
        """Return what was counted since a time; see the port. Raises StoreUnavailable."""
        return self._store.counts_since(since_ms, server=server)

    def file_labels(
        self,
        labels: Sequence[Label],
        groups: Mapping[EntryKey, bytes],
        bars: Mapping[EntryKey, bytes] = NO_BARS,
    ) -> None:
        """Keep labels, give entries their groups and bar some; see the port. Raises StoreUnavailable."""
        self._store.file_labels(labels, groups, bars)

    def labels(self, after: int, *, limit: int) -> LabelPage:
        """Return labels that came after number `after`; see the port. Raises StoreUnavailable."""
        return self._store.labels(after, limit=limit)

    def close(self) -> None:
        """Stop watching, and close what was opened."""
        self._closed.set()
        with self._lock:
            self._store.close()

    def _open(self) -> None:
        try:
            self._store = self._opened = self._open_store()
        except StoreUnavailable as unavailable:
            self._store = UnavailableStore(str(unavailable))

    def _watch(self) -> None:
        while not self._closed.wait(self._patience()):
            with self._lock:
                if self._closed.is_set():
                    return
                try:
                    self._look()
                except Exception:
                    _log.exception("the store's watch met a fault that it does not know")

    def _patience(self) -> float:
        return self._interval_seconds if self._opened is None else self._watch_seconds

    def _look(self) -> None:
        opened = self._opened
        if opened is None:
            self._open()
            if self._opened is not None:
                _log.info("the store could be opened; answers are served from it again")
        elif (loss := opened.lost()) is not None:
            _log.error("%s", loss)
            self._store, self._opened = UnavailableStore(loss), None
            opened.close()
