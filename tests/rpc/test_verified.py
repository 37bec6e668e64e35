"""Near hits are credited with money only while the labels of their rule bear it."""

from __future__ import annotations

import itertools

import pytest

from askonce.v1.decision_service_pb2 import RecordFeedbackRequest
from askonce_server.service import proofs
from rpc.answers import answer_for
from rpc.harness import short_folder
from rpc.replies import verdict
from rpc.semantic import asking, at, semantic

BOUND = {"max_wrong_hit_rate": 0.3, "min_labels": 10}
numbers = itertools.count()


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(proofs, "_LOOK_SECONDS", 0.0)


@pytest.fixture
def folder():
    with short_folder() as name:
        yield name


def ask(server, cosine=0.99):
    asked = asking(f"question {next(numbers)}", at(cosine), tenant="acme")
    return asked, server.gateway.ask(asked)


def label(server, said="Open the settings"):
    asked, decision = ask(server)
    server.gateway.store(decision.fill_token, answer_for(asked, said, cost_usd=0.01))
    server.sidecar.labelling.settle()


def priced(decision):
    assert verdict(decision) == "hit semantic"
    return decision.candidate.HasField("cost_avoided_usd")


def test_what_a_shadow_rule_learned_prices_the_hits_that_it_serves_later(folder, start):
    shadow = semantic(guards="off", verified=BOUND, mode="shadow")
    serve = semantic(guards="off", verified=BOUND)
    server = start(folder, **shadow)
    for _ in range(10):  # the first has nothing near: 9 labels
        label(server)
    server.stop()
    server = start(folder, **serve)
    assert not priced(ask(server)[1]), "9 labels are too few"
    server.stop()
    server = start(folder, **shadow)
    label(server)
    server.stop()
    server = start(folder, **serve)
    unpriced = server.stats().unpriced_hits
    _, hit = ask(server)
    assert priced(hit)
    assert hit.candidate.cost_avoided_usd == pytest.approx(0.01)
    counted = server.stats()
    assert counted.cost_avoided_usd == pytest.approx(0.01)
    assert counted.unpriced_hits == unpriced
    judged = RecordFeedbackRequest(feedback_token=hit.feedback_token, verdict="VERDICT_WRONG")
    server.gateway.stub.RecordFeedback(judged)
    assert not priced(ask(server, cosine=0.96)[1]), "1 of 11 wrong: at most 36 %"


def test_labels_under_other_guards_bear_nothing(folder, start):
    server = start(folder, **semantic(guards={"number": False}, verified=BOUND, mode="shadow"))
    for _ in range(12):
        label(server)
    server.stop()
    server = start(folder, **semantic(guards="off", verified=BOUND))
    assert not priced(ask(server)[1])


def test_a_vote_prices_by_its_own_labels(start):
    rules = semantic(
        threshold=0.5,
        low_threshold=0,
        guards="off",
        policy="vote-fixed",
        vote=0.8,
        audit_every=2,
        verified=BOUND,
    )
    server = start(**rules)
    seen = []
    for _ in range(80):
        asked, decision = ask(server)
        if verdict(decision) == "hit semantic":
            seen.append(priced(decision))
        else:
            server.gateway.store(decision.fill_token, answer_for(asked, "Yes", cost_usd=0.01))
            server.sidecar.labelling.settle()
    assert seen == sorted(seen)
    assert (seen[0], seen[-1]) == (False, True)
