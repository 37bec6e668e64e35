"""Counters that all workers of a server share, kept in memory that outlives each of them.

Every worker adds to a part of its own, so that no two ever write the same place; its successor goes on where
it ended, so that a crash loses no count.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from enum import IntEnum
from threading import Lock
from typing import Final

from askonce_server.workers import recent

_RECORD_BYTES: Final = 128
"""A count (8 bytes, in the machine's order), the length of its name (1 byte), its name."""
_WORD_BYTES: Final = 8
_NAME_AT: Final = _WORD_BYTES + 1
_NAME_BYTES: Final = _RECORD_BYTES - _NAME_AT
_RECORDS: Final = 131_072
"""Enough for 200 rules with every reason and every bucket of each histogram."""
_PART_BYTES: Final = _RECORDS * _RECORD_BYTES
_REST: Final = "other"
"""Counts what finds no place under its own name any more."""


class Kind(IntEnum):
    """What is counted apart from the rest."""

    TALLIES = 0
    STORE = 1


_WORKER_BYTES: Final = len(Kind) * _PART_BYTES + recent.PART_BYTES


def make_memory(workers: int) -> int:
    """Return a descriptor of memory for the counts and latest decisions of so many workers.

    What is not written takes none.
    """
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("askonce-counts")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.ftruncate(descriptor, workers * _WORKER_BYTES)
    return descriptor


def latest(descriptor: int, *, worker: int) -> recent.SharedRecent:
    """Return the place for the latest decisions in the memory that `make_memory` made."""
    memory = mmap.mmap(descriptor, 0)
    begin = len(memory) // _WORKER_BYTES * len(Kind) * _PART_BYTES
    return recent.SharedRecent(memory, begin=begin, worker=worker)


class SharedCounts:
    """The counts of one kind of all workers, of which this process adds to those of `worker`.

    `descriptor` is of the memory that `make_memory` made. Several threads may add, each name under a lock of
    its own: adding to one is a read and a write.
    """

    def __init__(self, descriptor: int, *, worker: int, kind: Kind = Kind.TALLIES) -> None:
        self._memory = mmap.mmap(descriptor, 0)
        self._words: memoryview[int] = memoryview(self._memory).cast("Q")
        size = len(self._memory) // _WORKER_BYTES * _PART_BYTES
        self._parts = range(kind * size, (kind + 1) * size, _PART_BYTES)
        self._begin = self._parts[worker]
        self._end = self._begin
        """Where the next new name goes."""
        self._places: dict[str, int] = {}
        """Where the count of each name is, in words."""
        self._names: dict[int, list[str]] = {begin: [] for begin in self._parts}
        """Those of each part, as far as they were read: what has a name keeps it."""
        self._reading = Lock()
        self._lock = Lock()
        for name in self._named(self._begin):
            self._places[name] = self._end // _WORD_BYTES
            self._end += _RECORD_BYTES

    def add(self, name: str, count: int = 1) -> None:
        """Count so many more of `name`."""
        self._words[self.place(name)] += count

    @property
    def cells(self) -> memoryview[int]:
        """The memory: only what `place` names is this process' own."""
        return self._words

    def place(self, name: str) -> int:
        """Return where the count of `name` is, in words."""
        place = self._places.get(name)
        return self._place(name) if place is None else place

    def totals(self) -> dict[str, int]:
        """Return the counts of all workers together, without those that are zero."""
        totals: dict[str, int] = {}
        for begin in self._parts:
            names = self._named(begin)
            words = self._words[begin // _WORD_BYTES : (begin + _PART_BYTES) // _WORD_BYTES]
            for name, count in zip(names, words[:: _RECORD_BYTES // _WORD_BYTES], strict=False):
                totals[name] = totals.get(name, 0) + count
        return {name: count for name, count in totals.items() if count}

    def _named(self, begin: int) -> list[str]:
        """Return the name of each record of the part at `begin`, in order."""
        with self._reading:
            names = self._names[begin]
            for place in range(begin + len(names) * _RECORD_BYTES, begin + _PART_BYTES, _RECORD_BYTES):
                size = self._memory[place + _WORD_BYTES]
                if not size:
                    break
                name = self._memory[place + _NAME_AT : place + _NAME_AT + size]
                names.append(name.decode(errors="replace"))
            return names.copy()

    def _place(self, name: str) -> int:
        """Return where the count of `name` is, in words, after giving it a record."""
        encoded = name.encode()
        with self._lock:
            full = self._end >= self._begin + _PART_BYTES - _RECORD_BYTES  # the last is for the rest
            if name in self._places:
                return self._places[name]
            if full or len(encoded) > _NAME_BYTES:
                name, encoded = _REST, _REST.encode()
            if name not in self._places:
                place = self._end
                self._memory[place + _NAME_AT : place + _NAME_AT + len(encoded)] = encoded
                self._memory[place + _WORD_BYTES] = len(encoded)  # last: from now on others see it
                self._places[name] = place // _WORD_BYTES
                self._end += _RECORD_BYTES
            return self._places[name]
