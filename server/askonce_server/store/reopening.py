"""A store that could not be opened at start, and is tried again until it can."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from askonce_server.core.entries import Write
from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import EntryStore, ReadView, StoreStats, StoreUnavailable, Swept
from askonce_server.store.unavailable import UnavailableStore

_log = logging.getLogger(__name__)


class ReopeningStore:
    """Stands in for a store until `open_store` succeeds: a disk that comes late, an instance that ends.

    Until then everything passes through. It is tried every `interval_seconds`.
    """

    def __init__(
        self, problem: str, open_store: Callable[[], EntryStore], *, interval_seconds: float = 5.0
    ) -> None:
        self._store: EntryStore = UnavailableStore(problem)
        self._open_store = open_store
        self._interval_seconds = interval_seconds
        self._closed = threading.Event()
        self._lock = threading.Lock()
        threading.Thread(target=self._try_again, name="askonce-store-reopen", daemon=True).start()

    def read(self) -> AbstractContextManager[ReadView]:
        """Open a view. Raises StoreUnavailable."""
        return self._store.read()

    def put(self, writes: Sequence[Write]) -> list[RefusalReason | None]:
        """Store each write; see the port."""
        return self._store.put(writes)

    def sweep(self, now_ms: int) -> Swept:
        """Remove a bounded number of entries; see the port. Raises StoreUnavailable."""
        return self._store.sweep(now_ms)

    def problem(self) -> str | None:
        """Say why the store cannot be used now, or None when it can."""
        return self._store.problem()

    def stats(self) -> StoreStats:
        """Count. Raises StoreUnavailable."""
        return self._store.stats()

    def close(self) -> None:
        """Stop trying, and close what was opened."""
        self._closed.set()
        with self._lock:
            self._store.close()

    def _try_again(self) -> None:
        while not self._closed.wait(self._interval_seconds):
            with self._lock:
                if self._closed.is_set():
                    return
                try:
                    self._store = self._open_store()
                except StoreUnavailable as still:
                    self._store = UnavailableStore(str(still))
                else:
                    _log.info("the store could be opened; answers are served from it again")
                    return
