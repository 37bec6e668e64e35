"""Who of several workers does what one of them is enough for."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path


class Turn:
    """The lock that one worker holds while it does something, and another may take when that one has ended.

    Where it cannot be made everybody does it: it must be something that two do no harm with.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None

    def take(self) -> bool:
        """Whether it is this process' turn."""
        if self._descriptor is not None:
            return True
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(descriptor)
            return False
        self._descriptor = descriptor
        return True

    def give_back(self) -> None:
        """Let another process have it."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)
