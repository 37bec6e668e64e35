"""Whether the files of an open store are still those at its path.

LMDB keeps its files open. One that was deleted or replaced is written on, until the process ends and all of
it is gone; of one that was cut short the next page that is touched ends the process.
"""

from __future__ import annotations

import os
from pathlib import Path

_CLOSED = -1


class StoreLost(Exception):
    """The store's files are no longer at its path; the message says what happened, and the mend."""


class HeldFiles:
    """The data file, at its full size, and the lock file of a store as they were when it was opened."""

    def __init__(self, data_file: Path, lock_file: Path) -> None:
        self._data_file = data_file
        self._descriptor = os.open(data_file, os.O_RDONLY | os.O_CLOEXEC)
        self._size = os.fstat(self._descriptor).st_size
        self._found = [(path, _identity(path)) for path in (data_file, lock_file)]
        self._lost: str | None = None

    def check(self) -> None:
        """Compare what is there with what was opened. Raises StoreLost, from the first loss on."""
        if self._lost is None:
            self._lost = self._look()
        if self._lost is not None:
            raise StoreLost(self._lost)

    def is_cut_short(self) -> bool:
        """Whether the data file has lost its end. Costs about a microsecond."""
        descriptor = self._descriptor
        return descriptor != _CLOSED and os.fstat(descriptor).st_size < self._size

    def close(self) -> None:
        """Let go of the data file, of which nothing is said from then on."""
        descriptor, self._descriptor = self._descriptor, _CLOSED
        os.close(descriptor)

    def _look(self) -> str | None:
        if self.is_cut_short():
            size = os.fstat(self._descriptor).st_size
            return _say(self._data_file, f"was cut short, to {size} bytes of {self._size},")
        for path, before in self._found:
            try:
                now = _identity(path)
            except (FileNotFoundError, NotADirectoryError):
                return _say(path, "was deleted")
            except OSError:
                continue  # whatever it is, it says nothing of the file
            if now != before:
                return _say(path, "was replaced")
        return None


def _identity(path: Path) -> tuple[int, int]:
    state = path.stat()
    return state.st_dev, state.st_ino


def _say(path: Path, what: str) -> str:
    return (
        f"{path} {what} under the running server, and what it kept is gone: whatever lies at store.path is "
        "opened anew; stop the server before its files are touched"
    )
