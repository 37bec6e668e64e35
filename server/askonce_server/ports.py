"""What the service needs from outside. Adapters live in `store/`, `index/`, `embed/` and `verify/`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from askonce_server.core.entries import Body, Entry, EntryKey, Write
from askonce_server.core.reasons import RefusalReason


class StoreUnavailable(Exception):
    """The store cannot be read or written now; the message says why and names the mend."""


@dataclass(frozen=True, slots=True)
class StoreStats:
    """Counts of a store since it was opened, and its size."""

    commits: int
    writes: int
    """Acknowledged writes. `writes / commits` is the size of a group commit."""
    entries: int
    used_bytes: int
    limit_bytes: int


class ReadView(Protocol):
    """A consistent view of the store. Short-lived: never held across an embedding, a verifier or a send."""

    def generations(self, names: Sequence[bytes]) -> tuple[bytes, ...]:
        """Return the value of each named generation, 16 bytes; zero when it was never raised."""

    def entry(self, key: EntryKey) -> Entry | None:
        """Return the entry at `key`, expired or not, or None. Freshness is the core's to judge."""

    def body(self, entry: Entry) -> Body | None:
        """Return the entry's body, checked against its content hash, or None when it is gone or damaged."""


class EntryStore(Protocol):
    """Entries and bodies. Safe to call from any thread."""

    def read(self) -> AbstractContextManager[ReadView]:
        """Open a view. Raises StoreUnavailable."""

    def put(self, writes: Sequence[Write]) -> list[RefusalReason | None]:
        """Store each write, all or nothing of each; return once it is durable and visible to every reader.

        A result is None when stored, else GENERATION_CHANGED, STORE_FULL or STORE_FAILED. Waits no longer
        than the store's write timeout; what is not acknowledged by then is STORE_FAILED. Never raises.
        """

    def problem(self) -> str | None:
        """Say why the store cannot be used now, or None when it can."""

    def stats(self) -> StoreStats:
        """Count. Raises StoreUnavailable."""

    def close(self) -> None:
        """Finish what was accepted and let go of the files."""


class Clock(Protocol):
    """Time that no wall clock jump can move."""

    def now_ms(self) -> int:
        """Return milliseconds since 1970, advancing steadily, also while the machine sleeps."""


class Randomness(Protocol):
    """Unpredictable bytes."""

    def token(self, size: int) -> bytes:
        """Return `size` unpredictable bytes."""
