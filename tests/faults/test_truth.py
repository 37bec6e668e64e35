"""The judge of the torture blames each kind of fault, and nothing that may happen."""

from __future__ import annotations

import time

import pytest

from faults import truth as model
from faults.truth import Question, Truth

ASKED = Question(1, 7)
OLD, NEW = (b"old",), (b"new",)


@pytest.fixture
def truth():
    return Truth()


def store(truth, generations=OLD, *, question=ASKED, began=None, lasting=True, outcome="stored"):
    began = truth.tick() if began is None else began
    version = truth.storing(question, generations, began=began, lasting=lasting)
    truth.stored(version, outcome)
    return version


def purge(truth):
    with truth.purging(ASKED.tenant):
        pass


def hit(truth, version, *, question=ASKED, exact=True, began=None, before=None, sent_at=None):
    """What is blamed when a Lookup that is sent now is answered so."""
    truth.judge_hit(
        question,
        version if isinstance(version, int) else version.number,
        exact=exact,
        began=truth.tick() if began is None else began,
        before=truth.newest(question) if before is None else before,
        sent_at=time.monotonic() if sent_at is None else sent_at,
    )
    return [one.split(":")[0] for one in truth.wrong]


def miss(truth, *, before=None):
    truth.judge_miss(ASKED, before=truth.newest(ASKED) if before is None else before, ended=truth.tick())
    return [one.split(":")[0] for one in truth.wrong]


def test_what_is_there_is_right(truth):
    version = store(truth)
    assert hit(truth, version) == []
    assert hit(truth, version, question=Question(1, 7, reworded=True), exact=False) == []


def test_a_lookup_sent_after_the_purge_returned_must_not_hit(truth):
    version = store(truth)
    purge(truth)
    assert hit(truth, version) == ["resurrected"]


def test_one_that_was_under_way_may(truth):
    version = store(truth)
    began = truth.tick()
    purge(truth)
    assert hit(truth, version, began=began) == []
    with truth.purging(ASKED.tenant):
        assert hit(truth, version) == ["resurrected"], "after the first, whatever the second does"


def test_an_answer_whose_lookup_was_under_way_is_judged_by_what_the_server_saw(truth):
    """By the generations in its token: they were those of before, or they are new."""
    store(truth)
    began = truth.tick()
    purge(truth)
    late = truth.storing(ASKED, NEW, began=began)
    truth.stored(late, "stored")
    assert hit(truth, late) == []
    assert truth.counts["hit of what was asked for across a purge"] == 1
    early = truth.storing(ASKED, OLD, began=began)
    truth.stored(early, "stored")
    assert hit(truth, early) == ["resurrected"]


def test_a_purge_that_failed_hides_nothing_for_sure_and_explains_a_miss_until_it_is_settled(
    truth, monkeypatch
):
    version = store(truth)
    with pytest.raises(OSError, match="cut off"), truth.purging(ASKED.tenant):
        raise OSError("cut off")
    assert hit(truth, version) == []
    assert miss(truth) == []
    later = store(truth)
    truth.settle()
    assert miss(truth) == []
    monkeypatch.setattr(model, "UNSETTLED_SECONDS", 0.0)
    truth.settle()
    assert miss(truth) == [], "it may have happened after that Store"
    assert later.number == truth.newest(ASKED)
    store(truth)
    assert miss(truth) == ["lost"]


def test_an_answer_to_another_question_is_wrong(truth):
    version = store(truth)
    assert hit(truth, version, question=Question(2, 7)) == ["wrong answer"]
    assert hit(truth, version, question=Question(1, 8), exact=False) == ["wrong answer"] * 2
    assert hit(truth, version, question=Question(1, 7, reworded=True)) == ["wrong answer"] * 3
    assert hit(truth, 99) == ["wrong answer"] * 4


def test_a_refused_answer_must_not_be_served_and_one_that_failed_may(truth):
    assert hit(truth, store(truth, outcome="store_failed")) == []
    assert hit(truth, store(truth, outcome="")) == []
    assert hit(truth, store(truth, outcome="generation_changed")) == ["refused and served"]


def test_what_was_replaced_must_not_be_served(truth):
    first = store(truth)
    second = store(truth)
    assert hit(truth, second) == []
    assert hit(truth, first) == ["replaced and served"]


def test_two_stores_at_once_may_be_filed_in_either_order(truth):
    first = truth.storing(ASKED, OLD, began=truth.tick())
    second = store(truth)
    truth.stored(first, "stored")
    assert hit(truth, first) == []
    assert hit(truth, second) == []


def test_an_expired_answer_must_not_be_served(truth):
    version = store(truth, lasting=False)
    assert hit(truth, version) == []
    assert hit(truth, version, sent_at=version.looked_up_at + 1.02) == ["expired and served"]


def test_what_was_acknowledged_must_not_be_lost(truth):
    before = store(truth).number
    assert miss(truth, before=0) == [], "it was not there when the Lookup was sent"
    assert miss(truth, before=before) == ["lost"]


def test_nothing_is_lost_that_expired_was_replaced_by_what_expires_or_was_purged(truth):
    store(truth, lasting=False)
    assert miss(truth) == []
    before = store(truth).number
    short = truth.storing(ASKED, OLD, began=truth.tick(), lasting=False)
    assert miss(truth, before=before) == []
    truth.stored(short, "generation_changed")
    assert miss(truth, before=before) == ["lost"]
    purge(truth)
    assert miss(truth, before=before) == ["lost"]
