"""What a search proposes, before anything was read from the store."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

Sequences = npt.NDArray[np.int64]
Scores = npt.NDArray[np.float32]

NOTHING_BEYOND: Final = -math.inf


class Candidates(NamedTuple):
    """Vectors that may be the nearest, best first."""

    sequences: Sequences
    """int64[n]."""
    scores: Scores
    """float32[n]: their cosines, about."""
    margin: float
    """How far a cosine may be from its score."""
    beyond: float
    """No vector that is not among these has a greater cosine. `NOTHING_BEYOND`: these are all."""


Search = Callable[[int], Candidates]
"""Proposes candidates, the more the greater the effort, which is 1 at first."""


def ranked(sequences: Sequences, scores: Scores, *, margin: float, beyond: float) -> Candidates:
    """Return the candidates in their order."""
    order = scores.argsort()[::-1]
    return Candidates(sequences.take(order), scores.take(order), margin, beyond)


def together(one: Candidates, other: Candidates) -> Candidates:
    """Return the candidates of two searches in parts that share no vector."""
    return ranked(
        np.concatenate((one.sequences, other.sequences)),
        np.concatenate((one.scores, other.scores)),
        margin=max(one.margin, other.margin),
        beyond=max(one.beyond, other.beyond),
    )
