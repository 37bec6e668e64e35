"""The scan over sketches: some bits a dimension, compared in registers.

A sketch is product quantization with codes of 4 bits in the layout of FAISS' FastScan (André, Kermarrec, Le
Scouarnec: Quicker ADC, 2018). Its code book is not learnt: dimensions are quantized each by itself, in equal
steps about its mean, which for normal distributions is nearly the best there is (Max: Quantizing for Minimum
Distortion, 1960). So making it is arithmetic: 0.15 s for 100,000 vectors of 384 dimensions, where learning
takes seconds and a graph a minute.
"""

from __future__ import annotations

import math
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

from askonce_server.index.candidates import Scores
from askonce_server.index.codes import Codes
from askonce_server.index.library import faiss
from askonce_server.ports import Vector

Number = TypeVar("Number", float, Scores)

_STEP: Final = {4: 0.42, 2: 1.1, 1: 1.6}
"""The step by bits, for a deviation of 1. A little wider than the best on average (0.335, 0.996, 1.596): what
lies beyond the last level errs most, and the nearest vectors are those with such values in common. At 0.36 a
search of short vectors is promised too much once in thousands.
"""
_SHRUNK: Final = {4: 0.02, 2: 0.12, 1: 0.36}
"""By how much of itself a sketched cosine may be too small: levels lie nearer to the middle than what they
stand for.
"""
_LEAST_NOISE: Final = 1e-6
_CODE_BITS: Final = 4
_MAX_CODES: Final = 1024
"""More of them overflow FastScan's sums, which have 16 bits."""
_MIN_DIM: Final = 64
_BLOCK_ROWS: Final = 1024
_SAMPLE_ROWS: Final = 8192


def sketchable(dim: int) -> bool:
    """Whether vectors of `dim` dimensions are sketched. Short ones are scanned as fast as they are."""
    return _MIN_DIM <= dim <= _CODE_BITS * _MAX_CODES


def bits_for(dim: int) -> tuple[int, ...]:
    """Return with how many bits a dimension vectors of `dim` dimensions can be sketched, the fewest first.

    One bit says too little, but of vectors so long that there is no room for more.
    """
    if 2 * dim > _CODE_BITS * _MAX_CODES:
        return (1,)
    return (2,) if 4 * dim > _CODE_BITS * _MAX_CODES else (2, 4)


class Scan:
    """Sketches of vectors, scanned whole. Searched by any number of threads at once."""

    __slots__ = ("_bits", "_dim", "_index", "_middle", "_noise", "_width")

    def __init__(self, codes: Codes, *, bits: int) -> None:
        """Sketch the vectors that `codes` hold with so many bits a dimension: 4, 2 or 1."""
        self._dim, self._bits = codes.values.shape[1], bits
        shared = _CODE_BITS // bits
        self._width = -(-self._dim // shared) * shared
        sample = self._padded(codes.vectors(slice(None, None, -(-codes.count // _SAMPLE_ROWS))))
        mean = sample.mean(axis=0)
        deviation = np.maximum(sample.std(axis=0), np.float32(1e-3 / np.sqrt(self._dim)))
        step = deviation * np.float32(_STEP[bits])
        blocks = [slice(at, at + _BLOCK_ROWS) for at in range(0, codes.count, _BLOCK_ROWS)]
        packed = [
            _packed(_levels(self._padded(codes.vectors(block)), mean, step, bits), bits) for block in blocks
        ]
        self._index = _index(np.concatenate(packed), _book(step, bits))
        errors = (sample - mean - _offsets(_levels(sample, mean, step, bits), bits) * step)[:, : self._dim]
        self._middle: Scores = mean[: self._dim] + errors.mean(axis=0)
        self._noise: Scores = errors.var(axis=0)

    @property
    def used_bytes(self) -> int:
        """The bytes held."""
        return int(self._index.codes.size())

    def best(self, vectors: Scores, count: int) -> tuple[Scores, npt.NDArray[np.int64]]:
        """Return the best `count` for each of `vectors`: sketched cosines, falling, and places.

        Of each cosine that of the middle is taken away, which is the same for all.
        """
        faiss()
        found: tuple[Scores, npt.NDArray[np.int64]] = self._index.search(self._padded(vectors), count)
        return found

    def middle(self, vectors: Scores) -> Scores:
        """Return the cosines of the middle of all vectors and each of `vectors`: float32[n]."""
        found: Scores = np.vecdot(vectors, self._middle)
        return found

    def unshrunk(self, sketched: Number) -> Number:
        """Return the greatest cosine that a sketched one stands for but for noise, both less the middle's."""
        return sketched + _SHRUNK[self._bits] * abs(sketched)

    def noise(self, vectors: Scores) -> Scores:
        """Return the deviation of sketched cosines of each of `vectors`: float32[n].

        Each dimension errs by itself, and counts by its share in the vector that is asked for.
        """
        found: Scores = np.sqrt(np.vecdot(vectors * vectors, self._noise)) + np.float32(_LEAST_NOISE)
        return found

    def greatest(self, vector: Vector, sketched: float, sigmas: float) -> float:
        """Return the greatest cosine that a sketched one of `vector` stands for, with so much noise."""
        noise = math.sqrt(np.dot(vector * vector, self._noise)) + _LEAST_NOISE
        return float(np.dot(vector, self._middle)) + self.unshrunk(sketched) + sigmas * noise

    def _padded(self, vectors: Scores) -> Scores:
        missing = self._width - self._dim
        return np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors


def _levels(vectors: Scores, mean: Scores, step: Scores, bits: int) -> npt.NDArray[np.uint8]:
    """Return the level of each dimension."""
    count = 1 << bits
    found: Scores = np.clip((vectors - mean) / step + np.float32(count / 2), 0, count - 1)
    return found.astype(np.uint8)


def _offsets(levels: npt.NDArray[np.integer[Any]], bits: int) -> Scores:
    """Return how many steps each level lies from the middle."""
    return levels.astype(np.float32) - np.float32(((1 << bits) - 1) / 2)


def _packed(levels: npt.NDArray[np.uint8], bits: int) -> npt.NDArray[np.uint8]:
    """Pack the levels of each vector into bytes, the first in the lowest bits."""
    parts = 8 // bits
    missing = -levels.shape[1] % parts
    whole = np.pad(levels, ((0, 0), (0, missing))) if missing else levels
    packed = np.zeros((len(whole), whole.shape[1] // parts), np.uint8)
    for part in range(parts):
        packed |= whole[:, part::parts] << (bits * part)
    return packed


def _book(step: Scores, bits: int) -> Scores:
    """Return how far from the middle each code is: float32[codes, 16, dimensions a code]."""
    shared = _CODE_BITS // bits
    code, place = np.arange(1 << _CODE_BITS)[:, None], np.arange(shared)
    levels = (code >> (bits * place)) & ((1 << bits) - 1)
    return step.reshape(-1, 1, shared) * _offsets(levels, bits)


def _index(packed: npt.NDArray[np.uint8], book: Scores) -> Any:
    library = faiss()
    codes, _, shared = book.shape
    plain = library.IndexPQ(codes * shared, codes, _CODE_BITS, library.METRIC_INNER_PRODUCT)
    library.copy_array_to_vector(book.ravel(), plain.pq.centroids)
    library.copy_array_to_vector(packed.ravel(), plain.codes)
    plain.is_trained, plain.ntotal = True, len(packed)
    return library.IndexPQFastScan(plain)
