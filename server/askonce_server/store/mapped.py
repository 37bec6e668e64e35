"""A small file of the store's folder that its processes share as memory."""

from __future__ import annotations

import mmap
import os
from pathlib import Path


def mapped(path: Path, size: int) -> mmap.mmap:
    """Map `size` bytes of the file at `path`, which is made where it is not there. Raises OSError.

    It is made with its blocks: touching a hole on a full disk would end the process with SIGBUS.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        if os.fstat(descriptor).st_blocks * 512 < size:
            os.posix_fallocate(descriptor, 0, size)
        return mmap.mmap(descriptor, size)
    finally:
        os.close(descriptor)
