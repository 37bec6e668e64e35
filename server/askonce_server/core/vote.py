"""How much of the evidence around a question speaks for one answer.

The score of a candidate's answer is

    v = sum(e^(s_j / T) over the neighbours with that answer) / (sum(e^(s_j / T) over all) + e^(s0 / T))

with the cosines s_j of what was recalled; `s0` stands for something that was never asked before. With one
neighbour it is sigma((s - s0) / T). Cosine alone says nothing of another answer that is as near.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

BANDS = 200
"""Steps of the score in which labels are counted: equal steps of its logit."""
_LOWEST, _HIGHEST = -3.0, 8.0
"""The logits, v = .047 and v = .9997, below and above which no band is told apart."""
_PER_BAND = (_HIGHEST - _LOWEST) / BANDS


@dataclass(frozen=True, slots=True)
class VoteShape:
    """The constants of the score. Labels that were counted under others say nothing."""

    temperature: float = 0.1
    """T: by how much more cosine a neighbour weighs e times as much."""
    something_new: float = 0.7
    """s0: the cosine at which something new is as likely as the one neighbour."""
    floor: float = 0.5
    """The least cosine of a candidate."""
    neighbors: int = 10
    """How many are recalled."""

    def __post_init__(self) -> None:
        """Refuse constants that make no score."""
        if not (self.temperature > 0 and self.neighbors > 0):
            raise ValueError("temperature and neighbors must be greater than 0")


DEFAULT_SHAPE = VoteShape()
"""One setting for every embedder that was measured: `python -m benchmarks.quality.streams`."""


class Vote(NamedTuple):
    """What the neighbours say of one answer."""

    score: float
    """v, between 0 and 1."""
    band: int
    """0 to `BANDS` - 1."""
    supporters: int
    """How many neighbours have the answer, the candidate among them."""
    neighbors: int


def vote(
    similarities: Sequence[float], groups: Sequence[bytes], candidate: int, shape: VoteShape = DEFAULT_SHAPE
) -> Vote | None:
    """Score the answer of neighbour number `candidate`; None: it is too far off to be asked about.

    `similarities` are cosines and `groups` the answer groups in the same order; the empty group is an entry
    whose answer was compared with no other, and stands alone.
    """
    if not similarities[candidate] >= shape.floor:  # a cosine that is no number is below
        return None
    group = groups[candidate]
    per_cosine = 1 / shape.temperature
    exp = math.exp
    against = exp((shape.something_new - 1) * per_cosine)
    speaking, supporters = 0.0, 0
    for at, similarity in enumerate(similarities):
        weight = exp((similarity - 1) * per_cosine)
        if (groups[at] == group and group) or at == candidate:
            speaking += weight
            supporters += 1
        else:
            against += weight
    score = speaking / (speaking + against)
    return Vote(score, _band(math.log(speaking / against)), supporters, len(similarities))


def band_of(score: float) -> int:
    """Return the band of a score in [0, 1]."""
    if score <= 0:
        return 0
    return BANDS - 1 if score >= 1 else _band(math.log(score / (1 - score)))


def least_score(band: int) -> float:
    """Return the lowest score of a band; 0 for the first and 1 for what lies above the last."""
    if band <= 0:
        return 0.0
    return 1.0 if band >= BANDS else 1 / (1 + math.exp(-(_LOWEST + band * _PER_BAND)))


def _band(logit: float) -> int:
    return min(max(int((logit - _LOWEST) / _PER_BAND), 0), BANDS - 1) if logit > _LOWEST else 0
