"""The vectors of one partition in the form that suits their number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from askonce_server.index.candidates import Candidates, Sequences, together
from askonce_server.index.codes import Codes
from askonce_server.index.flat import FlatRows
from askonce_server.index.scan import bits_for, sketchable
from askonce_server.index.sketch import Sketch
from askonce_server.ports import Vector, VectorBlock

FLAT_ROWS: Final = 1024
"""From here on a sketch is faster than a scan of the vectors (`benchmarks/micro/recall.py`)."""
_TAIL_SHARE: Final = 8
"""A sketch is made anew when what came after it is this part of it."""


def least_bytes(count: int, dim: int) -> int:
    """Return how many bytes `count` vectors of `dim` dimensions take at least, where they are many."""
    number, scale, sequence = 4, 4, 8
    if not sketchable(dim):
        return count * (sequence + number * dim)
    return count * (sequence + scale + dim + dim * bits_for(dim)[0] // 8)


@dataclass(frozen=True, slots=True)
class Rows:
    """A sketch of most vectors, where there are many, and the newest as they are."""

    sketch: Sketch | None
    tail: FlatRows

    @classmethod
    def empty(cls, dim: int) -> Rows:
        """Return no vectors of `dim` dimensions."""
        return cls(None, FlatRows.empty(dim))

    @property
    def count(self) -> int:
        """How many there are, dead ones included."""
        return self.tail.count + (0 if self.sketch is None else self.sketch.count)

    @property
    def used_bytes(self) -> int:
        """The bytes held."""
        return self.tail.used_bytes + (0 if self.sketch is None else self.sketch.used_bytes)

    @property
    def overgrown(self) -> bool:
        """Whether they ought to be sketched anew."""
        if not sketchable(self.tail.dim):
            return False
        sketched = 0 if self.sketch is None else self.sketch.count
        return self.tail.count > max(FLAT_ROWS, sketched // _TAIL_SHARE)

    def extended(self, block: VectorBlock) -> Rows:
        """Return these and the vectors of `block`. To be called of the newest rows only, by one thread."""
        return Rows(self.sketch, self.tail.extended(block))

    def search(self, vector: Vector, k: int, effort: int) -> Candidates:
        """Propose more than `k` vectors that may be the nearest, the more the greater the `effort`."""
        if self.sketch is None:
            return self.tail.search(vector, k, effort)
        found = self.sketch.search(vector, k, effort)
        return together(found, self.tail.search(vector, k, effort)) if self.tail.count else found


class RowsBuilder:
    """Makes Rows of blocks: few as they are, many as codes, which are sketched at the end."""

    def __init__(self, dim: int) -> None:
        """Begin with none of `dim` dimensions."""
        self._rows = Rows.empty(dim)
        self._sequences: list[Sequences] = []
        self._codes: list[Codes] = []

    @property
    def used_bytes(self) -> int:
        """The bytes held so far."""
        coded = sum(codes.used_bytes for codes in self._codes)
        return self._rows.used_bytes + coded + sum(one.nbytes for one in self._sequences)

    def add(self, block: VectorBlock) -> None:
        """Add the vectors of `block`."""
        if self._codes:
            self._encode(block)
            return
        self._rows = self._rows.extended(block)
        if self._rows.overgrown:
            self._encode(self._rows.tail.block())
            self._rows = Rows.empty(self._rows.tail.dim)

    def finish(self) -> Rows:
        """Return all that was added."""
        if not self._codes:
            return self._rows
        return Rows(Sketch.of(np.concatenate(self._sequences), Codes.joined(self._codes)), self._rows.tail)

    def _encode(self, block: VectorBlock) -> None:
        self._sequences.append(block.sequences)
        self._codes.append(Codes.of(block.vectors))
