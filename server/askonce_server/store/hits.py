"""Which Stores were read since eviction last looked at them.

One byte for each of the newest million store ids, in memory that the processes of a store share through a
file. Two ids of which one is that much newer share a byte, which may spare the older one a round. Marking
takes no lock and no call into LMDB (0.1 microseconds).
"""

from __future__ import annotations

import logging
import mmap
from pathlib import Path
from typing import Final

from askonce_server.store.mapped import mapped

FILE: Final = "hits"
SLOTS: Final = 1 << 20
_MASK: Final = SLOTS - 1
_log = logging.getLogger(__name__)


class Hits:
    """Marks on store ids."""

    __slots__ = ("_slots",)

    def __init__(self, slots: bytearray | mmap.mmap | None = None) -> None:
        self._slots = bytearray(SLOTS) if slots is None else slots

    @classmethod
    def shared(cls, folder: Path) -> Hits:
        """Share the marks of the store in `folder`; where that cannot be, they are the process's own."""
        try:
            return cls(mapped(folder / FILE, SLOTS))
        except OSError as fault:
            _log.warning("the hits of the store at %s are not shared between processes: %s", folder, fault)
            return cls()

    def close(self) -> None:
        """Let go of the file; what is marked from now on is nobody's."""
        slots, self._slots = self._slots, bytearray(SLOTS)
        if isinstance(slots, mmap.mmap):
            slots.close()

    def mark(self, store_id: int) -> None:
        """Remember that the Store was read."""
        self._slots[store_id & _MASK] = 1

    def take(self, store_id: int) -> bool:
        """Return whether the Store was read, and forget it."""
        slot = store_id & _MASK
        marked = self._slots[slot] != 0
        self._slots[slot] = 0
        return marked
