"""Bringing every row of a store under the key that encrypts now, or all of them into plain.

Bodies and vectors are written anew in place, in transactions of bounded size, so that it may be stopped and
begun again. The file is compacted then: its free pages still hold the rows as they were.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeAlias

import lmdb

from askonce_server.ports import StoreUnavailable
from askonce_server.store.compacting import Compacted, compact
from askonce_server.store.costs import MIB
from askonce_server.store.environment import OpenEnvironment, StoreSettings, open_existing
from askonce_server.store.faults import describe
from askonce_server.store.keyring import KeyMissing, Keyring
from askonce_server.store.layout import META_STORE_KEY, Database, Transaction
from askonce_server.store.records import decode_body, decode_header, encode_body
from askonce_server.store.seals import Readable
from askonce_server.store.vectors import decode_vector, decode_vector_record, encode_vector

_BATCH_ROWS: Final = 4096
_BATCH_BYTES: Final = 8 * MIB


@dataclass(slots=True)
class Reencrypted:
    """What became of the rows."""

    written: int = 0
    """Those that were written anew."""
    kept: int = 0
    """Those that were as they should be."""
    locked: int = 0
    """Those under a key that is not here, which stay as they are."""
    damaged: int = 0
    """Those that nobody can read."""
    compacted: Compacted | None = None

    @property
    def seen(self) -> int:
        """All of them."""
        return self.written + self.kept + self.locked + self.damaged


Anew: TypeAlias = Callable[[bytes, memoryview, Keyring], Readable | None]
"""Returns the value that a row should have: its own where it is right, None where nobody can read it.

Raises KeyMissing.
"""


def reencrypt(settings: StoreSettings, tell: Callable[[int, int], object]) -> Reencrypted:
    """Bring every row of the store at `settings.path` under the first of `settings.keys`, or into plain.

    `tell` hears how many rows of how many. Raises StoreUnavailable, also when somebody has the store open.
    """
    opened = open_existing(settings)
    try:
        result = _rewrite(opened, tell)
    except (lmdb.Error, OSError) as fault:
        raise StoreUnavailable(describe(fault, settings.path)) from fault
    finally:
        opened.close()
    result.compacted = compact(settings)
    return result


def _rewrite(opened: OpenEnvironment, tell: Callable[[int, int], object]) -> Reencrypted:
    result, databases = Reencrypted(), opened.databases
    tables: list[tuple[Database, Anew]] = [(databases.bodies, _body), (databases.vectors, _vector)]
    with opened.env.begin() as txn:
        rows: int = sum(txn.stat(database)["entries"] for database, _ in tables)
    for database, anew in tables:
        after: bytes | None = b""
        while after is not None:
            with opened.env.begin(write=True, buffers=True) as txn:
                after = _batch(txn, database, anew, opened.keys, after=after, result=result)
            tell(result.seen, rows)
    with opened.env.begin(write=True) as txn:
        if opened.keys.first is not None:
            txn.put(META_STORE_KEY, opened.keys.first, db=databases.meta)
        elif not result.locked:
            txn.delete(META_STORE_KEY, db=databases.meta)
    return result


def _batch(  # noqa: PLR0913 - what a step of a walk is made of
    txn: Transaction, database: Database, anew: Anew, keys: Keyring, *, after: bytes, result: Reencrypted
) -> bytes | None:
    """Write some rows behind `after` anew; return the last of them, None when there are no more."""
    changes: list[tuple[bytes, Readable]] = []
    last, rows, size = after, 0, 0
    with txn.cursor(db=database) as cursor:
        found = cursor.set_range(after + b"\0")
        while found and rows < _BATCH_ROWS and size < _BATCH_BYTES:
            last, rows = bytes(cursor.key()), rows + 1
            value = _changed(last, cursor.value(), anew, keys, result)
            if value is not None:
                changes.append((last, value))
                size += len(value)
            found = cursor.next()
    for row, value in changes:
        txn.put(row, value, db=database)
    return last if found else None


def _changed(
    row: bytes, value: memoryview, anew: Anew, keys: Keyring, result: Reencrypted
) -> Readable | None:
    """Return the value to write in a row, or None where it stays; count which."""
    try:
        wanted = anew(row, value, keys)
    except KeyMissing:
        result.locked += 1
        return None
    if wanted is None:
        result.damaged += 1
    elif wanted is value:
        result.kept += 1
    else:
        result.written += 1
        return wanted
    return None


def _body(row: bytes, value: memoryview, keys: Keyring) -> Readable | None:
    head = decode_header(row, value)
    if head is None:
        return None
    if head.header.key_id == (keys.first or b""):
        return value
    body = decode_body(row, value, body_bytes=head.size, keys=keys)
    return None if body is None else encode_body(row, body, keys)


def _vector(row: bytes, value: memoryview, keys: Keyring) -> Readable | None:
    record = decode_vector_record(row, value)
    if record is None:
        return None
    if record.key_id == (keys.first or b""):
        return value
    vector = decode_vector(row, value, keys)
    return None if vector is None else encode_vector(row, vector.entry_id, vector.row, keys)
