"""The score, the cut, audits, probation and quarantine."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.ledger import Ledger
from askonce_server.core.noise import Noise, refusal
from askonce_server.core.ruling import Evidence, Outcome, Ticket
from askonce_server.core.standing import Standing, begin
from askonce_server.core.standings import Standings
from askonce_server.core.tally import NO_CUT, Tally
from askonce_server.core.varints import Reader
from askonce_server.core.vote import BANDS, Vote, VoteShape, band_of, least_score, vote
from askonce_server.core.voting import Start, VotePolicy, epoch

KEY, EPOCH = bytes(range(32)), b"epoch 01"
LEARNED = VotePolicy(max_wrong=0.02)
SURE = Vote(0.99, band_of(0.99), 9, 10)
POOR = Vote(0.10, band_of(0.10), 1, 10)


def ledger(policy=LEARNED, **changes):
    return Ledger(policy, epoch=EPOCH, key=KEY, **changes)


def taught(policy=LEARNED, *, labels=500, group=b"taught"):
    """A ledger that has seen nothing wrong, and serves."""
    made = ledger(policy)
    for _ in range(labels):
        made.learn(made.decide(group, SURE).ticket, right=True)
    return made


def serve_until_audit(made, group):
    """Return the serves before the next audit, and the audit's ticket."""
    served = 0
    while (ruling := made.decide(group, SURE)).outcome is Outcome.SERVE:
        served += 1
    assert ruling.outcome is Outcome.AUDIT
    return served, ruling.ticket


# The score


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


# Starting


def test_nothing_is_served_before_there_are_labels_enough():
    made = ledger()
    for _ in range(499):
        ruling = made.decide(b"group", SURE)
        assert ruling.outcome is Outcome.EXPLORE
        made.learn(ruling.ticket, right=True)
    assert made.decide(b"group", SURE).outcome is Outcome.EXPLORE
    made.learn(made.decide(b"group", SURE).ticket, right=True)
    assert made.labels == 500
    assert made.decide(b"group", SURE).outcome in {Outcome.SERVE, Outcome.AUDIT}


@given(st.lists(st.tuples(st.floats(0.05, 0.999), st.booleans()), max_size=120), st.integers(1, 100))
def test_silent_never_serves_before_min_labels(asked, min_labels):
    made = ledger(VotePolicy(max_wrong=0.5, min_labels=min_labels, recalculate_every=1))
    for score, right in asked:
        ruling = made.decide(b"group", Vote(score, band_of(score), 1, 1))
        assert ruling.outcome is Outcome.EXPLORE or made.labels >= min_labels
        made.learn(ruling.ticket, right=right)


def test_shipped_serves_high_votes_from_the_start_and_what_was_learned_later():
    made = ledger(VotePolicy(max_wrong=0.02, start=Start.SHIPPED, audit_every=1000))
    assert made.decide(b"group", SURE).outcome is Outcome.SERVE
    assert made.decide(b"group", Vote(0.94, band_of(0.94), 1, 1)).outcome is Outcome.BELOW
    low = Vote(0.5, band_of(0.5), 1, 1)
    for _ in range(500):
        made.learn(made.decide(b"group", low).ticket, right=True)
    assert made.cut == pytest.approx(least_score(band_of(0.5)))
    assert made.decide(b"group", low).outcome is Outcome.SERVE


def test_a_fixed_vote_needs_no_label_and_moves_with_none():
    made = ledger(VotePolicy(fixed=0.8, audit_every=1000))
    for _ in range(50):
        assert made.decide(b"group", Vote(0.801, band_of(0.801), 1, 1)).outcome is Outcome.SERVE
        ruling = made.decide(b"group", Vote(0.799, band_of(0.799), 1, 1))
        assert ruling.outcome is Outcome.BELOW
        made.learn(ruling.ticket, right=False)
    assert made.cut == 0.8


# Audits


@given(st.lists(st.sampled_from([b"a", b"b", b"c"]), min_size=100, max_size=200), st.binary(max_size=64))
def test_every_twentieth_serve_of_each_answer_is_an_audit_however_they_come(order, key):
    made = taught()
    made._standings._key = key
    seen = {group: [] for group in set(order)}
    for group in order * 4:
        seen[group].append(made.decide(group, SURE).outcome is Outcome.AUDIT)
    for audits in seen.values():
        at = [number for number, audit in enumerate(audits) if audit]
        assert len(audits) < 20 or at[0] < 20
        assert not at or at == list(range(at[0], len(audits), 20))


def test_the_first_audit_comes_at_any_of_the_twenty_serves_alike():
    first = [begin(b"%d" % number, KEY, 20).until_audit for number in range(20_000)]
    assert set(first) == set(range(1, 21))
    assert all(900 < first.count(number) < 1100 for number in range(1, 21))
    assert first != [begin(b"%d" % number, b"another key", 20).until_audit for number in range(20_000)]


