"""The latest decisions of all workers, in the memory that outlives each of them.

As with counts, every worker writes to a part of its own, and its successor goes on where it ended. A reader
meets a record that is being written by its number, which is 0 meanwhile, or another afterwards.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator, Sequence
from threading import Lock
from typing import Final

RECORD_BYTES: Final = 152
COLUMNS: Final = 4
SECONDS: Final = 11 * 60
"""How far back counts by the second go."""
_RECORDS: Final = 512
_WORD_BYTES: Final = 8
_SLOT_BYTES: Final = _WORD_BYTES + RECORD_BYTES
_SLOTS_BYTES: Final = _RECORDS * _SLOT_BYTES
_ROW_WORDS: Final = 1 + COLUMNS
"""The second, then its counts."""
PART_BYTES: Final = -(-(_SLOTS_BYTES + SECONDS * _ROW_WORDS * _WORD_BYTES) // mmap.PAGESIZE) * mmap.PAGESIZE


class SharedRecent:
    """The latest records of all workers, of which this process adds to those of `worker`.

    `memory` has the parts of all workers from `begin` on.
    """

    def __init__(self, memory: mmap.mmap, *, begin: int = 0, worker: int = 0) -> None:
        self._memory = memory
        self._words = memoryview(memory).cast("Q")
        self._parts = range(begin, len(memory), PART_BYTES)
        self._mine = self._parts[worker]
        self._lock = Lock()
        self._last = max(number for number, _ in self._slots(self._mine))

    def add(self, record: bytes, *, second: int, column: int) -> None:
        """Keep a record of at most `RECORD_BYTES`, and count it."""
        words = self._words
        with self._lock:
            self._last += 1
            place = self._mine + self._last % _RECORDS * _SLOT_BYTES
            words[place // _WORD_BYTES] = 0
            begin = place + _WORD_BYTES
            self._memory[begin : begin + len(record)] = record
            words[place // _WORD_BYTES] = self._last
            row = self._row(self._mine, second)
            if words[row] != second:
                words[row] = 0
                for at in range(row + 1, row + _ROW_WORDS):
                    words[at] = 0
                words[row] = second
            words[row + 1 + column] += 1

    def records(self) -> Sequence[bytes]:
        """Return the records of all workers, of each the oldest first."""
        found: list[bytes] = []
        for part in self._parts:
            kept = sorted((number, place) for number, place in self._slots(part) if number)
            for number, place in kept:
                begin = place + _WORD_BYTES
                record = self._memory[begin : begin + RECORD_BYTES]
                if self._words[place // _WORD_BYTES] == number:
                    found.append(record)
        return found

    def counts(self, first: int, last: int) -> Sequence[Sequence[int]]:
        """Return the columns of each second from `first` to `last`, of all workers together."""
        counts = []
        for second in range(first, last + 1):
            columns = [0] * COLUMNS
            for part in self._parts:
                row = self._row(part, second)
                if self._words[row] == second:
                    columns = [count + self._words[row + 1 + at] for at, count in enumerate(columns)]
            counts.append(columns)
        return counts

    def _slots(self, part: int) -> Iterator[tuple[int, int]]:
        """Yield the number of each slot of a part, and where it is."""
        for place in range(part, part + _SLOTS_BYTES, _SLOT_BYTES):
            yield self._words[place // _WORD_BYTES], place

    def _row(self, part: int, second: int) -> int:
        """Return where the counts of a second are, in words."""
        return (part + _SLOTS_BYTES) // _WORD_BYTES + second % SECONDS * _ROW_WORDS


def alone() -> SharedRecent:
    """Return memory for a process by itself."""
    return SharedRecent(mmap.mmap(-1, PART_BYTES))
