"""Which snapshot of the store is the newest, seen without a call into LMDB.

LMDB keeps the id of the last commit, of whichever process, in memory that it shares through its lock file
(`mdb.c`: MDB_txbody.mtb_txnid); whoever begins to read takes its snapshot from there. Reading that word
costs nothing. Beginning a transaction lets go of the interpreter's lock, and under load whoever does waits
for its turn to have it back, which costs more than all else that a hit takes.

The lock file is mapped through the descriptor that LMDB has of it, and never opened here: a process that
closes any descriptor of a file loses its locks on it (fcntl(2)), and the next process to open the store would
take it for its own and begin the shared memory anew.
"""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import lmdb

_WORD_BYTES: Final = 8
_LOOKED_AT: Final = 32
"""Words at the beginning of the lock file among which the id is: a mutex of the system's stands before it."""
_NONE: Final = -2

_mmap = ctypes.CDLL(None, use_errno=True).mmap
_mmap.restype = ctypes.c_void_p
_mmap.argtypes = (
    *(ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int),
    ctypes.c_long,
)
_FAILED: Final = ctypes.c_void_p(-1).value


class NewestSnapshot:
    """The id of the last commit to a store.

    Where its word stands depends on the system. It is the one that has followed `env` over two commits; until
    one alone has, and where the file cannot be mapped, LMDB is asked.
    """

    __slots__ = ("_env", "_places", "_seen", "_word", "_words")

    def __init__(self, env: lmdb.Environment, lock_file: Path) -> None:
        """Map the beginning of `lock_file`, which `env` has open."""
        self._env = env
        self._words: Sequence[int] = _mapped(lock_file)
        self._places: Sequence[int] = range(1, len(self._words))
        self._seen: frozenset[int] = frozenset()
        self._word: tuple[Sequence[int], int] | None = None
        """Where the word stands, once that is known."""
        self._look()

    def id(self) -> int:
        """Return the id that a transaction begun now would have; a negative number when it cannot be told."""
        word = self._word
        return self._look() if word is None else word[0][word[1]]

    def _look(self) -> int:
        words, places = self._words, self._places
        try:
            before: int = self._env.info()["last_txnid"]
            found = [place for place in places if words[place] == before]
            after: int = self._env.info()["last_txnid"]
        except lmdb.Error:  # closed
            return _NONE
        if before == after and found:  # no commit between
            self._places = found
            self._seen |= {before}
            if len(self._seen) > 1 and len(found) == 1:
                self._word = words, found[0]
        return after

    def close(self) -> None:
        """Let go of the file."""
        self._word, self._words, self._places = None, (), ()


def _mapped(lock_file: Path) -> Sequence[int]:
    """Map the beginning of the file for as long as the process lives; nothing where it is not open here."""
    descriptor = _descriptor_of(lock_file)
    if descriptor is None:
        return ()
    address = _mmap(None, _LOOKED_AT * _WORD_BYTES, mmap.PROT_READ, mmap.MAP_SHARED, descriptor, 0)
    if address == _FAILED:
        return ()
    return memoryview((ctypes.c_uint64 * _LOOKED_AT).from_address(address)).cast("B").cast("Q")


def _descriptor_of(file: Path) -> int | None:
    """Return a descriptor by which this process has `file` open, or None where that cannot be told."""
    try:
        wanted = file.stat()
        names = os.listdir("/proc/self/fd")  # noqa: PTH208 - numbers, no paths
    except OSError:
        return None
    for name in names:
        with suppress(OSError):  # one that was closed meanwhile
            found = os.fstat(int(name))
            if (found.st_dev, found.st_ino) == (wanted.st_dev, wanted.st_ino):
                return int(name)
    return None
