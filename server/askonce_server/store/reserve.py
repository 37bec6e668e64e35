"""Some of the disk that is kept for purges and deletions, which must not fail because a disk is full.

A commit writes new pages before it frees old ones. In a file whose free pages are used up it needs more of
the disk, and where that is full a purge would be refused: the very thing that must always work. So a file
beside the store holds a few pages' worth of the disk, which is let go when such a commit needs it, and taken
again afterwards, as far as it can be. What a purge frees inside the store is there for the next one.
"""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Final

from askonce_server.store.costs import PAGE_BYTES

RESERVE_FILE: Final = "reserve"
RESERVE_BYTES: Final = 512 * 1024
"""A purge changes up to a dozen pages, a deletion some fifty."""
_SHARE: Final = 8
"""Where a disk is almost full the store has more use for what is left: one part in so many is kept."""
_REFILL_SECONDS: Final = 1.0


class Reserve:
    """The reserve of the store in `folder`, shared by the processes that have it open. Never raises."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / RESERVE_FILE
        self._whole = False
        self._due = 0.0

    def refill(self) -> None:
        """Take what is missing, where the disk can spare it. Costs next to nothing while nothing is."""
        if self._whole or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + _REFILL_SECONDS
        try:
            spare = shutil.disk_usage(self._path.parent).free // _SHARE
        except OSError:
            return
        self._take(min(RESERVE_BYTES, self._held() + spare))

    def let_go(self) -> int:
        """Give the disk back what is held, and return how many bytes that were."""
        held = self._held()
        try:
            os.truncate(self._path, 0)
        except OSError:
            return 0
        self._whole = False
        return held

    def take_back(self, most: int) -> None:
        """Take up to `most` bytes of what was let go again."""
        while most >= PAGE_BYTES and not self._take(most):
            most //= 2

    def _held(self) -> int:
        try:
            return self._path.stat().st_size
        except OSError:
            return 0

    def _take(self, size: int) -> bool:
        """Hold `size` bytes, or as much as before."""
        before, size = self._held(), size - size % PAGE_BYTES
        if size > before:
            try:
                self._allocate(size, before)
            except OSError:
                return False
        self._whole = max(size, before) >= RESERVE_BYTES
        return True

    def _allocate(self, size: int, before: int) -> None:
        file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(file, 0, size)
        except OSError:
            os.truncate(file, before)  # some of it may have been given
            raise
        finally:
            os.close(file)
