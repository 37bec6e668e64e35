"""What a count of wrong ones says of the share behind it: exact one-sided binomial bounds.

Clopper and Pearson, "The use of confidence or fiducial limits illustrated in the case of the binomial"
(Biometrika 26, 1934). The tail is summed from its largest term, which is taken in logarithms: nothing
underflows, and the sum ends as soon as the next term changes nothing.
"""

from __future__ import annotations

import math
from functools import lru_cache

CONFIDENCE = 0.95
"""How sure a bound is, one-sided, where nothing else is said."""
_HALVINGS = 60
"""After which an interval within (0, 1) is as narrow as a float can say."""
_MOST_LABELS = 1 << 40


def tail(wrong: int, labels: int, share: float) -> float:
    """Return the chance of at most `wrong` among `labels`, each wrong with the chance `share` in [0, 1].

    It is 1 - I_share(wrong + 1, labels - wrong), the regularized incomplete beta function.
    """
    if wrong >= labels or share <= 0:
        return 1.0
    if wrong < 0 or share >= 1:
        return 0.0
    odds = share / (1 - share)
    if wrong < labels * share:
        return min(1.0, _sum_down(wrong, labels, share, odds))
    return max(0.0, 1.0 - _sum_up(wrong + 1, labels, share, odds))


def holds(wrong: int, labels: int, share: float, confidence: float = CONFIDENCE) -> bool:
    """Whether the upper bound on the share behind `wrong` of `labels` is at most `share`.

    Costs one tail where `upper_bound` costs sixty. Nothing is known from no label.
    """
    return 0 <= wrong < labels * share and tail(wrong, labels, share) <= 1 - confidence


@lru_cache(maxsize=4096)
def upper_bound(wrong: int, labels: int, confidence: float = CONFIDENCE) -> float:
    """Return the share above which `wrong` of `labels` would be too few; 1 where that is none."""
    if labels <= 0 or wrong >= labels:
        return 1.0
    if wrong <= 0:
        return -math.expm1(math.log(1 - confidence) / labels)
    low, high = wrong / labels, 1.0
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if tail(wrong, labels, middle) <= 1 - confidence else (middle, high)
    return high


def lower_bound(wrong: int, labels: int, confidence: float = CONFIDENCE) -> float:
    """Return the share below which `wrong` of `labels` would be too many; 0 when none is wrong."""
    return 1 - upper_bound(labels - wrong, labels, confidence) if labels > 0 else 0.0


def labels_needed(wrong: int, share: float, confidence: float = CONFIDENCE) -> int:
    """Return how many labels, `wrong` of them wrong, have an upper bound of at most `share` in (0, 1)."""
    high = wrong + 1
    while not holds(wrong, high, share, confidence):
        high *= 2
        if high > _MOST_LABELS:
            raise ValueError(f"no number of labels bounds a share of {share:g}")
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(wrong, middle, share, confidence) else (middle, high)
    return high


def _sum_down(start: int, labels: int, share: float, odds: float) -> float:
    """Return the chances of start, start - 1, ... 0. Each is smaller than the one before it."""
    term = total = _chance(start, labels, share)
    for wrong in range(start, 0, -1):
        term *= wrong / ((labels - wrong + 1) * odds)
        total += term
        if term < total * 1e-17:
            break
    return total


def _sum_up(start: int, labels: int, share: float, odds: float) -> float:
    """Return the chances of start, start + 1, ... labels. Each is smaller than the one before it."""
    term = total = _chance(start, labels, share)
    for wrong in range(start, labels):
        term *= (labels - wrong) * odds / (wrong + 1)
        total += term
        if term < total * 1e-17:
            break
    return total


def _chance(wrong: int, labels: int, share: float) -> float:
    """Return the chance of exactly `wrong` among `labels`."""
    ways = math.lgamma(labels + 1) - math.lgamma(wrong + 1) - math.lgamma(labels - wrong + 1)
    return math.exp(ways + wrong * math.log(share) + (labels - wrong) * math.log1p(-share))