@given(st.integers(0, 2**32), st.integers(1, 30))
def test_at_most_nineteen_wrong_serves_of_an_answer_after_it_changed(seed, before):
    chance = random.Random(seed)
    made = taught()
    for _ in range(before):
        ruling = made.decide(b"changed", SURE)
        if ruling.outcome is not Outcome.SERVE:
            made.learn(ruling.ticket, right=True)
    wrong = 0
    for _ in range(200):  # from now on it is wrong
        made.decide(b"other", SURE) if chance.random() < 0.5 else None
        ruling = made.decide(b"changed", SURE)
        if ruling.outcome is Outcome.SERVE:
            wrong += 1
        else:
            made.learn(ruling.ticket, right=False)
            if ruling.outcome is Outcome.AUDIT:
                assert made.standing(b"changed").probation == 2
                break
    assert wrong <= 19


# Probation and quarantine


def test_a_wrong_audit_stops_the_answer_until_two_labels_are_right():
    made = taught()
    _, ticket = serve_until_audit(made, b"group")
    made.learn(ticket, right=False)
    for _ in range(2):
        ruling = made.decide(b"group", SURE)
        assert ruling.outcome is Outcome.PROBATION
        made.learn(ruling.ticket, right=True)
    assert made.decide(b"group", SURE).outcome in {Outcome.SERVE, Outcome.AUDIT}
    assert made.decide(b"other", SURE).outcome in {Outcome.SERVE, Outcome.AUDIT}


def test_labels_of_probation_count_for_the_answer_alone():
    made = taught()
    _, ticket = serve_until_audit(made, b"group")
    made.learn(ticket, right=False)
    before = made.labels
    made.learn(made.decide(b"group", SURE).ticket, right=False)
    assert made.labels == before
    assert made.standing(b"group").probation == 2


def test_an_answer_that_stays_wrong_is_put_in_quarantine_and_comes_out_when_it_is_right_again():
    made = taught()
    _, ticket = serve_until_audit(made, b"group")
    made.learn(ticket, right=False)
    for _ in range(2):
        made.learn(made.decide(b"group", SURE).ticket, right=False)
    assert made.decide(b"group", SURE).outcome is Outcome.QUARANTINED
    for _ in range(6):
        ruling = made.decide(b"group", SURE)
        assert ruling.outcome is Outcome.QUARANTINED
        made.learn(ruling.ticket, right=True)
    assert made.decide(b"group", SURE).outcome is Outcome.PROBATION
    made.release(b"group")
    assert made.decide(b"group", SURE).outcome in {Outcome.SERVE, Outcome.AUDIT}


def test_a_wrong_label_below_the_cut_stops_nothing():
    made = taught()
    ruling = made.decide(b"group", POOR)
    assert ruling.outcome is Outcome.BELOW
    made.learn(ruling.ticket, right=False)
    assert made.decide(b"group", SURE).outcome in {Outcome.SERVE, Outcome.AUDIT}


def test_what_was_served_counts_only_when_it_is_called_wrong():
    made = taught()
    ruling = made.decide(b"group", SURE)
    while ruling.outcome is not Outcome.SERVE:
        ruling = made.decide(b"group", SURE)
    assert not made.learn(ruling.ticket, right=True)
    assert made.labels == 500
    assert made.learn(ruling.ticket, right=False)
    assert made.labels == 501
    assert made.decide(b"group", SURE).outcome is Outcome.PROBATION


def test_a_wrong_audit_draws_the_cut_at_once():
    made = taught(labels=500)
    wrong = 0
    while made.cut is not None:  # the 500 right labels bear no more than 4 wrong ones under 2 %
        wrong += 1
        _, ticket = serve_until_audit(made, b"%d" % wrong)
        made.learn(ticket, right=False)
    assert wrong == 5


def test_tickets_of_another_epoch_teach_nothing():
    made = taught()
    ticket = made.decide(b"group", SURE).ticket._replace(epoch=b"older")
    assert not made.learn(ticket, right=False)
    assert made.labels == 500


# Bounds of memory


def test_no_more_answers_are_remembered_than_may_be_and_the_held_ones_are_kept():
    made = taught(VotePolicy(max_wrong=0.02, groups=50))
    _, ticket = serve_until_audit(made, b"held")
    made.learn(ticket, right=False)
    for number in range(1000):
        made.decide(b"%d" % number, SURE)
    assert len(made._standings) == 50
    assert made.decide(b"held", SURE).outcome is Outcome.PROBATION


def test_while_only_held_answers_are_remembered_no_other_is_served():
    made = taught(VotePolicy(max_wrong=0.5, groups=3))
    for number in range(3):
        _, ticket = serve_until_audit(made, b"%d" % number)
        made.learn(ticket, right=False)
    assert made.decide(b"another", SURE).outcome is Outcome.EXPLORE
    assert made.learn(made.decide(b"another", SURE).ticket, right=False)
    assert len(made._standings) == 3


def test_an_answer_that_is_forgotten_again_and_again_is_audited_all_the_same():
    kept = Standings(most=1, every=20, key=KEY)
    audits = 0
    for _ in range(20_000):
        for group in (b"a", b"b"):
            standing, audit = kept.get(group).serve(20)
            kept.put(group, standing)
            audits += audit
    assert 1800 < audits < 2200


