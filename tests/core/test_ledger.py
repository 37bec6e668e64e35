"""When a ledger serves, audits an answer, and holds one that was wrong."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.ruling import Outcome
from askonce_server.core.standing import begin
from askonce_server.core.vote import Vote, band_of, least_score
from askonce_server.core.voting import Start, VotePolicy
from core.ledgers import KEY, POOR, SURE, ledger, serve_until_audit, taught


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


@pytest.mark.parametrize(
    "wrong", [{"max_wrong": 0}, {"max_wrong": 1}, {"confidence": 0.4}, {"audit_every": 0}, {"groups": 0}]
)
def test_a_policy_that_bounds_nothing_is_refused(wrong):
    with pytest.raises(ValueError, match="must be"):
        VotePolicy(**wrong)


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
