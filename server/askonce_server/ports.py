"""What the service needs from outside. Adapters live in `store/`, `index/`, `embed/` and `verify/`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from askonce_server.core.entries import Body, Entry, EntryKey, Neighbor, SemanticRow, Write
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


class Swept(NamedTuple):
    """What one step of sweeping removed."""

    expired: int = 0
    """Entries past their ttl."""
    readers: int = 0
    """Slots of readers that had been killed."""
    more: bool = False
    """Whether there is more to remove now."""


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
        """Return the entry's body, checked against its content hash, or None when it is gone or damaged."""

    def partition(self, partition: bytes) -> PartitionState:
        """Return the state of the partition (32 bytes)."""

    def vectors(self, partition: bytes, *, dim: int, after: int = 0, limit: int) -> VectorBlock:
        """Return at most `limit` live vectors of `dim` dimensions whose sequence is above `after`.

        Rows that are damaged or of another size are left out. Fewer than `limit` means that there are no
        more; the block's last sequence is where to go on. The arrays are read-only.
        """

    def stored_vectors(self, partition: bytes, sequences: Sequence[int]) -> list[StoredVector | None]:
        """Return what is stored at each sequence, None where the vector or its entry is gone or damaged."""


class EntryStore(Protocol):
    """Entries and bodies. Safe to call from any thread."""

    def read(self) -> AbstractContextManager[ReadView]:
        """Open a view. Raises StoreUnavailable."""

    def put(self, writes: Sequence[Write]) -> list[RefusalReason | None]:
        """Store each write, all or nothing of each; return once it is durable and visible to every reader.

        A result is None when stored, else GENERATION_CHANGED, STORE_FULL or STORE_FAILED. Waits no longer
        than the store's write timeout; what is not acknowledged by then is STORE_FAILED. Never raises.
        """

    def sweep(self, now_ms: int) -> Swept:
        """Remove a bounded number of the entries that nobody can be served any more.

        Raises StoreUnavailable.
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


Vector = npt.NDArray[np.float32]
"""One embedding: float32[dim], of unit length."""


class EmbedderUnavailable(Exception):
    """The embedder cannot be set up; the message says why and names the mend."""


class EmbedderFailed(Exception):
    """The embedder gave no usable vector; the message says why and holds nothing of the text."""


class OverBudget(Exception):
    """The vector was not there by the deadline, or could not be expected to be."""


class TextTooLong(Exception):
    """The text has more tokens than the embedder reads. It is never cut: other tails would look the same."""


class TextUnreadable(Exception):
    """The text is blank, or the model lacks a token for part of it: other texts would look the same."""


class EmbeddingMissing(Exception):
    """The gateway sent no vector of this embedder."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text's vector and what it took."""

    vector: Vector
    tokens: int | None
    """As the model or its service counts them; None when that is unknown."""
    cost_usd: float | None
    """None when that is unknown."""


class Embedder(Protocol):
    """Turns texts into vectors, one text a run. Safe to call from any thread."""

    @property
    def name(self) -> str:
        """The name that rules give it."""

    @property
    def dim(self) -> int:
        """How many dimensions its vectors have; 0 until the first vector, where nothing else tells."""

    @property
    def fingerprint(self) -> bytes:
        """32 bytes that change whenever equal texts may get other vectors.

        Raises EmbedderFailed while `dim` is 0: ask after `embed`.
        """

    @property
    def max_tokens(self) -> int | None:
        """The greatest number of tokens that it reads; None when only its service knows."""

    @property
    def price_per_million_tokens(self) -> float | None:
        """In USD; None when it is unknown."""

    def count_tokens(self, text: str) -> int | None:
        """Return the tokens of `text`, marks of beginning and end included; None when that is unknown."""

    def embed(self, text: str, *, deadline: float) -> Embedded:
        """Return the vector of `text`. `deadline` is in seconds of `time.monotonic`.

        Raises OverBudget, TextTooLong, TextUnreadable, EmbeddingMissing, EmbedderFailed.
        """

    def close(self) -> None:
        """Let go of threads and connections."""


class PartitionLoading(Exception):
    """The partition's vectors are still being read; ask again."""


@dataclass(frozen=True, slots=True)
class IndexStats:
    """What the index holds in memory."""

    partitions: int
    vectors: int
    used_bytes: int
    limit_bytes: int


class VectorIndex(Protocol):
    """The nearest live vectors of a partition: a cache of the store, never its rival. Safe for threads."""

    def recall(
        self, view: ReadView, partition: bytes, vector: Vector, *, k: int, alive: Callable[[Entry], bool]
    ) -> list[Neighbor]:
        """Return the `k` nearest of the vectors that `view` has and whose entry is `alive`, best first.

        Fewer only when there are fewer. Cosines are exact, from the stored vectors; vectors of another size
        than `vector` are not seen. Raises PartitionLoading, StoreUnavailable.
        """

    def stats(self) -> IndexStats:
        """Count."""

    def close(self) -> None:
        """Stop its threads and let go of its memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A candidate in the gray band, to be confirmed or not."""

    text: str
    """What was asked."""
    candidate: Neighbor
    neighbors: Sequence[Neighbor]
    """What was recalled, best first, the candidate among them."""
    around: Callable[[bytes, int], Sequence[Neighbor]]
    """Recalls the nearest live entries of a vector in the same partition, best first."""


class VerifierUnavailable(Exception):
    """The verifier cannot be set up; the message says why and names the mend."""


class VerifierFailed(Exception):
    """The verifier gave no verdict; the message says why and holds nothing of the texts."""


class TooFewNeighbors(VerifierFailed):
    """There are too few other entries to judge by."""


class Verifier(Protocol):
    """Confirms candidates whose similarity alone does not decide. Safe to call from any thread."""

    @property
    def name(self) -> str:
        """As the rules name it."""

    def verify(self, case: Case, *, deadline: float) -> bool:
        """Whether the candidate answers what was asked. `deadline` is in seconds of `time.monotonic`.

        Raises TooFewNeighbors, OverBudget, and VerifierFailed for every other fault.
        """

    def close(self) -> None:
        """Let go of threads and connections."""
