"""The index of this process: partitions in memory, read from the store and checked against it each time."""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Final

import numpy as np

from askonce_server.core.entries import Entry, Neighbor
from askonce_server.index.exhaustive import exhaustive
from askonce_server.index.held import INLINE_ROWS, Contents, Held
from askonce_server.index.loader import Loader
from askonce_server.index.nearest import Walk, age
from askonce_server.index.rows import least_bytes
from askonce_server.ports import (
    IndexStats,
    PartitionLoading,
    PartitionTooLarge,
    PartitionUnreadable,
    ReadView,
    StoreUnavailable,
    Vector,
)

_TOO_LARGE_SECONDS: Final = 600.0
"""How long a partition that did not fit is not tried again: a load pushes others out."""
_KNOWN: Final = (PartitionLoading, PartitionTooLarge, PartitionUnreadable, StoreUnavailable)
_log = logging.getLogger(__name__)


class FaissVectorIndex:
    """A VectorIndex that holds the partitions that were asked last, in at most `max_bytes`."""

    def __init__(self, read: Callable[[], AbstractContextManager[ReadView]], *, max_bytes: int) -> None:
        """Hold nothing yet. Large partitions are read in views of `read`, by a thread of the index."""
        self._read = read
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[tuple[bytes, int], Held] = OrderedDict()
        self._used_bytes = 0
        self._loader = Loader(read, grown=partial(self._count, read=True))

    def recall(
        self, view: ReadView, partition: bytes, vector: Vector, *, k: int, alive: Callable[[Entry], bool]
    ) -> list[Neighbor]:
        """Return the `k` nearest; see the port, also for what it raises."""
        if k < 1 or view.partition(partition).rows == 0:
            return []
        wanted = np.ascontiguousarray(vector, dtype=np.float32)
        key = (partition, wanted.shape[0])
        try:
            return self._recall(self._take(key), view, wanted, k, alive)
        except _KNOWN:
            raise
        except Exception:
            _log.exception("what the index holds of a partition is broken and read anew")
            self._forget(key)
            return self._recall(self._take(key), view, wanted, k, alive)

    def stats(self) -> IndexStats:
        """Count."""
        with self._lock:
            contents = [held.contents for held in self._held.values() if held.contents is not None]
            return IndexStats(
                partitions=len(contents),
                vectors=sum(one.rows.count for one in contents),
                used_bytes=self._used_bytes,
                limit_bytes=self._max_bytes,
            )

    def forget(self) -> None:
        """Hold nothing any more: from now on views are of another store."""
        with self._lock:
            for key in list(self._held):
                self._release(key)

    def close(self) -> None:
        """Stop the thread and let go of the memory."""
        self._loader.close()
        with self._lock:
            self._held.clear()
            self._used_bytes = 0

    def _recall(
        self, held: Held, view: ReadView, vector: Vector, k: int, alive: Callable[[Entry], bool]
    ) -> list[Neighbor]:
        state = view.partition(held.partition)
        before = held.contents
        if before is None and state.rows > INLINE_ROWS:
            self._refuse_too_many(held, state.rows)
        contents = held.current(view, state)
        if contents is not before:
            self._count(held)
        at = age(state)
        if at < contents.since:  # the view may have rows that were gone before they were read
            if state.rows <= INLINE_ROWS:
                return exhaustive(view, held.partition, vector, k=k, alive=alive)
            self._doubt(held, contents)
            raise PartitionLoading
        walk = Walk(view, held.partition, vector, k=k, alive=alive, at=at, dead=held.dead)
        neighbors = walk.run(partial(contents.search, vector, k))
        if walk.gone:
            held.bury(walk.gone, at)
            self._count(held)
        return neighbors

    def _doubt(self, held: Held, contents: Contents) -> None:
        """Read `held` anew if the store itself went back behind its contents, as a mended one may."""
        with self._read() as view:
            if age(view.partition(held.partition)) < contents.since:
                self._loader.load(held)

    def _take(self, key: tuple[bytes, int]) -> Held:
        """Return what is held under `key`, as the last to go."""
        with self._lock:
            held = self._held.get(key)
            if held is None:
                held = self._held[key] = Held(*key, load=self._loader.load)
            else:
                self._held.move_to_end(key)
            return held

    def _forget(self, key: tuple[bytes, int]) -> None:
        with self._lock:
            self._release(key)

    def _count(self, held: Held, *, read: bool = False) -> None:
        """Count the bytes of `held`, which was `read` or grew; let go of others where it is too much.

        What grew too large may still fit when it is read anew; what was read and does not fit is given up.
        """
        key = (held.partition, held.dim)
        with self._lock:
            if self._held.get(key) is not held:
                return
            self._held.move_to_end(key)
            used = held.used_bytes
            self._used_bytes += used - held.counted_bytes
            held.counted_bytes = used
            while self._used_bytes > self._max_bytes and len(self._held) > 1:
                self._release(next(iter(self._held)))
            if self._used_bytes > self._max_bytes:
                if held.pending_bytes or not read:
                    held.contents, held.dead = None, {}
                if held.used_bytes > self._max_bytes:
                    self._give_up(held, held.used_bytes)
                self._used_bytes = held.counted_bytes = held.used_bytes

    def _refuse_too_many(self, held: Held, count: int) -> None:
        """Raise PartitionTooLarge where so many vectors cannot fit, without reading them."""
        least = least_bytes(count, held.dim)
        if least > self._max_bytes:
            self._give_up(held, least)
            raise PartitionTooLarge

    def _give_up(self, held: Held, takes: int) -> None:
        """Hold nothing of a partition that is too large by itself, and say so now and then."""
        held.absent = PartitionTooLarge
        held.let_go()
        if time.monotonic() < held.load_after:
            return
        held.load_after = time.monotonic() + _TOO_LARGE_SECONDS
        _log.warning(
            "semantic lookups in partition %s are skipped (PARTITION_TOO_LARGE): it takes %d bytes or more, "
            "and index.max_bytes is %d",
            held.partition.hex()[:7],
            takes,
            self._max_bytes,
        )

    def _release(self, key: tuple[bytes, int]) -> None:
        held = self._held.pop(key, None)
        if held is not None:
            self._used_bytes -= held.counted_bytes
            held.let_go()
