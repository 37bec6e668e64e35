"""Binomial bounds against exact arithmetic and against printed values."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.bound import holds, labels_needed, lower_bound, tail, upper_bound


def exact_tail(wrong, labels, share):
    return sum(comb(labels, k) * share**k * (1 - share) ** (labels - k) for k in range(wrong + 1))


@given(st.integers(0, 60), st.integers(1, 120), st.integers(1, 99))
def test_the_tail_is_the_exact_one(wrong, labels, hundredths):
    share = Fraction(hundredths, 100)
    exact = exact_tail(min(wrong, labels), labels, share)
    assert tail(wrong, labels, float(share)) == pytest.approx(float(exact), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize(
    ("wrong", "labels", "confidence", "bound"),
    [
        (0, 10, 0.95, 0.258866),  # Clopper and Pearson's table, one-sided
        (1, 10, 0.95, 0.394163),
        (3, 412, 0.95, 0.018711),
        (1, 20, 0.975, 0.248733),
        (5, 1000, 0.95, 0.010484),
        (0, 299, 0.95, 0.009969),
        (50, 10_000, 0.95, 0.006324),
    ],
)
def test_upper_bounds_are_those_of_the_tables(wrong, labels, confidence, bound):
    assert upper_bound(wrong, labels, confidence) == pytest.approx(bound, abs=2e-6)
    if labels <= 1000:
        exact = exact_tail(wrong, labels, Fraction(bound).limit_denominator(10**7))
        assert float(exact) == pytest.approx(1 - confidence, rel=2e-3)


def test_zero_wrong_needs_as_many_labels_as_everybody_says():
    assert [labels_needed(0, share) for share in (0.05, 0.02, 0.01)] == [59, 149, 299]
    assert labels_needed(1, 0.05) == 93


@given(st.integers(0, 40), st.integers(1, 4000), st.floats(0.001, 0.5), st.sampled_from([0.9, 0.95, 0.996]))
def test_a_bound_holds_where_it_is_at_most_the_share(wrong, labels, share, confidence):
    bound = upper_bound(wrong, labels, confidence)
    if abs(bound - share) > 1e-9:
        assert holds(wrong, labels, share, confidence) == (bound <= share)


@given(st.integers(0, 30), st.integers(1, 2000))
def test_bounds_enclose_what_was_counted(wrong, labels):
    wrong = min(wrong, labels)
    assert lower_bound(wrong, labels) <= wrong / labels <= upper_bound(wrong, labels)
    assert lower_bound(wrong, labels) == pytest.approx(1 - upper_bound(labels - wrong, labels))


def test_nothing_is_known_of_nothing():
    assert upper_bound(0, 0) == 1.0
    assert lower_bound(0, 0) == 0.0
    assert not holds(0, 0, 0.5)


def test_many_labels_neither_underflow_nor_take_long():
    assert upper_bound(5_000, 1_000_000) == pytest.approx(0.005118, abs=2e-6)
    assert holds(40_000, 1_000_000, 0.05)
    assert not holds(50_000, 1_000_000, 0.05)


@pytest.mark.parametrize("share", [1e-15, 0.0])
def test_a_share_that_nothing_can_bound_is_refused(share):
    with pytest.raises(ValueError, match="no number of labels"):
        labels_needed(0, share)
