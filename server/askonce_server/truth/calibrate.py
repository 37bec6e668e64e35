"""What labelled hits say of thresholds: how much is served, how much of it is wrong, and what to choose.

Twelve fixed thresholds are looked at, each with a bound at a confidence of 1 - .05 / 12 (Bonferroni), so that
whichever is chosen holds at 95 %. Choosing among as many thresholds as there are labels at 95 % each breaks
its promise in 9 to 16 of 100 cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from askonce_server.core import bound

COSINES = (0.80, 0.84, 0.86, 0.88, 0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.98)
VOTES = (0.50, 0.60, 0.70, 0.75, 0.80, 0.85, 0.90, 0.93, 0.95, 0.97, 0.98, 0.99)
CONFIDENCE = 1 - 0.05 / len(COSINES)
_BARS = 25


class Score(StrEnum):
    """What a threshold is drawn on."""

    COSINE = "cosine"
    VOTE = "vote"


class Label(NamedTuple):
    """One candidate, and whether its answer would have been right."""

    similarity: float
    right: bool
    vote: float | None = None
    """None: it was not voted on."""
    vetoed: bool = False
    """Whether a guard told the texts apart, so that no threshold would serve it."""


@dataclass(frozen=True, slots=True)
class Point:
    """What one threshold would have served."""

    threshold: float
    asked: int
    served: int
    wrong: int

    @property
    def hit_rate(self) -> float:
        """Share of what was asked that is served."""
        return self.served / self.asked if self.asked else 0.0

    @property
    def wrong_rate(self) -> float:
        """Share of what is served that is wrong; 0 while nothing is."""
        return self.wrong / self.served if self.served else 0.0

    @property
    def upper_bound(self) -> float:
        """The bound on that share, good for all twelve thresholds at once."""
        return bound.upper_bound(self.wrong, self.served, CONFIDENCE)

    def holds(self, max_wrong: float) -> bool:
        """Whether at most `max_wrong` of what is served is wrong, at 95 % for all twelve at once."""
        return bound.holds(self.wrong, self.served, max_wrong, CONFIDENCE)

    def labels_needed(self, max_wrong: float) -> int | None:
        """Return how many labels in all would do if the shares stay as they are; None: no number will."""
        if not self.served or self.wrong_rate >= max_wrong:
            return None
        served = self.served
        while not bound.holds(math.ceil(self.wrong_rate * served), served, max_wrong, CONFIDENCE):
            served = math.ceil(served * 1.05) + 1
        return math.ceil(served / self.hit_rate)


@dataclass(frozen=True, slots=True)
class Curve:
    """The thresholds on one score, and those of the labels that have it."""

    score: Score
    points: tuple[Point, ...]
    right: tuple[int, ...]
    """How many right labels there are in each of equal steps of the score from 0 to 1, vetoed ones too."""
    wrong: tuple[int, ...]

    def advice(self, max_wrong: float) -> Point | None:
        """Return the threshold that serves the most of those that hold."""
        return max(
            (point for point in self.points if point.holds(max_wrong)),
            key=lambda point: (point.served, point.threshold),
            default=None,
        )

    def labels_needed(self, max_wrong: float) -> int | None:
        """Return the least number of labels in all with which one threshold would hold; None: no number."""
        needed = [point.labels_needed(max_wrong) for point in self.points]
        return min((number for number in needed if number is not None), default=None)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What labels say of a target."""

    max_wrong: float
    labels: int
    curves: tuple[Curve, ...]
    """On the cosine, and on the vote where labels have one."""

    @property
    def best(self) -> tuple[Curve, Point] | None:
        """The advice that serves the most; None: nothing can be said."""
        found = [
            (curve, point) for curve in self.curves if (point := curve.advice(self.max_wrong)) is not None
        ]
        return max(found, key=lambda pair: pair[1].hit_rate, default=None)

    def sentences(self) -> list[str]:
        """Say what is advised, or what is missing."""
        return [_advised(curve, self) for curve in self.curves]

    def snippet(self) -> str:
        """Return the YAML to paste into a rule's `semantic`; empty where nothing can be said."""
        if self.best is None:
            return ""
        curve, point = self.best
        if curve.score is Score.VOTE:
            return f"policy: vote\nmax_wrong_hit_rate: {self.max_wrong:g}\n"
        return f"policy: fixed\nthreshold: {point.threshold:g}\n"


def calibrate(labels: Sequence[Label], max_wrong: float) -> Calibration:
    """Look at all thresholds. Raises ValueError without labels, or for a share that is none."""
    if not labels:
        raise ValueError("there are no labels")
    if not 0 < max_wrong < 1:
        raise ValueError("max_wrong must be between 0 and 1")
    curves = [_curve(Score.COSINE, COSINES, labels, lambda label: label.similarity)]
    voted = [label for label in labels if label.vote is not None]
    if voted:
        curves.append(_curve(Score.VOTE, VOTES, voted, lambda label: label.vote or 0.0))
    return Calibration(max_wrong, len(labels), tuple(curves))


def _curve(
    score: Score, thresholds: Sequence[float], labels: Sequence[Label], value: Callable[[Label], float]
) -> Curve:
    right, wrong = [0] * _BARS, [0] * _BARS
    for label in labels:
        bars = right if label.right else wrong
        bars[min(max(int(value(label) * _BARS), 0), _BARS - 1)] += 1
    points = []
    for threshold in thresholds:
        served = [label for label in labels if not label.vetoed and value(label) >= threshold]
        points.append(Point(threshold, len(labels), len(served), sum(not label.right for label in served)))
    return Curve(score, tuple(points), tuple(right), tuple(wrong))


def _advised(curve: Curve, of: Calibration) -> str:
    target = f"{100 * of.max_wrong:g} %"
    if (point := curve.advice(of.max_wrong)) is not None:
        return (
            f"{curve.score.value} {point.threshold:g}: serves {100 * point.hit_rate:.1f} %, {point.wrong} of "
            f"{point.served} wrong, at most {100 * point.upper_bound:.2f} % (wanted: {target})"
        )
    needed = curve.labels_needed(of.max_wrong)
    if needed is not None:
        return (
            f"{curve.score.value}: no threshold is known to keep {target}; if the shares stay as they are, "
            f"{max(1, needed - curve.points[0].asked)} more labels will tell"
        )
    least = bound.labels_needed(0, of.max_wrong)
    return (
        f"{curve.score.value}: no threshold keeps {target}, and more such labels will not change that; "
        f"with none wrong, {least} served ones would do for one threshold"
    )
