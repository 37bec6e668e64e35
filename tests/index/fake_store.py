"""A store of vectors alone, with views that never change: large partitions in no time."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from askonce_server.core.entries import Answer, Entry, EntryKey, SemanticRow
from askonce_server.core.reasons import Matcher
from askonce_server.ports import PartitionState, StoredVector, StoreUnavailable, VectorBlock

PARTITION = b"p" * 32
NOW_MS = 1_700_000_000_000
DIM = 8
EAST, NORTH = np.eye(DIM, dtype=np.float32)[:2]


def unit(rows):
    rows = np.atleast_2d(np.asarray(rows, np.float64))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def between(share):
    """A vector between east and north; its cosine to east grows with `share`."""
    return unit(share * EAST + (1 - share) * NORTH)[0]


def random_vectors(count, dim, *, seed=0):
    return unit(np.random.default_rng(seed).standard_normal((count, dim)))


def clustered_vectors(count, dim, *, seed=0, per_cluster=50, spread=0.6, centers=None):
    """Vectors in clusters that lie near a space of few dimensions, as embeddings of texts do."""
    random = np.random.default_rng(seed)
    shared = np.random.default_rng(99)
    basis = shared.standard_normal((min(64, dim), dim))
    middles = unit(shared.standard_normal((centers or max(count // per_cluster, 5), len(basis))) @ basis)
    noise = random.standard_normal((count, dim)) * spread / np.sqrt(dim)
    return unit(middles[random.integers(0, len(middles), count)] + noise)


@dataclass(frozen=True)
class Part:
    """A partition as one view sees it. The arrays may be longer; what is behind `count` is newer."""

    sequences: np.ndarray
    vectors: np.ndarray
    expire_ms: np.ndarray
    live: np.ndarray
    newest: int = 0

    @property
    def count(self):
        return len(self.live)

    @property
    def state(self):
        rows = int(self.live.sum())
        return PartitionState(self.newest, rows) if rows else PartitionState(0, 0)


class FakeStore:
    def __init__(self, dim=DIM):
        self.dim = dim
        self.parts = {}
        self.views = 0
        self.blocks_read = 0
        self.rows_read = 0
        self.broken = False
        self.held_up = threading.Event()
        self.held_up.set()
        self._next = 1
        self._lock = threading.Lock()

    def add(self, vectors, *, partition=PARTITION, ttl_ms=60_000):
        """Store vectors; return their sequences."""
        vectors = np.atleast_2d(np.asarray(vectors, np.float32))
        with self._lock:
            new = np.arange(self._next, self._next + len(vectors))
            self._next += len(vectors)
            part = self.parts.get(partition) or Part(*_empty(self.dim))
            grown = _room(part, len(vectors))
            end = part.count + len(vectors)
            grown.sequences[part.count : end] = new
            grown.vectors[part.count : end] = vectors
            grown.expire_ms[part.count : end] = NOW_MS + ttl_ms
            live = np.concatenate((part.live, np.ones(len(vectors), bool)))
            self.parts[partition] = replace(grown, live=live, newest=int(new[-1]))
            return new.tolist()

    def remove(self, sequences, *, partition=PARTITION):
        with self._lock:
            part = self.parts[partition]
            live = part.live.copy()
            live[np.searchsorted(part.sequences[: part.count], sequences)] = False
            self.parts[partition] = replace(part, live=live)

    @contextmanager
    def read(self):
        if self.broken:
            raise StoreUnavailable("the store is broken")
        self.views += 1
        try:
            yield FakeView(self, dict(self.parts))
        finally:
            self.views -= 1

    @property
    def view(self):
        """A view that lasts as long as the test wants."""
        return FakeView(self, dict(self.parts))


class FakeView:
    def __init__(self, store, parts):
        self._store = store
        self._parts = parts

    def partition(self, partition):
        part = self._parts.get(partition)
        return PartitionState(0, 0) if part is None else part.state

    def vectors(self, partition, *, dim, after=0, limit):
        self._store.held_up.wait(30)
        self._store.blocks_read += 1
        part = self._parts.get(partition)
        if part is None or dim != self._store.dim:
            return VectorBlock(np.empty(0, np.int64), np.empty((0, dim), np.float32))
        start = int(np.searchsorted(part.sequences[: part.count], after, side="right"))
        places = start + np.flatnonzero(part.live[start:])[:limit]
        return VectorBlock(part.sequences[places], part.vectors[places])

    def stored_vectors(self, partition, sequences):
        self._store.rows_read += len(sequences)
        return [self._stored(partition, sequence) for sequence in sequences]

    def _stored(self, partition, sequence):
        part = self._parts[partition]
        place = int(np.searchsorted(part.sequences[: part.count], sequence))
        if place >= part.count or part.sequences[place] != sequence or not part.live[place]:
            return None
        key = EntryKey(Matcher.SEMANTIC, b"s" * 32, b"f" * 32, sequence.to_bytes(32, "big"), partition)
        answer = Answer("chat", NOW_MS, NOW_MS, int(part.expire_ms[place]), stream=False)
        entry = Entry(key, answer, b"r" * 32, sequence, 1)
        return StoredVector(entry, SemanticRow(part.vectors[place].tobytes(), b""))


def sequences_of(neighbors):
    return [neighbor.entry.store_id for neighbor in neighbors]


def always(entry):
    return True


def unexpired(entry):
    return entry.answer.expire_ms > NOW_MS


def _empty(dim):
    return np.empty(0, np.int64), np.empty((0, dim), np.float32), np.empty(0, np.int64), np.empty(0, bool)


def _room(part, more):
    """Return the same rows in arrays with room for `more`."""
    if part.count + more <= len(part.sequences):
        return part
    room = max(2 * part.count, part.count + more)
    grown = [
        np.empty((room, *kept.shape[1:]), kept.dtype)
        for kept in (part.sequences, part.vectors, part.expire_ms)
    ]
    for new, kept in zip(grown, (part.sequences, part.vectors, part.expire_ms), strict=True):
        new[: part.count] = kept[: part.count]
    return Part(*grown, part.live, part.newest)
