"""Vectors as they are, scanned one after the other: the form of small partitions and of what is new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from askonce_server.index.candidates import NOTHING_BEYOND, Candidates, Scores, Sequences, ranked
from askonce_server.ports import Vector, VectorBlock

_MARGIN: Final = 1e-5
"""Sums of float32 products differ by less, at a thousand dimensions by a hundredth of it."""
_GROWTH: Final = 1.5
_SPARE: Final = 6


@dataclass(frozen=True, slots=True)
class FlatRows:
    """The first `count` rows of arrays that may have room for more.

    What is added is written behind them, where whoever searches does not look.
    """

    sequences: Sequences
    vectors: Scores
    """float32[capacity, dim]."""
    count: int

    @classmethod
    def empty(cls, dim: int) -> FlatRows:
        """Return no rows of `dim` dimensions."""
        return cls(np.empty(0, np.int64), np.empty((0, dim), np.float32), 0)

    @property
    def dim(self) -> int:
        """How many dimensions they have."""
        return int(self.vectors.shape[1])

    @property
    def used_bytes(self) -> int:
        """The bytes held, room for more included."""
        return self.sequences.nbytes + self.vectors.nbytes

    def extended(self, block: VectorBlock) -> FlatRows:
        """Return these rows and those of `block`. To be called of the newest rows only, by one thread."""
        count = self.count + len(block.sequences)
        rows = self if count <= len(self.sequences) else self._with_room(count)
        rows.sequences[self.count : count] = block.sequences
        rows.vectors[self.count : count] = block.vectors
        return FlatRows(rows.sequences, rows.vectors, count)

    def block(self) -> VectorBlock:
        """Return them all."""
        return VectorBlock(self.sequences[: self.count], self.vectors[: self.count])

    def search(self, vector: Vector, k: int, effort: int) -> Candidates:
        """Propose more than `k` of the nearest, the more the greater the `effort`; all when there are few."""
        sequences, count = self.sequences[: self.count], (k + _SPARE) * effort
        scores = np.vecdot(self.vectors[: self.count], vector)
        if count >= self.count:
            return ranked(sequences, scores, margin=_MARGIN, beyond=NOTHING_BEYOND)
        best = np.argpartition(scores, self.count - count)[self.count - count :]
        beyond = float(scores[best[0]]) + _MARGIN
        return ranked(sequences[best], scores[best], margin=_MARGIN, beyond=beyond)

    def _with_room(self, count: int) -> FlatRows:
        room = count if self.count == 0 else max(count, int(self.count * _GROWTH))
        sequences = np.empty(room, np.int64)
        vectors = np.empty((room, self.vectors.shape[1]), np.float32)
        sequences[: self.count] = self.sequences[: self.count]
        vectors[: self.count] = self.vectors[: self.count]
        return FlatRows(sequences, vectors, self.count)
