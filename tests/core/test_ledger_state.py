"""What a ledger keeps: no more than it may, through a restart, and said in a line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.ledger import Ledger
from askonce_server.core.ruling import Evidence, Outcome, Ticket
from askonce_server.core.standing import Standing
from askonce_server.core.standings import Standings
from askonce_server.core.varints import Reader
from askonce_server.core.vote import Vote, VoteShape, band_of, least_score
from askonce_server.core.voting import VotePolicy, epoch
from core.ledgers import EPOCH, KEY, LEARNED, SURE, serve_until_audit, taught

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


def test_a_standing_takes_a_few_bytes():
    written = bytearray()
    standing = Standing(17, 2, (True, False, True), quarantined=True)
    standing.write(written)
    assert len(written) == 4
    assert Standing.read(Reader(bytes(written))) == standing
