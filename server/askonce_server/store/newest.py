"""Which snapshot of the store is the newest, seen without letting go of the interpreter's lock.

LMDB writes the id of every commit, of whichever process, to one of the two first pages of its file, before it
says that the commit is done. Under load, whoever lets go of the interpreter's lock waits for its turn to have
it back, which costs more than all else that a hit takes. Beginning a transaction lets go of it, as every read
in `os` does; a call through `ctypes.PyDLL` does not. The file is read, not mapped: of one that was cut short
a mapped page ends the process.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from pathlib import Path
from typing import Final

_ID: Final = struct.Struct("=Q")
_ID_AT: Final = 144
_PAGE_BYTES_AT: Final = 40
"""Where in a meta page the transaction id and a page's size stand: LMDB 0.9 (`mdb.c`: MDB_meta), 64 bits."""
_NONE: Final = -2
_CLOSED: Final = -1

_pread = ctypes.PyDLL(None).pread
_pread.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long)
_pread.restype = ctypes.c_ssize_t


class NewestSnapshot:
    """The id of the last commit to a data file."""

    __slots__ = ("_descriptor", "_found", "_second_at", "_size")

    def __init__(self, data_file: Path) -> None:
        """Open `data_file`, which LMDB has open. Raises OSError."""
        self._descriptor = os.open(data_file, os.O_RDONLY | os.O_CLOEXEC)
        page_bytes = int.from_bytes(os.pread(self._descriptor, 4, _PAGE_BYTES_AT), sys.byteorder)
        self._second_at = page_bytes
        self._size = page_bytes + _ID.size
        # Shared: a thread that finds what another has just read finds what is newer still.
        self._found = ctypes.create_string_buffer(self._size)

    def id(self) -> int:
        """Return the id that a transaction begun now would have; a negative number when it cannot be told.

        While a commit is under way it may be the id that is to come, or a torn one, which no transaction had.
        """
        found = self._found
        if _pread(self._descriptor, found, self._size, _ID_AT) != self._size:
            return _NONE
        first: int = _ID.unpack_from(found)[0]
        second: int = _ID.unpack_from(found, self._second_at)[0]
        return max(first, second)

    def close(self) -> None:
        """Let go of the file."""
        descriptor, self._descriptor = self._descriptor, _CLOSED
        os.close(descriptor)
