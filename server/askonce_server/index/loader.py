"""Large partitions are read off the request path, by one thread."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from queue import SimpleQueue
from typing import Final

from askonce_server.index.exhaustive import BLOCK_ROWS
from askonce_server.index.held import Contents, Held
from askonce_server.index.nearest import age
from askonce_server.index.rows import RowsBuilder
from askonce_server.ports import PartitionUnreadable, ReadView

_PAUSE_SECONDS: Final = 1.0
"""How long a partition that could not be read is left alone."""
_CLOSING_SECONDS: Final = 2.0
_log = logging.getLogger(__name__)


class Loader:
    """Reads partitions one after the other, each block in a view of its own."""

    def __init__(
        self, read: Callable[[], AbstractContextManager[ReadView]], *, grown: Callable[[Held], None]
    ) -> None:
        """Read from views of `read`, and tell `grown` what takes more memory."""
        self._read = read
        self._grown = grown
        self._lock = threading.Lock()
        self._queue: SimpleQueue[Held | None] = SimpleQueue()
        self._queued: set[Held] = set()
        self._thread: threading.Thread | None = None
        self._closed = False

    def load(self, held: Held) -> None:
        """Read `held` anew, soon; once is enough."""
        with self._lock:
            if self._closed or held in self._queued or time.monotonic() < held.load_after:
                return
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="askonce-index", daemon=True)
                thread.start()
                self._thread = thread
            self._queued.add(held)
            held.loading = True
            self._queue.put(held)

    def close(self) -> None:
        """Read no more."""
        with self._lock:
            self._closed = True
            thread = self._thread
        if thread is not None:
            self._queue.put(None)
            thread.join(_CLOSING_SECONDS)

    def _work(self) -> None:
        while (held := self._queue.get()) is not None:
            try:
                self._fill(held)
            except Exception as fault:
                _log.warning(
                    "partition %s could not be read into the index: %s: %s",
                    held.partition.hex()[:7],
                    type(fault).__name__,
                    fault,
                )
                held.load_after = time.monotonic() + _PAUSE_SECONDS
                held.absent = PartitionUnreadable
            with self._lock:
                self._queued.discard(held)
                held.pending_bytes = 0
            self._grown(held)

    def _fill(self, held: Held) -> None:
        rows, after = RowsBuilder(held.dim), 0
        while held.loading and not self._closed:
            with self._read() as view:
                state = view.partition(held.partition)
                block = view.vectors(held.partition, dim=held.dim, after=after, limit=BLOCK_ROWS)
            rows.add(block)
            if len(block.sequences) < BLOCK_ROWS:
                held.replace(Contents(rows.finish(), state.sequence, age(state)))
                return
            after = int(block.sequences[-1])
            held.pending_bytes = rows.used_bytes
            self._grown(held)
