"""LMDB's table of readers, which is a mapped file."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Final

_HEAD_BYTES: Final = 128
_READER_BYTES: Final = 64
"""A slot, and what stands before them all (`mdb.c`: MDB_reader, MDB_txninfo)."""


def allocate_reader_table(lock_file: Path, max_readers: int) -> None:
    """Give LMDB's lock file its blocks before it is mapped. Raises OSError when the disk is full.

    LMDB makes it as a hole and fills it as readers come: on a disk that is full by then the next reader would
    end the process with SIGBUS.
    """
    wanted = _HEAD_BYTES + _READER_BYTES * max_readers
    descriptor = os.open(lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        state = os.fstat(descriptor)
        size = max(state.st_size, wanted)
        if state.st_blocks * 512 < size and hasattr(os, "posix_fallocate"):
            os.posix_fallocate(descriptor, 0, size)
    except OSError as fault:
        if fault.errno not in {errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS}:
            raise  # those mean that the file system cannot promise blocks; then it stays a hole
    finally:
        os.close(descriptor)
