"""Keeping a store clean: what is to be swept, and whether its rows agree."""

from __future__ import annotations

from functools import partial
from typing import Final, NamedTuple

from askonce_server.core.fates import Fate, Gone
from askonce_server.ports import Swept
from askonce_server.store.commits import Commit, commit_transaction
from askonce_server.store.environment import OpenEnvironment, StoreSettings
from askonce_server.store.eviction import SWEEP_ROWS, trim
from askonce_server.store.finality import Finality
from askonce_server.store.layout import Databases, Transaction, split_expiry_row
from askonce_server.store.rows import Rows
from askonce_server.store.session import StoreSession
from askonce_server.store.space import Space, used_bytes
from askonce_server.store.unreachable import Removal
from askonce_server.store.verification import Finding, Verification

_MEND_ROWS: Final = 10_000
_MEND_SECONDS: Final = 3600.0


class _Due(NamedTuple):
    """What there is to sweep."""

    expired: bool
    over: bool
    """Whether more pages are in use than may be."""
    removal: Removal | None
    """There while something may be unreachable."""
    unreachable: list[bytes]
    """The rows of entries to remove."""


class SweepingStore(StoreSession):
    """A store that can be swept and verified."""

    def __init__(
        self, opened: OpenEnvironment, settings: StoreSettings, *, commit: Commit = commit_transaction
    ) -> None:
        super().__init__(opened, settings, commit=commit)
        self._removal: Removal | None = None

    def sweep(self, now_ms: int) -> Swept:
        """Remove a bounded number of the entries that nobody can be served any more, and old tombstones.

        Looks first whether there are any: a write transaction would hold up those of other processes. Raises
        StoreUnavailable.
        """
        with self.read() as view:
            readers = self._opened.env.reader_check()
            due = view.measure(partial(self._look, now_ms=now_ms))
        if not (due.expired or due.over or due.removal):
            return Swept(readers=readers)
        self._removal = None  # when the write fails the pass begins anew
        swept = self._ask(partial(self._sweep, due, now_ms))
        self._removal = None if due.removal is None or due.removal.done else due.removal
        return swept._replace(readers=readers)

    def _look(self, txn: Transaction, *, now_ms: int) -> _Due:
        databases = self._opened.databases
        finality, removal = Finality(txn, databases), self._removal
        if removal is None and finality.raises() != finality.swept_raises():
            removal = Removal(finality.raises())
        return _Due(
            expired=_has_expired(txn, databases, now_ms),
            over=used_bytes(txn, databases) > self._limit_bytes,
            removal=removal,
            unreachable=[] if removal is None else removal.find(txn, databases, limit=SWEEP_ROWS),
        )

    def _sweep(self, due: _Due, now_ms: int, rows: Rows, space: Space) -> Swept:
        unreachable = rows.remove(due.unreachable, Gone(Fate.PURGED, now_ms))
        if due.removal is not None and due.removal.done:
            rows.finish_removal(due.removal)
        expired = rows.remove_expired(now_ms, limit=SWEEP_ROWS)
        over = trim(rows, space, self._hits, now_ms=now_ms)
        more = over or expired == SWEEP_ROWS or due.removal is not None
        return Swept(expired=expired, evicted=rows.evicted, unreachable=unreachable, more=more)

    def verify(self, *, repair: bool = False) -> list[Finding]:
        """Return every row that does not agree with the others; with `repair` those that can be were mended.

        Reads every row, and holds writers up while it repairs: for a store that is not in use. Raises
        StoreUnavailable.
        """
        mended: list[Finding] = []
        while repair and (
            some := self._ask(lambda rows, _: rows.mend(limit=_MEND_ROWS), timeout=_MEND_SECONDS)
        ):
            mended += some
        with self.read() as view:
            return mended + view.measure(self._findings)

    def _findings(self, txn: Transaction) -> list[Finding]:
        return list(Verification(txn, self._opened.databases, self._opened.keys).findings())


def _has_expired(txn: Transaction, databases: Databases, now_ms: int) -> bool:
    """Whether an entry may be removed by now."""
    with txn.cursor(db=databases.expiry) as cursor:
        return cursor.first() and split_expiry_row(bytes(cursor.key()))[0] <= now_ms
