"""What is held of one partition in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from askonce_server.index.candidates import Candidates
from askonce_server.index.exhaustive import blocks
from askonce_server.index.nearest import Age, age
from askonce_server.index.rows import Rows
from askonce_server.ports import PartitionLoading, PartitionState, ReadView, Vector

INLINE_ROWS: Final = 2048
"""How many vectors a recall reads at most by itself: about 5 ms of the store."""
_OBJECT_BYTES: Final = 2048
"""What the objects of a partition take besides its arrays, about."""
_DEAD_BYTES: Final = 160
"""What a row takes that is known to be dead, about."""
_FEW_DEAD: Final = 16


@dataclass(frozen=True, slots=True)
class Contents:
    """Every vector that lived at `since`, and every one that came after it up to `sequence`."""

    rows: Rows
    sequence: int
    since: Age

    def search(self, vector: Vector, k: int, effort: int) -> Candidates:
        """Propose more than `k` vectors that may be the nearest, the more the greater the `effort`."""
        return self.rows.search(vector, k, effort)

    @property
    def used_bytes(self) -> int:
        """The bytes held."""
        return self.rows.used_bytes

    def agree(self, state: PartitionState) -> bool:
        """Whether they have all that a view in `state` has, and not twice as much."""
        if state.sequence != self.sequence:
            return state.sequence < self.sequence
        return self.rows.count <= 2 * state.rows + _FEW_DEAD


class Held:
    """One partition. Whoever recalls takes its contents as they are; they are exchanged, never changed."""

    def __init__(self, partition: bytes, dim: int, *, load: Callable[[Held], None]) -> None:
        """Hold nothing yet; `load` is told when there is too much to read while a caller waits."""
        self.partition = partition
        self.dim = dim
        self.contents: Contents | None = None
        self.dead: dict[int, Age] = {}
        """Since when rows are known to be dead, by their sequences. A view that is older may have them."""
        self.pending_bytes = 0
        """What a load that is under way holds."""
        self.counted_bytes = 0
        """For the index's own sum."""
        self.load_after = 0.0
        """Not to be loaded before, in seconds of `time.monotonic`."""
        self.absent: type[Exception] = PartitionLoading
        """What a recall raises while there are no contents."""
        self.loading = False
        self._load = load
        self._lock = threading.Lock()

    @property
    def used_bytes(self) -> int:
        """The bytes held."""
        contents = 0 if self.contents is None else self.contents.used_bytes
        return _OBJECT_BYTES + contents + self.pending_bytes + _DEAD_BYTES * len(self.dead)

    def current(self, view: ReadView, state: PartitionState) -> Contents:
        """Return contents that are no older than `view`, which shows the partition in `state`.

        Raises PartitionLoading, PartitionTooLarge, PartitionUnreadable, StoreUnavailable.
        """
        contents = self.contents
        if contents is None or not contents.agree(state):
            with self._lock:
                contents = self.contents
                if contents is None or not contents.agree(state):
                    contents = self._renewed(contents, view, state)
        return contents

    def replace(self, contents: Contents) -> None:
        """Hold `contents` from now on."""
        with self._lock:
            self._replace(contents)
            self.pending_bytes = 0

    def let_go(self) -> None:
        """Hold nothing, and stop a load that is under way. Waits for nobody."""
        self.contents, self.dead = None, {}
        self.pending_bytes = 0
        self.loading = False

    def bury(self, gone: Sequence[int], at: Age) -> None:
        """Remember rows that were found to be dead in a view of the partition as it was `at`."""
        self.dead.update(dict.fromkeys(gone, at))

    def _renewed(self, contents: Contents | None, view: ReadView, state: PartitionState) -> Contents:
        """Return contents as of `state`: with what is new, or anew where half of them is dead."""
        if contents is not None and contents.sequence < state.sequence:
            self.contents = contents = self._extended(contents, view, state)
            if contents.rows.overgrown:
                self._load(self)
            if contents.agree(state):
                return contents
        if state.rows <= INLINE_ROWS:
            nothing = Contents(Rows.empty(self.dim), 0, age(state))
            fresh = self._extended(nothing, view, state)
            self._replace(fresh)
            return fresh
        self._load(self)
        if contents is None:
            raise self.absent
        return contents

    def _extended(self, contents: Contents, view: ReadView, state: PartitionState) -> Contents:
        rows, first = contents.rows, contents.rows.count
        for block in blocks(view, self.partition, dim=self.dim, after=contents.sequence):
            rows = rows.extended(block)
            if rows.count - first > INLINE_ROWS:
                self.contents = Contents(rows, int(block.sequences[-1]), contents.since)
                self._load(self)
                raise PartitionLoading
        return Contents(rows, state.sequence, contents.since)

    def _replace(self, contents: Contents) -> None:
        self.contents, self.dead = contents, {}
        self.absent = PartitionLoading
