"""Where answers are kept, and who may fill one."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from askonce_server.core.entries import Body, Entry, EntryKey, SemanticRow, Write
from askonce_server.core.reasons import RefusalReason
from askonce_server.ports.archive import Archive
from askonce_server.ports.history import History
from askonce_server.ports.labels import LabelLog


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
    evicted: int = 0
    """Stores that were removed since it was opened, to make room."""
    unreachable: int = 0
    """Entries that a purge left without anybody who can be served them, and that are still to be removed."""
    partitions: int = 0
    """Search spaces of the semantic matcher."""


class Swept(NamedTuple):
    """What one step of sweeping removed."""

    expired: int = 0
    """Entries past their ttl, and what deleted ones left."""
    evicted: int = 0
    """Stores that a lowered limit has no room for."""
    unreachable: int = 0
    """Entries that a purge made unreachable."""
    readers: int = 0
    """Slots of readers that had been killed."""
    more: bool = False
    """Whether there is more to remove now."""


class Reach(NamedTuple):
    """What raising generations makes unreachable."""

    scopes: int
    """Scope keys with entries: each matcher of each rule has its own."""
    entries: int
    body_bytes: int
    """Counted for each entry, so that the entries of one Store count its body each."""


class PartitionState(NamedTuple):
    """What tells whether an index still agrees with the store."""

    sequence: int
    """The newest vector's; 0 when there never was one. Store-wide, ascending, never used again."""
    rows: int
    """Live vectors: neither replaced nor removed. Expired ones count until they are swept. None left: both
    numbers are 0."""


class VectorBlock(NamedTuple):
    """Vectors of a partition, by ascending sequence."""

    sequences: npt.NDArray[np.int64]
    """int64[n]."""
    vectors: npt.NDArray[np.float32]
    """float32[n, dim], C-contiguous."""


class StoredVector(NamedTuple):
    """A live vector and the entry that it belongs to."""

    entry: Entry
    row: SemanticRow


class ReadView(Protocol):
    """A consistent view of the store. Short-lived: never held across an embedding, a verifier or a send."""

    def generations(self, names: Sequence[bytes]) -> tuple[bytes, ...]:
        """Return the value of each named generation, 16 bytes; zero when it was never raised."""

    def entry(self, key: EntryKey) -> Entry | None:
        """Return the entry at `key`, expired or not, or None. Freshness is the core's to judge."""

    def body(self, entry: Entry) -> Body | None:
        """Return the entry's body, checked against its content hash, or None when it is gone or damaged.

        What is read here counts as used, and is evicted later than what is not.
        """

    def bars(self, entry: Entry) -> tuple[bytes, ...]:
        """Return the vectors for which the entry was found wrong; see `LabelLog.file_labels`."""

    def find(self, entry_id: bytes) -> Entry | None:
        """Return the entry with that id (32 bytes), whatever its scope, or None. For operators."""

    def partition(self, partition: bytes) -> PartitionState:
        """Return the state of the partition (32 bytes)."""

    def vectors(self, partition: bytes, *, dim: int, after: int = 0, limit: int) -> VectorBlock:
        """Return at most `limit` live vectors of `dim` dimensions whose sequence is above `after`.

        Rows that are damaged or of another size are left out. Fewer than `limit` means that there are no
        more; the block's last sequence is where to go on. The arrays are read-only.
        """

    def stored_vectors(self, partition: bytes, sequences: Sequence[int]) -> list[StoredVector | None]:
        """Return what is stored at each sequence, None where the vector or its entry is gone or damaged."""

    def keep(self, key: Hashable, found: object, *, entry: Entry, size: int) -> None:
        """Keep what was derived from this view's rows alone, for `EntryStore.recall`.

        To recall it counts as a read of `entry`. `size` is what it and `key` take in memory, in bytes. It may
        be forgotten at any time.
        """

    @property
    def archive(self) -> Archive:
        """What it tells operators besides."""


