"""What stands in for a store that could not be opened: everything passes through."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import NoReturn

from askonce_server.core.entries import EntryKey, Write
from askonce_server.core.labels import Label
from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import NO_BARS, Counted, StoreUnavailable


class UnavailableStore:
    """An EntryStore that finds nothing, takes nothing and says why."""

    def __init__(self, problem: str) -> None:
        self._problem = problem

    def read(self) -> NoReturn:
        """Raise StoreUnavailable."""
        raise StoreUnavailable(self._problem)

    def recall(self, key: Hashable) -> None:
        """Return None: nothing was kept."""

    def put(self, writes: Sequence[Write]) -> list[RefusalReason | None]:
        """Refuse each write with STORE_FAILED."""
        return [RefusalReason.STORE_FAILED for _ in writes]

    def note_refused(
        self, keys: Sequence[EntryKey], scope_root: bytes, reason: RefusalReason, *, at_ms: int
    ) -> None:
        """Remember nothing: there is nowhere to."""
        del keys, scope_root, reason, at_ms

    def raise_generations(self, values: Mapping[bytes, bytes], *, at_ms: int) -> NoReturn:
        """Raise StoreUnavailable."""
        del values, at_ms
        raise StoreUnavailable(self._problem)

    def reach(self, names: Collection[bytes], *, within: Collection[bytes] = ()) -> NoReturn:
        """Raise StoreUnavailable."""
        del names, within
        raise StoreUnavailable(self._problem)

    def delete(self, entry_id: bytes, *, at_ms: int) -> NoReturn:
        """Raise StoreUnavailable."""
        del entry_id, at_ms
        raise StoreUnavailable(self._problem)

    def sweep(self, now_ms: int) -> NoReturn:
        """Raise StoreUnavailable."""
        del now_ms
        raise StoreUnavailable(self._problem)

    def problem(self) -> str:
        """Say why the store could not be opened."""
        return self._problem

    def stats(self) -> NoReturn:
        """Raise StoreUnavailable."""
        raise StoreUnavailable(self._problem)

    def entries_by_rule(self) -> NoReturn:
        """Raise StoreUnavailable."""
        raise StoreUnavailable(self._problem)

    def add_counts(self, server: bytes, counted: Counted, *, at_ms: int) -> NoReturn:
        """Raise StoreUnavailable."""
        del server, counted, at_ms
        raise StoreUnavailable(self._problem)

    def counts_since(self, since_ms: int, *, server: bytes) -> NoReturn:
        """Raise StoreUnavailable."""
        del since_ms, server
        raise StoreUnavailable(self._problem)

    def file_labels(
        self,
        labels: Sequence[Label],
        groups: Mapping[EntryKey, bytes],
        bars: Mapping[EntryKey, bytes] = NO_BARS,
    ) -> NoReturn:
        """Raise StoreUnavailable."""
        del labels, groups, bars
        raise StoreUnavailable(self._problem)

    def labels(self, after: int, *, limit: int) -> NoReturn:
        """Raise StoreUnavailable."""
        del after, limit
        raise StoreUnavailable(self._problem)

    def close(self) -> None:
        """Do nothing: there is nothing to close."""
