"""How rows that arrive in order fill their pages."""

from __future__ import annotations

from askonce_server.store.layout import Database, Transaction


def put_last(txn: Transaction, database: Database, row: bytes, value: bytes) -> None:
    """Put a row that comes last of those with its prefix.

    When a row comes behind all others of a full page, LMDB moves the last of these along with it: of rows
    that fit twice into a page each would have one alone. A row behind the new one, for as long as it is put,
    makes LMDB leave the others where they are.
    """
    behind = row + b"\0"
    txn.put(behind, b"", db=database)
    txn.put(row, value, db=database)
    txn.delete(behind, db=database)
