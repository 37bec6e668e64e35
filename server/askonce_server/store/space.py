"""How much may still be written.

Two limits. `max_bytes` bounds the pages in use. The map, which is fixed when the store is opened since
growing it breaks other processes, is larger by a quarter and 64 MiB: a transaction never overwrites a page
that a reader may still see, so a reader that is held makes the file grow, and at the end of the map even
deleting fails. Writes therefore leave the last pages of the map to deletions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import lmdb

from askonce_server.store.costs import MIB, PAGE_BYTES
from askonce_server.store.layout import Databases, Transaction

_HEADROOM_BYTES: Final = 64 * MIB
_RESERVE_BYTES: Final = 24 * MIB
"""Kept for deletions at the end of the map: three batches' worth, of which two may be in flight."""
_HELD_AFTER: Final = 1
"""A reader more than this many commits behind is held, for all that a writer without room can tell."""
_FRAGMENTATION: Final = 16
"""A body needs pages in a row: that many times its size must be free before some are counted on."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits of one store, in bytes."""

    max_bytes: int

    @property
    def map_bytes(self) -> int:
        """The size of the map: a quarter and 64 MiB above `max_bytes`, in whole pages."""
        return -(-(self.max_bytes + self.max_bytes // 4 + _HEADROOM_BYTES) // PAGE_BYTES) * PAGE_BYTES


def used_bytes(txn: Transaction, databases: Databases) -> int:
    """Return the bytes of all pages in use: those of the file less the free ones."""
    pages = 2
    for database in (None, *databases.all()):
        stat = txn.stat(database) if database is not None else txn.stat()
        pages += stat["branch_pages"] + stat["leaf_pages"] + stat["overflow_pages"]
    return pages * PAGE_BYTES


class Space:
    """The room that one write transaction has."""

    __slots__ = ("_bounds", "_databases", "_env", "_growth", "_txn", "_used")

    def __init__(self, env: lmdb.Environment, txn: Transaction, databases: Databases, bounds: Bounds) -> None:
        self._env = env
        self._txn = txn
        self._databases = databases
        self._bounds = bounds
        self._growth = env.info()["map_size"] - _RESERVE_BYTES - self._file_bytes()
        self._used = used_bytes(txn, databases)

    def take(self, gross: int, *, freed: int = 0) -> bool:
        """Take `gross` bytes of new pages, of which `freed` replace others, or refuse."""
        net = max(gross - freed, 0)
        if self._used + net > self._bounds.max_bytes:
            return False
        if gross > self._growth and gross * _FRAGMENTATION > self._reusable():
            return False
        self._used += net
        self._growth -= gross
        return True

    @property
    def limit(self) -> int:
        """How many bytes of pages may be in use."""
        return self._bounds.max_bytes

    def shortfall(self, gross: int, *, freed: int) -> int:
        """Return how many bytes of pages must go for `gross` new ones in place of `freed`."""
        return self._used + max(gross - freed, 0) - self._bounds.max_bytes

    def measure(self) -> None:
        """Count again, after rows were removed."""
        self._used = used_bytes(self._txn, self._databases)

    def _file_bytes(self) -> int:
        return (self._env.info()["last_pgno"] + 1) * PAGE_BYTES

    def _reusable(self) -> int:
        """Return the bytes of free pages inside the file, none while a reader holds them."""
        info = self._env.info()
        if oldest_reader(self._env.readers(), newest=info["last_txnid"]) < info["last_txnid"] - _HELD_AFTER:
            return 0
        return self._file_bytes() - self._used


def oldest_reader(table: str, *, newest: int) -> int:
    """Return the oldest transaction that a reader in LMDB's `table` sees, `newest` if there is none."""
    seen = [line.split()[-1] for line in table.splitlines()[1:] if line.strip()]
    return min([int(txnid) for txnid in seen if txnid.isdigit()], default=newest)
