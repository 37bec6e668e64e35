"""What a view of the store tells operators besides. No Lookup asks for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from askonce_server.core.entries import Entry, EntryKey
from askonce_server.core.fates import Gone


class Kept(NamedTuple):
    """A Store whose rows are left, reachable or not."""

    entries: tuple[Entry, ...]
    outline: bytes
    """That of the request, see `core.outline`; empty where an older version stored it."""


class Archive(Protocol):
    """The rows of one view, as whoever explains a miss looks at them. Raises StoreUnavailable."""

    def newest(self, scope_root: bytes, *, limit: int) -> list[Kept]:
        """Return the newest Stores of a scope, newest first, at most `limit`."""

    def raised_ms(self, names: Sequence[bytes]) -> tuple[int | None, ...]:
        """Return when each named generation was last raised, None where it never was."""

    def gone(self, key: EntryKey, scope_root: bytes) -> Gone | None:
        """Return why there is no entry at `key`, where that is remembered."""

    def holds_body(self, entry: Entry) -> bool:
        """Whether the entry's body is there and can be read. Does not count as a use of it."""