class EntryStore(History, LabelLog, Protocol):
    """Entries and bodies, what was counted, and labels. Safe to call from any thread."""

    def read(self) -> AbstractContextManager[ReadView]:
        """Open a view. Raises StoreUnavailable."""

    def recall(self, key: Hashable) -> object | None:
        """Return what a view kept under `key`.

        None where nothing was, or a row has changed since, in any process. Never raises.
        """

    def put(self, writes: Sequence[Write]) -> list[RefusalReason | None]:
        """Store each write, all or nothing of each; return once it is durable and visible to every reader.

        A result is None when stored, else GENERATION_CHANGED, STORE_FULL or STORE_FAILED. A store that is
        full evicts others first. Waits no longer than the store's write timeout; what is not acknowledged by
        then is STORE_FAILED. Never raises.
        """

    def note_refused(
        self, keys: Sequence[EntryKey], scope_root: bytes, reason: RefusalReason, *, at_ms: int
    ) -> None:
        """Remember for a while that an answer for these entries was refused, to explain misses by.

        Takes no transaction. Never raises.
        """

    def raise_generations(self, values: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Give each named generation (32 bytes) a new value (16 bytes, never used before).

        What was filed under an older value is unreachable from then on, in every process, and a write that
        began before is refused. Takes no longer for many entries than for few. Raises StoreUnavailable when
        it was not acknowledged.
        """

    def reach(self, names: Collection[bytes], *, within: Collection[bytes] = ()) -> Reach:
        """Count what raising these generations would make unreachable. Raises StoreUnavailable.

        Only scopes that have each of the generations `within` are counted.
        """

    def delete(self, entry_id: bytes, *, at_ms: int) -> list[EntryKey]:
        """Remove the entry with that id (32 bytes) and the others of its Store; return their keys.

        Final: a write under one of these ids, or under that id where there was none, is refused when its
        request began before. Raises StoreUnavailable when it was not acknowledged.
        """

    def sweep(self, now_ms: int) -> Swept:
        """Remove a bounded number of the entries that nobody can be served any more.

        Raises StoreUnavailable.
        """

    def problem(self) -> str | None:
        """Say why the store cannot be used now, or None when it can."""

    def stats(self) -> StoreStats:
        """Count. Raises StoreUnavailable."""

    def entries_by_rule(self) -> Mapping[str, int]:
        """Count the entries that each rule stored, by its id. Raises StoreUnavailable.

        About: where several rules share a scope, its entries count for the one that stored last. Looks at a
        bounded number of scopes.
        """

    def close(self) -> None:
        """Finish what was accepted and let go of the files."""


class Taken(NamedTuple):
    """What became of an attempt to take a lease."""

    holder: bytes | None
    """Names who has it now; None: somebody else, as before."""
    until_ms: int
    """When it ends by itself."""


class Leases(Protocol):
    """The right of one caller at a time to fill a miss. A lease is 64 bytes. Safe to call from any thread."""

    @property
    def closed(self) -> bool:
        """Whether nobody is to wait any longer."""

    def mark(self) -> int:
        """Return a number that grows with every change: take it before looking, give it to `wait`."""

    def take(self, lease: bytes, *, now_ms: int, until_ms: int) -> Taken:
        """Take the lease until `until_ms`, unless somebody has it."""

    def held_until(self, lease: bytes) -> int:
        """Return until when somebody has the lease; 0 when nobody has."""

    def release(self, lease: bytes, holder: bytes) -> bool:
        """Let go of the lease, and let those who wait know; return whether `holder` had it."""

    def touch(self, lease: bytes) -> None:
        """Let those who wait know that there is an answer."""

    def wait(self, lease: bytes, mark: int, *, seconds: float) -> bool:
        """Wait for a change since `mark`, `seconds` at most; return whether there may have been one."""

    def close(self) -> None:
        """Let nobody wait any longer."""
