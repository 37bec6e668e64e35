"""Many vectors: sketches that are scanned whole, and codes that rank what the scan proposes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from askonce_server.index.candidates import NOTHING_BEYOND, Candidates, Scores, Sequences, ranked
from askonce_server.index.codes import Codes
from askonce_server.index.scan import Scan, bits_for
from askonce_server.ports import Vector

_SIGMAS: Final = 4.0
_SAMPLE_ROWS, _SAMPLE_NEAR, _USUAL_K = 64, 1024, 10
_LEAST, _MOST = 96, 1024
_PART_ROWS: Final = 4096
_ROWS_A_CANDIDATE: Final = 64
"""How many vectors two more bits are scanned of in the time that one candidate takes."""


class Fit(NamedTuple):
    """What sketched cosines say of cosines, as measured. From both that of the middle is taken away."""

    slope: float
    base: float
    spread: float
    reach: int
    """How many the scan has to propose so that nine times of ten the nearest are among them for certain."""

    def greatest(self, sketched: Scores) -> Scores:
        """Return what no vector with such sketches exceeds, but for one of 30,000."""
        return self.slope * sketched + np.float32(self.base + _SIGMAS * self.spread)


@dataclass(frozen=True, slots=True)
class Sketch:
    """Vectors that never change. Searched by any number of threads at once.

    How far sketches are off is measured when they are made. By it a search knows how near a vector could be
    that the scan did not propose, and says so; whoever needs to know better asks for more.
    """

    sequences: Sequences
    codes: Codes
    scan: Scan
    fit: Fit
    margin: float

    @classmethod
    def of(cls, sequences: Sequences, codes: Codes) -> Sketch:
        """Sketch the vectors that `codes` hold, with more bits where these are soon paid for."""
        for bits in bits_for(codes.values.shape[1]):
            scan = Scan(codes, bits=bits)
            fit = _fitted(scan, codes)
            if fit.reach <= _LEAST + codes.count // _ROWS_A_CANDIDATE:
                break
        return cls(sequences, codes, scan, fit, codes.margin)

    @property
    def count(self) -> int:
        """How many there are."""
        return self.codes.count

    @property
    def used_bytes(self) -> int:
        """The bytes held."""
        return self.sequences.nbytes + self.codes.used_bytes + self.scan.used_bytes

    def search(self, vector: Vector, k: int, effort: int) -> Candidates:
        """Propose more than `k`, the more the greater the `effort`; all when that is a good part of them."""
        proposed = max(self.fit.reach, _LEAST * k // _USUAL_K) * effort
        if proposed * 4 > self.count:
            return self._all(vector)
        sketched, found = self.scan.best(vector[None], proposed)
        places = found[0]
        return ranked(
            self.sequences[places],
            self.codes.scores(vector, places),
            margin=self.margin,
            beyond=float(self.fit.greatest(sketched[0, -1]) + np.dot(self.scan.middle, vector)) + self.margin,
        )

    def _all(self, vector: Vector) -> Candidates:
        parts = [slice(at, at + _PART_ROWS) for at in range(0, self.count, _PART_ROWS)]
        scores = np.concatenate([self.codes.scores(vector, part) for part in parts])
        return ranked(self.sequences, scores, margin=self.margin, beyond=NOTHING_BEYOND)


def _fitted(scan: Scan, codes: Codes) -> Fit:
    """Compare sketched cosines with those of the codes, from some of the vectors to what is near to them."""
    chosen = np.unique(np.linspace(0, codes.count - 1, _SAMPLE_ROWS).astype(np.int64))
    asked = codes.vectors(chosen)
    sketched, found = scan.best(asked, min(_SAMPLE_NEAR, codes.count))
    cosines = np.stack([codes.scores(*one) for one in zip(asked, found, strict=True)])
    cosines -= np.vecdot(asked, scan.middle)[:, None]
    others = found != chosen[:, None]
    low, true = sketched[others].astype(np.float64), cosines[others].astype(np.float64)
    deviation = low - low.mean()
    slope = float(np.dot(deviation, true) / max(np.dot(deviation, deviation), 1e-12))
    base = float(true.mean() - slope * low.mean())
    fit = Fit(slope, base, float(np.std(true - slope * low - base)) + 1e-6, 0)
    nearest = np.sort(np.where(others, cosines, -np.inf), axis=1)[:, -_USUAL_K]
    needed = (fit.greatest(sketched) >= nearest[:, None]).sum(axis=1)
    usual = int(np.quantile(needed, 0.9)) + _USUAL_K
    return fit._replace(reach=min(max(usual, _LEAST), _MOST))
