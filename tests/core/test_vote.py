"""The score of a vote, the cut, and the noise of the comparison that both rest on."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.noise import Noise, refusal
from askonce_server.core.tally import NO_CUT, Tally
from askonce_server.core.varints import Reader
from askonce_server.core.vote import BANDS, VoteShape, band_of, least_score, vote


def test_one_neighbour_alone_is_vcaches_curve():
    for similarity in (0.55, 0.7, 0.83, 0.99):
        made = vote([similarity], [b"a"], 0)
        assert made.score == pytest.approx(1 / (1 + math.exp(-(similarity - 0.7) / 0.1)))


def test_the_score_is_the_share_of_the_evidence():
    weights = [math.exp(s / 0.1) for s in (0.9, 0.85, 0.8)]
    made = vote([0.9, 0.85, 0.8], [b"a", b"b", b"a"], 0)
    assert made.score == pytest.approx((weights[0] + weights[2]) / (sum(weights) + math.exp(7)))
    assert (made.supporters, made.neighbors) == (2, 3)


def test_entries_of_no_group_stand_alone():
    alone = vote([0.9, 0.9, 0.9], [b"", b"", b""], 0)
    assert alone.supporters == 1
    assert alone.score < 0.34


def test_what_is_too_far_off_has_no_vote():
    assert vote([0.499], [b"a"], 0) is None
    assert vote([math.nan], [b"a"], 0) is None
    assert vote([0.6, 0.4], [b"a", b"a"], 0, VoteShape(floor=0.61)) is None


@given(
    st.lists(st.tuples(st.floats(0.5, 1), st.sampled_from([b"a", b"b", b"c"])), min_size=1, max_size=10),
    st.data(),
)
def test_another_supporter_never_lowers_and_a_dissenter_never_raises_the_score(near, data):
    similarities, groups = [one for one, _ in near], [group for _, group in near]
    candidate = data.draw(st.integers(0, len(near) - 1))
    more = data.draw(st.floats(-1, 1))
    base = vote(similarities, groups, candidate).score
    assert vote([*similarities, more], [*groups, groups[candidate]], candidate).score >= base - 1e-12
    assert vote([*similarities, more], [*groups, b"other"], candidate).score <= base + 1e-12


@given(st.floats(0, 1))
def test_bands_are_in_order_and_hold_their_scores(score):
    band = band_of(score)
    assert 0 <= band < BANDS
    assert least_score(band) <= score + 1e-9
    assert band == BANDS - 1 or score < least_score(band + 1) + 1e-9


# The cut


@given(st.lists(st.tuples(st.integers(0, BANDS - 1), st.booleans()), max_size=300), st.data())
def test_the_cut_never_falls_as_less_may_be_wrong(labels, data):
    tally = Tally()
    for band, right in labels:
        tally.add(band, right=right)
    shares = sorted(data.draw(st.lists(st.floats(0.001, 0.6), min_size=2, max_size=5)))
    cuts = [tally.cut(share) for share in shares]
    assert cuts == sorted(cuts, reverse=True)


def test_the_cut_is_the_lowest_score_whose_bound_holds():
    tally = Tally()
    for band, right, wrong in ((50, 10, 10), (100, 200, 2), (150, 300, 0)):
        for number in range(right + wrong):
            tally.add(band, right=number >= wrong)
    assert tally.cut(0.02) == 100  # 2 of 502: at most 1.25 %
    assert tally.cut(0.0124) == 150  # 0 of 300: at most 0.99 %
    assert tally.cut(0.005) == NO_CUT
    assert tally.cut(0.2) == 50


@given(st.lists(st.tuples(st.integers(0, BANDS - 1), st.booleans()), max_size=200))
def test_a_tally_reads_back(labels):
    tally = Tally()
    for band, right in labels:
        tally.add(band, right=right)
    assert Tally.read(Reader(tally.to_bytes())) == tally


@pytest.mark.parametrize("planted", [0.01, 0.02, 0.05])
def test_noise_of_the_comparison_is_found_and_a_lower_target_refused(planted):
    chance, noise = random.Random(7), Noise()
    for _ in range(5000):
        noise = noise.add(same=chance.random() >= planted)
    assert noise.lower <= planted <= noise.upper
    assert noise.share == pytest.approx(planted, rel=0.25)
    said = refusal(1.5 * planted, noise)
    assert f"of 5000 pairs of the same answer it called {noise.different} different" in said
    assert refusal(2.6 * planted, noise) is None


def test_noise_that_was_never_measured_refuses_nothing():
    assert refusal(0.001, Noise()) is None
    assert refusal(0.01, Noise(1000, 5)) is None
    assert refusal(0.0099, Noise(1000, 5)) == (
        "max_wrong_hit_rate 0.99 % is below 2 times the noise of the comparison: of 1000 pairs of the same "
        "answer it called 5 different (0.5 %), so that nothing below 1 % can be promised"
    )
