"""The scan over sketches: some bits a dimension, compared in registers.

A sketch is product quantization with codes of 4 bits in the layout of FAISS' FastScan (André, Kermarrec, Le
Scouarnec: Quicker ADC, 2018). Its code book is not learnt: dimensions are quantized each by itself, in equal
steps about its mean, which for normal distributions is nearly the best there is (Max: Quantizing for Minimum
Distortion, 1960). So making it is arithmetic: 0.15 s for 100,000 vectors of 384 dimensions, where learning
takes seconds and a graph a minute.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from askonce_server.index.candidates import Scores
from askonce_server.index.codes import Codes
from askonce_server.index.library import faiss

_STEP: Final = {4: 0.42, 2: 1.1, 1: 1.6}
"""The step by bits, for a deviation of 1. A little wider than the best on average (0.335, 0.996, 1.596): what
lies beyond the last level errs most, and the nearest vectors are those with such values in common.
"""
_CODE_BITS: Final = 4
_MAX_CODES: Final = 1024
"""More of them overflow FastScan's sums, which have 16 bits."""
_MIN_DIM: Final = 64
_BLOCK_ROWS: Final = 1024
_SAMPLE_ROWS: Final = 8192


def sketchable(dim: int) -> bool:
    """Whether vectors of `dim` dimensions are sketched. Short ones are scanned as fast as they are."""
    return _MIN_DIM <= dim <= _CODE_BITS * _MAX_CODES


def bits_for(dim: int) -> list[int]:
    """Return with how many bits a dimension vectors of `dim` dimensions can be sketched, the fewest first.

    One bit says too little, but for vectors so long that there is no room for more.
    """
    possible = [bits for bits in (4, 2, 1) if bits * dim <= _CODE_BITS * _MAX_CODES]
    return sorted(bits for bits in possible if bits > 1) or possible


class Scan:
    """Sketches of vectors, scanned whole. Searched by any number of threads at once."""

    __slots__ = ("_dim", "_index", "_width", "middle")

    def __init__(self, codes: Codes, *, bits: int) -> None:
        """Sketch the vectors that `codes` hold with so many bits a dimension: 4, 2 or 1."""
        self._dim = codes.values.shape[1]
        shared = _CODE_BITS // bits
        self._width = -(-self._dim // shared) * shared
        sample = self._padded(codes.vectors(slice(None, None, -(-codes.count // _SAMPLE_ROWS))))
        mean = sample.mean(axis=0)
        deviation = np.maximum(sample.std(axis=0), np.float32(1e-3 / np.sqrt(self._dim)))
        step = deviation * np.float32(_STEP[bits])
        blocks = [slice(at, at + _BLOCK_ROWS) for at in range(0, codes.count, _BLOCK_ROWS)]
        packed = [_sketched(self._padded(codes.vectors(block)), mean, step, bits) for block in blocks]
        self._index = _index(np.concatenate(packed), _book(step, bits))
        self.middle: Scores = mean[: self._dim]
        """The mean of the vectors: float32[dim]."""

    @property
    def used_bytes(self) -> int:
        """The bytes held; FAISS makes room in powers of two."""
        return 1 << (int(self._index.codes.size()) - 1).bit_length()

    def best(self, vectors: Scores, count: int) -> tuple[Scores, npt.NDArray[np.int64]]:
        """Return the best `count` for each of `vectors`: sketched cosines, falling, and places.

        Of each cosine that of the middle is taken away, which is the same for all.
        """
        faiss()
        found: tuple[Scores, npt.NDArray[np.int64]] = self._index.search(self._padded(vectors), count)
        return found

    def _padded(self, vectors: Scores) -> Scores:
        missing = self._width - self._dim
        return np.pad(vectors, ((0, 0), (0, missing))) if missing else vectors


def _sketched(vectors: Scores, mean: Scores, step: Scores, bits: int) -> npt.NDArray[np.uint8]:
    """Return the sketch of each vector: dimension by dimension, the first in the lowest bits."""
    levels = 1 << bits
    numbers = np.clip((vectors - mean) / step + np.float32(levels / 2), 0, levels - 1).astype(np.uint8)
    parts = 8 // bits
    missing = -numbers.shape[1] % parts
    whole = np.pad(numbers, ((0, 0), (0, missing))) if missing else numbers
    packed = np.zeros((len(whole), whole.shape[1] // parts), np.uint8)
    for part in range(parts):
        packed |= whole[:, part::parts] << (bits * part)
    return packed


def _book(step: Scores, bits: int) -> Scores:
    """Return how far from the middle each code is: float32[codes, 16, dimensions a code]."""
    shared = _CODE_BITS // bits
    code, place = np.arange(1 << _CODE_BITS)[:, None], np.arange(shared)
    levels = (code >> (bits * place)) & ((1 << bits) - 1)
    offsets = levels - ((1 << bits) - 1) / 2
    return (step.reshape(-1, 1, shared) * offsets).astype(np.float32)


def _index(packed: npt.NDArray[np.uint8], book: Scores) -> Any:
    library = faiss()
    codes, _, shared = book.shape
    plain = library.IndexPQ(codes * shared, codes, _CODE_BITS, library.METRIC_INNER_PRODUCT)
    library.copy_array_to_vector(book.ravel(), plain.pq.centroids)
    library.copy_array_to_vector(packed.ravel(), plain.codes)
    plain.is_trained, plain.ntotal = True, len(packed)
    return library.IndexPQFastScan(plain)
