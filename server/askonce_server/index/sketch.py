"""Many vectors: sketches that are scanned whole, and codes that rank what the scan proposes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from askonce_server.index.candidates import NOTHING_BEYOND, Candidates, Sequences, ranked
from askonce_server.index.codes import Codes
from askonce_server.index.scan import Scan, bits_for
from askonce_server.ports import Vector

_LEAST, _MOST = 48, 1024
"""How many are proposed: a scan takes no less time for fewer, and whoever needs more has it look again."""
_SAMPLE_ROWS, _SAMPLE_NEAR = 32, 1024
"""Of how many vectors, and how many near to each, a sketch learns what it misses: a few scans, once."""
_USUAL_K: Final = 10
"""How many neighbours are asked for: a verifier and a vote look at ten."""
_SETTLED, _SPARE = 0.9, 1.1
"""The share of searches that one scan is to settle, and room for being measured on a few: more would have all
rank candidates for the sake of a tenth, and fewer would have more scan twice (benchmarks.micro.recall)."""
_SIGMAS: Final = 5.0
"""Of normal noise, one in three million is further off."""
_PART_ROWS: Final = 4096
"""Of how many vectors scores are made at once: 6 MiB of floats for 384 dimensions, whatever there is."""
_ROWS_A_CANDIDATE: Final = 128
"""Of how many vectors two more bits are scanned in the time that one candidate takes."""


@dataclass(frozen=True, slots=True)
class Sketch:
    """Vectors that never change. Searched by any number of threads at once.

    It is known how far a sketch may be off. By it a search knows how near a vector could be that the scan did
    not propose, and says so; whoever needs to know better asks for more.
    """

    sequences: Sequences
    codes: Codes
    scan: Scan
    margin: float
    sigmas: float
    """How many deviations of its noise a sketch is off at most, but for one of three million."""
    reach: int
    """How many are to be proposed, so that nine times of ten the ten nearest are certain to be among them."""

    @classmethod
    def of(cls, sequences: Sequences, codes: Codes) -> Sketch:
        """Sketch the vectors that `codes` hold, with more bits where few leave too many candidates."""
        for bits in bits_for(codes.values.shape[1]):
            scan = Scan(codes, bits=bits)
            sigmas, reach = _measured(scan, codes)
            if reach <= _LEAST + codes.count // _ROWS_A_CANDIDATE:
                break
        return cls(sequences, codes, scan, codes.margin, sigmas, reach)

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
        proposed = max(self.reach, 2 * k) * effort
        if proposed * 4 > self.count:
            return self._all(vector)
        sketched, found = self.scan.best(vector[None], proposed)
        places = found[0]
        scores = self.codes.scores(vector, places)
        beyond = self.scan.greatest(vector, float(sketched[0, -1]), self.sigmas) + self.margin
        return ranked(self.sequences.take(places), scores, margin=self.margin, beyond=beyond)

    def _all(self, vector: Vector) -> Candidates:
        parts = [slice(at, at + _PART_ROWS) for at in range(0, self.count, _PART_ROWS)]
        scores = np.concatenate([self.codes.scores(vector, part) for part in parts])
        return ranked(self.sequences, scores, margin=self.margin, beyond=NOTHING_BEYOND)


def _measured(scan: Scan, codes: Codes) -> tuple[float, int]:
    """Return `sigmas` and `reach`, from some of the vectors and what is near to them.

    Dimensions that are not independent, or far from normal, make sketches err more than the noise tells.
    """
    chosen = np.unique(np.linspace(0, codes.count - 1, _SAMPLE_ROWS).astype(np.int64))
    asked = codes.vectors(chosen)
    sketched, found = scan.best(asked, min(_SAMPLE_NEAR, codes.count))
    cosines = np.stack([codes.scores(*one) for one in zip(asked, found, strict=True)])
    likely = scan.unshrunk(sketched) + scan.middle(asked)[:, None]
    noise = scan.noise(asked)[:, None]
    sigmas = max(_SIGMAS, float(((cosines - likely) / noise).max()))
    tenth = np.partition(cosines, -_USUAL_K - 1, axis=1)[:, -_USUAL_K - 1]  # the first is the vector itself
    needed = (likely + sigmas * noise + codes.margin >= tenth[:, None]).sum(axis=1)
    return sigmas, int(np.clip(_SPARE * np.quantile(needed, _SETTLED), _LEAST, _MOST))
