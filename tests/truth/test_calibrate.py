"""What labels say of thresholds."""

from __future__ import annotations

import math
import random

import pytest

from askonce_server.core.bound import upper_bound
from askonce_server.truth.calibrate import CONFIDENCE, COSINES, VOTES, Label, Point, Score, calibrate


def labels(size, *, seed=0, votes=False):
    """Labels as near hits have them: the nearer, the less often wrong."""
    chance = random.Random(seed)
    made = []
    for _ in range(size):
        similarity = min(1.0, 0.6 + 0.4 * chance.betavariate(3, 2))
        wrong = chance.random() < 0.6 * math.exp(-(similarity - 0.6) * 14)
        vote = None
        if votes:
            vote = chance.betavariate(2, 3) if wrong else chance.betavariate(8, 1.2)
        made.append(Label(similarity, not wrong, vote))
    return made


def test_points_are_counted_by_hand():
    made = calibrate(
        [Label(0.95, True), Label(0.95, False), Label(0.85, False), Label(0.99, False, vetoed=True)], 0.1
    )
    (curve,) = made.curves
    by = {point.threshold: point for point in curve.points}
    assert by[0.80] == Point(0.80, 4, 3, 2)
    assert by[0.95] == Point(0.95, 4, 2, 1)
    assert by[0.98] == Point(0.98, 4, 0, 0)
    assert (sum(curve.right), sum(curve.wrong)) == (1, 3)
    assert by[0.95].upper_bound == upper_bound(1, 2, CONFIDENCE)


def test_there_are_twelve_thresholds_and_the_confidence_is_for_all_of_them():
    assert (len(COSINES), len(VOTES)) == (12, 12)
    assert pytest.approx(0.05) == 12 * (1 - CONFIDENCE)


def test_the_advice_is_the_threshold_that_serves_most_of_those_that_hold():
    made = calibrate(labels(6000), 0.02)
    curve, point = made.best
    assert curve.score is Score.COSINE
    assert point.upper_bound <= 0.02
    assert all(one.served <= point.served for one in curve.points if one.upper_bound <= 0.02)
    assert made.snippet() == f"policy: fixed\nthreshold: {point.threshold:g}\n"
    assert made.sentences()[0].startswith(f"cosine {point.threshold:g}: serves ")


@pytest.mark.parametrize(("score", "target"), [("cosine", 0.02), ("vote", 0.02), ("vote", 0.05)])
def test_advice_from_one_half_holds_on_the_other(score, target):
    made, chance, above, advised = labels(4000, seed=5, votes=True), random.Random(1), 0, 0
    for _ in range(100):
        chance.shuffle(made)
        curve = next(one for one in calibrate(made[:2000], target).curves if one.score.value == score)
        point = curve.advice(target)
        if point is not None:
            other = next(one for one in calibrate(made[2000:], target).curves if one.score.value == score)
            there = next(one for one in other.points if one.threshold == point.threshold)
            advised += 1
            above += there.wrong_rate > target
    assert advised >= 50
    assert above <= 2


def test_votes_are_advised_where_they_serve_more():
    made = calibrate(labels(4000, votes=True), 0.02)
    curve, _ = made.best
    assert curve.score is Score.VOTE
    assert made.snippet() == "policy: vote\nmax_wrong_hit_rate: 0.02\n"


def test_too_few_labels_say_how_many_are_missing():
    made = calibrate([Label(0.97, True)] * 100, 0.01)
    assert made.best is None
    assert made.snippet() == ""
    needed = made.curves[0].labels_needed(0.01)
    assert 546 <= needed <= 600  # zero wrong of 546 at 1 - .05 / 12
    assert f"{needed - 100} more labels will tell" in made.sentences()[0]


def test_what_more_labels_cannot_change_is_said():
    made = calibrate([Label(0.99, True), Label(0.99, False)] * 500, 0.02)
    assert made.best is None
    assert "more such labels will not change that; with none wrong, 149 served ones" in made.sentences()[0]


@pytest.mark.parametrize(("made", "target"), [([], 0.1), ([Label(1, True)], 0), ([Label(1, True)], 1)])
def test_nothing_is_said_of_nothing(made, target):
    with pytest.raises(ValueError):
        calibrate(made, target)
