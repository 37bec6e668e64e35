"""Purges and deletions inside a transaction: what is gone stays gone.

A fill token carries the values of the generations under which its keys were derived; any raise since
refuses its Store. A Store by descriptor derives its keys under the values of now, which do not tell how old
its answer is: it is judged by the time of each last raise. A deleted entry leaves a tombstone, which is
judged by time for both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from askonce_server.core.entries import ZERO_GENERATION, Generations, Write
from askonce_server.store.layout import (
    META_RAISES,
    META_SWEPT_RAISES,
    TIME_BYTES,
    Databases,
    Transaction,
    expiry_row,
)
from askonce_server.store.records import decode_generation, encode_generation
from askonce_server.store.seals import Damaged

TOMBSTONE_MS: Final = 24 * 3_600_000
"""How long a tombstone stays: a day, where a fill token lives for an hour."""


class Finality:
    """Generations and tombstones of one store, as one transaction sees them."""

    __slots__ = ("_databases", "_txn")

    def __init__(self, txn: Transaction, databases: Databases) -> None:
        self._txn = txn
        self._databases = databases

    def generations(self, names: Sequence[bytes]) -> tuple[bytes, ...]:
        """Return the value of each named generation, zero when it was never raised. Raises Damaged."""
        return tuple(value for value, _ in map(self._generation, names))

    def raised_ms(self, names: Sequence[bytes]) -> tuple[int | None, ...]:
        """Return when each named generation was last raised, None where it never was. Raises Damaged."""
        return tuple(at_ms for _, at_ms in map(self._generation, names))

    def admits(self, write: Write) -> bool:
        """Whether nothing that `write` depends on was purged or deleted since its request began.

        Raises Damaged.
        """
        began_ms, given = write.earliest_ms, write.generations
        for name, value in zip(given.names, given.values, strict=True):
            current, raised_ms = self._generation(name)
            if current != value or (write.by_descriptor and raised_ms is not None and raised_ms >= began_ms):
                return False
        deleted = [self.deleted_ms(key.entry_id) for key in write.keys]
        return all(at_ms is None or at_ms < began_ms for at_ms in deleted)

    def holds(self, given: Generations) -> bool:
        """Whether each generation still has the value given. Raises Damaged."""
        return self.generations(given.names) == given.values

    def raise_generations(self, values: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Give each named generation a new value, and count the raise."""
        for name, value in values.items():
            self._txn.put(name, encode_generation(value, at_ms), db=self._databases.generations)
        raises = self.raises() + 1
        self._txn.put(META_RAISES, raises.to_bytes(8, "big"), db=self._databases.meta)

    def raises(self) -> int:
        """Return how often generations were raised."""
        return self._number(META_RAISES)

    def swept_raises(self) -> int:
        """Return up to which raise everything unreachable was removed."""
        return self._number(META_SWEPT_RAISES)

    def bury(self, entry_id: bytes, *, at_ms: int) -> None:
        """Leave a tombstone for an entry."""
        self.unbury(entry_id)
        self._txn.put(entry_id, at_ms.to_bytes(TIME_BYTES, "big"), db=self._databases.tombstones)
        self._txn.put(expiry_row(at_ms + TOMBSTONE_MS, entry_id), b"", db=self._databases.expiry)

    def unbury(self, entry_id: bytes) -> None:
        """Remove an entry's tombstone."""
        before_ms = self.deleted_ms(entry_id)
        if before_ms is not None:
            self._txn.delete(expiry_row(before_ms + TOMBSTONE_MS, entry_id), db=self._databases.expiry)
            self._txn.delete(entry_id, db=self._databases.tombstones)

    def deleted_ms(self, entry_id: bytes) -> int | None:
        """Return when the entry was deleted, None when it has no tombstone. Raises Damaged."""
        value = self._txn.get(entry_id, db=self._databases.tombstones)
        if value is None:
            return None
        if len(value) != TIME_BYTES:
            raise Damaged("a tombstone is damaged")
        return int.from_bytes(value, "big")

    def _generation(self, name: bytes) -> tuple[bytes, int | None]:
        """Return a generation's value, and when it was last raised."""
        value = self._txn.get(name, db=self._databases.generations)
        return (ZERO_GENERATION, None) if value is None else decode_generation(value)

    def _number(self, name: bytes) -> int:
        return int.from_bytes(self._txn.get(name, db=self._databases.meta) or b"", "big")