# The state


@given(
    st.lists(
        st.tuples(st.sampled_from([b"", b"a", b"b", b"c", b"d"]), st.floats(0.01, 0.999), st.booleans()),
        max_size=150,
    ),
    st.sampled_from([VotePolicy(max_wrong=0.3, min_labels=20, groups=3), VotePolicy(), LEARNED]),
)
def test_a_state_goes_on_after_it_was_written_and_read(calls, policy):
    one = Ledger(policy, epoch=EPOCH, key=KEY)
    for at, (group, score, right) in enumerate(calls):
        made = Vote(score, band_of(score), 1, 1)
        again = Ledger.from_bytes(one.to_bytes(), policy, epoch=EPOCH, key=KEY)
        assert again.to_bytes() == one.to_bytes()
        ruling, other = one.decide(group, made), again.decide(group, made)
        assert ruling == other
        if at % 3:
            ticket = Ticket.from_bytes(ruling.ticket.to_bytes())
            assert one.learn(ticket, right=right) == again.learn(ticket, right=right)
        assert again.to_bytes() == one.to_bytes()
        one = again


def test_a_state_of_another_epoch_is_left_behind():
    written = taught().to_bytes()
    fresh = Ledger.from_bytes(written, LEARNED, epoch=b"epoch 02", key=KEY)
    assert (fresh.labels, fresh.cut, fresh.epoch) == (0, None, b"epoch 02")


def test_another_target_draws_its_cut_from_the_same_labels():
    written = taught().to_bytes()
    strict = Ledger.from_bytes(written, VotePolicy(max_wrong=0.001), epoch=EPOCH, key=KEY)
    assert (strict.labels, strict.cut) == (500, None)


def test_a_state_that_was_cut_is_refused():
    written = taught().to_bytes()
    for size in range(len(written)):
        with pytest.raises(ValueError):
            Ledger.from_bytes(written[:size], LEARNED, epoch=EPOCH, key=KEY)
    with pytest.raises(ValueError, match="follows"):
        Ledger.from_bytes(written + b"0", LEARNED, epoch=EPOCH, key=KEY)


def test_the_epoch_changes_with_whatever_gives_a_label_its_meaning():
    base = {"embedder": b"e", "guards": b"g", "comparator": b"c"}
    epochs = {
        epoch(VoteShape(), **base),
        epoch(VoteShape(temperature=0.2), **base),
        epoch(VoteShape(something_new=0.6), **base),
        epoch(VoteShape(neighbors=9), **base),
        *(epoch(VoteShape(), **{**base, name: b"other"}) for name in base),
        epoch(VoteShape(), embedder=b"eg", guards=b"", comparator=b"c"),
    }
    assert len(epochs) == 8
    assert epoch(VoteShape(), **base) == epoch(VoteShape(), **base)


def test_answers_that_are_one_share_the_worse_standing():
    made = taught()
    _, ticket = serve_until_audit(made, b"bad")
    made.learn(ticket, right=False)
    made.decide(b"good", SURE)
    made.merge(b"bad", b"good")
    assert made.decide(b"good", SURE).outcome is Outcome.PROBATION
    assert made.standing(b"bad") is None
    made.merge(b"taught", b"good")
    assert made.decide(b"good", SURE).outcome is Outcome.PROBATION


def test_purged_answers_are_forgotten():
    made = taught()
    _, ticket = serve_until_audit(made, b"gone")
    made.learn(ticket, right=False)
    made.forget(lambda group: group == b"gone")
    assert made.standing(b"gone") is None


# What is said


def test_the_evidence_is_one_line():
    evidence = Evidence(0.934, 9, 10, 0.789, 412, 3, 0.018711)
    assert evidence.line() == (
        "9 of the 10 nearest questions share this answer: vote .93, cut .78; "
        "412 labels at or above it, 3 wrong, at most 1.87 %"
    )
    assert evidence._replace(neighbors=1, supporters=1, cut=None, labels=1, wrong=0).line() == (
        "the nearest question shares this answer: vote .93, no cut yet; 1 label, 0 wrong, at most 1.87 %"
    )


def test_the_evidence_is_what_the_cut_was_drawn_from():
    evidence = taught(labels=512).decide(b"group", SURE).evidence
    assert (evidence.labels, evidence.wrong) == (500, 0)
    assert evidence.upper_bound == pytest.approx(1 - 0.05 ** (1 / 500))
    assert evidence.cut == least_score(SURE.band)


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


@pytest.mark.parametrize(
    "wrong", [{"max_wrong": 0}, {"max_wrong": 1}, {"confidence": 0.4}, {"audit_every": 0}, {"groups": 0}]
)
def test_a_policy_that_bounds_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        VotePolicy(**wrong)


def test_a_standing_takes_a_few_bytes():
    written = bytearray()
    standing = Standing(17, 2, (True, False, True), quarantined=True)
    standing.write(written)
    assert len(written) == 4
    assert Standing.read(Reader(bytes(written))) == standing
