"""Where rows lie: the named databases and the keys of their rows.

| database    | key                                  | value                                                |
|-------------|--------------------------------------|------------------------------------------------------|
| entries     | scope key ‖ entry id                 | sealed EntryRecord                                   |
|             | or partition ‖ entry id              |                                                      |
| bodies      | scope root ‖ store id                | header length ‖ seal ‖ BodyHeader ‖ the bytes,       |
|             |                                      | or nonce ‖ ciphertext ‖ tag                          |
| stores      | store id                             | sealed StoreRecord                                   |
| ids         | entry id                             | what the entry's row begins with                     |
| vectors     | partition ‖ sequence                 | seal ‖ lengths ‖ the vector ‖ VectorRecord           |
| partitions  | partition                            | sealed PartitionRecord                               |
| scopes      | scope key                            | sealed ScopeRecord                                   |
| expiry      | time to remove ‖ the entry's row     | empty                                                |
|             | or time to remove ‖ tombstone        |                                                      |
| generations | name                                 | value (16 bytes) ‖ time of the last raise            |
| tombstones  | id of a deleted entry                | time of its deletion                                 |
| observations| see `labels`                         | whether near answers were right                      |
| stats       | see `history`                        | counts by the hour                                   |
| meta        | a name below                         | see there                                            |

Numbers are big endian, so that rows sort by them. Ids and names are 32 bytes, times 8 bytes of milliseconds.
A row of `stores` holds together what one Store filed: by it a Store is evicted or deleted as a whole, oldest
first in the order of the rows. Store ids and sequences ascend: a value above about 2 kB takes whole pages,
and rows that arrive in order leave fewer pages half empty. They are counted for the whole store and never
used again, so that a partition whose last vector went may lose its row: whatever is filed there later has a
sequence that nobody has seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Final, TypeAlias

import lmdb

from askonce_server.core.entries import EntryKey

SCHEMA: Final = 1
"""The number of this layout. A store with a higher one is left alone."""

ID_BYTES: Final = 32
GENERATION_BYTES: Final = 16
TIME_BYTES: Final = 8
SEQUENCE_BYTES: Final = 8
STORE_ID_BYTES: Final = 8

META_SCHEMA: Final = b"schema"
"""The layout's number: 4 bytes."""
META_NEXT_STORE_ID: Final = b"next_store_id"
"""The id that the next Store takes: 8 bytes. Ids are never used again."""
META_NEXT_SEQUENCE: Final = b"next_sequence"
"""The sequence that the next vector takes: 8 bytes, 1 at first. Sequences are never used again."""
META_RAISES: Final = b"raises"
"""How often generations were raised: 8 bytes."""
META_SWEPT_RAISES: Final = b"swept_raises"
"""Up to which raise everything unreachable was removed: 8 bytes."""
META_HAND: Final = b"hand"
"""The store id at which eviction goes on: 8 bytes."""
META_ANCHOR: Final = b"clock_anchor"
"""Wall clock and boot clock in nanoseconds, 8 bytes each, then the boot id."""
META_TOKEN_KEY: Final = b"token_key"
"""The key that signs fill tokens where none is configured: 32 bytes."""
META_GUARD_KEY: Final = b"guard_key"
"""The key of the guards' tokens: 32 bytes."""
META_STORE_KEY: Final = b"store_key"
"""The id of the key that encrypts: 8 bytes. Not there while the store is plain."""
META_SAME_SINCE: Final = b"same_since"
"""The snapshot since which nothing but counts changed: sealed, 8 bytes.

Not there when the last commit changed more."""
META_TOUCHED: Final = b"touched"
"""Written and removed to see whether anything can be written."""

Transaction: TypeAlias = "lmdb.Transaction[memoryview]"
Database: TypeAlias = lmdb._Database  # noqa: SLF001  # the library's only name for it


@dataclass(frozen=True, slots=True)
class Databases:
    """The handles of the named databases; a field's name is the database's."""

    entries: Database
    bodies: Database
    stores: Database
    ids: Database
    scopes: Database
    expiry: Database
    generations: Database
    meta: Database
    vectors: Database
    partitions: Database
    tombstones: Database
    observations: Database
    stats: Database

    def all(self) -> tuple[Database, ...]:
        """Return every handle."""
        return tuple(getattr(self, name) for name in DATABASE_NAMES)

    def walk(self, txn: Transaction, name: str) -> Iterator[tuple[bytes, memoryview]]:
        """Go through a database in the order of its rows. A value holds until the next. Raises lmdb.Error."""
        with txn.cursor(db=getattr(self, name)) as cursor:
            for row, value in cursor:
                yield bytes(row), value


DATABASE_NAMES: Final = tuple(field.name for field in fields(Databases))
MAX_DATABASES: Final = 32
"""Fixed when a store is opened; leaves room for databases to come."""


def entry_row(key: EntryKey) -> bytes:
    """Return the key of an entry's row."""
    return key.prefix + key.entry_id


def body_row(scope_root: bytes, store_id: int) -> bytes:
    """Return the key of a body's row."""
    return scope_root + store_row(store_id)


def store_row(store_id: int) -> bytes:
    """Return the key of a Store's row."""
    return store_id.to_bytes(STORE_ID_BYTES, "big")


def vector_row(partition: bytes, sequence: int) -> bytes:
    """Return the key of a vector's row."""
    return partition + sequence.to_bytes(SEQUENCE_BYTES, "big")


def expiry_row(remove_ms: int, row: bytes) -> bytes:
    """Return the key of the expiry row of the entry at `row`."""
    return max(remove_ms, 0).to_bytes(TIME_BYTES, "big") + row


def is_tombstone(row: bytes) -> bool:
    """Whether what an expiry row names is a tombstone rather than an entry."""
    return len(row) == ID_BYTES


def split_expiry_row(key: bytes) -> tuple[int, bytes]:
    """Return the time in an expiry row's key, and the row of the entry or tombstone that it names."""
    return int.from_bytes(key[:TIME_BYTES], "big"), key[TIME_BYTES:]
