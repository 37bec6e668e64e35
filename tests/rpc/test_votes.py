"""The vote policy through a real sidecar: what is explored is labelled, what the labels bear is served."""

from __future__ import annotations

import itertools
import time

import pytest

from askonce.v1 import admin_service_pb2
from askonce_server.core.proposed import Method
from rpc.answers import answer_for
from rpc.harness import running, short_folder
from rpc.replies import filed, verdict
from rpc.requests import request
from rpc.semantic import asking, at, semantic

RIGHT, WRONG = "Open the settings", "Closed on Sundays"
"""Short answers are told apart without a model."""
CLOSE = 0.99
numbers = itertools.count()


def voting(**changes):
    return semantic(**{"threshold": 0.5, "low_threshold": 0, "guards": "off", **changes})


LEARNING = {"policy": "vote", "max_wrong_hit_rate": 0.2, "min_labels": 20, "audit_every": 4}


@pytest.fixture(scope="module")
def fixed():
    with running(**voting(policy="vote-fixed", vote=0.8, audit_every=4)) as one:
        yield one


@pytest.fixture
def tenant(request):
    return request.node.name


@pytest.fixture
def folder():
    with short_folder() as name:
        yield name


def wait_for(what, seconds=20):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.05)


class Asker:
    """Asks what nobody asked before, near to all else that was asked."""

    def __init__(self, server, tenant):
        self.server, self.tenant, self.scope = server, tenant, ""

    def ask(self, cosine=CLOSE, **rest):
        self.asked = asking(f"question {next(numbers)}", at(cosine), tenant=self.tenant)
        found = self.server.gateway.ask(self.asked, **rest)
        self.scope = found.candidate.scope_sha7 or self.scope
        return found

    def fill(self, decision, said=RIGHT):
        """Store the fresh answer, and wait until it was compared."""
        kept = self.server.gateway.store(decision.fill_token, answer_for(self.asked, said))
        assert filed(kept) == "stored"
        self.server.sidecar.labelling.settle()

    def explore(self, said=RIGHT, count=1):
        """Ask and answer; return what the last one was."""
        for _ in range(count):
            decision = self.ask()
            assert decision.outcome != 1, verdict(decision)
            self.fill(decision, said)
        return decision

    def until_audit(self, cosine=CLOSE):
        """Ask until it is not served; return how many were."""
        for served in range(100):
            decision = self.ask(cosine)
            if verdict(decision) != "hit semantic":
                return served, decision
        raise AssertionError("100 serves without an audit")

    def labels(self):
        found = self.server.sidecar.store.labels(0, limit=1000).labels
        return [label for label in found if label.scope_key.hex()[:7] == self.scope]


def test_a_fixed_vote_is_served_and_one_of_so_many_is_audited(fixed, tenant):
    asker = Asker(fixed, tenant)
    asker.explore()
    for _ in range(2):  # the rule is new, then where it begins is chance
        first, decision = asker.until_audit()
        assert first < 4
        assert verdict(decision) == "miss explore"
        asker.fill(decision)
    for _ in range(3):
        served, decision = asker.until_audit()
        assert (served, verdict(decision)) == (3, "miss explore")
        asker.fill(decision)
    labels = asker.labels()
    assert [label.method for label in labels][1:] == [Method.AUDIT] * 4
    assert all(label.right and label.ticket for label in labels)


def test_the_evidence_says_how_many_neighbours_share_the_answer(fixed, tenant):
    asker = Asker(fixed, tenant)
    asker.explore()
    lone = asker.ask()
    assert lone.candidate.evidence.vote == pytest.approx(0.9526, abs=1e-4)  # sigma((1 - 0.7) / 0.1)
    assert lone.candidate.evidence.cut == 0.8
    other = Asker(fixed, tenant + "2")
    other.explore(RIGHT)
    _, decision = other.until_audit()
    other.fill(decision, WRONG)
    split = other.ask()
    assert verdict(split) in {"miss explore", "miss below_threshold"}
    assert split.candidate.evidence.vote == pytest.approx(0.4879, abs=1e-4), "two answers, equally near"


def test_an_answer_that_was_wrong_must_prove_itself_again(fixed, tenant):
    asker = Asker(fixed, tenant)
    asker.explore()
    for _ in range(3):  # enough neighbours, so that one of another kind leaves the vote above
        _, decision = asker.until_audit()
        asker.fill(decision)
    served, decision = asker.until_audit(0.85)
    assert served == 3
    asker.fill(decision, WRONG)
    for _ in range(2):
        again = asker.ask()
        assert verdict(again) == "miss explore", "on probation"
        assert again.candidate.evidence.vote > 0.8
        asker.fill(again)
    assert verdict(asker.ask()) == "hit semantic"


def test_explain_says_what_spoke_for_it_and_counts_nothing(fixed, tenant):
    asker = Asker(fixed, tenant)
    asker.explore()
    _, decision = asker.until_audit()
    asker.fill(decision)
    before, _ = asker.until_audit()
    for _ in range(10):
        lookup = request(asking(f"question {next(numbers)}", at(CLOSE), tenant=tenant))
        explained = fixed.operator.admin.Explain(admin_service_pb2.ExplainRequest(lookup=lookup))
    line = "the 2 nearest questions share this answer: vote .97, cut .80;"
    assert explained.summary.startswith("a Lookup would be served now: semantic hit; ")
    assert line.removeprefix("the ") in explained.summary
    after, _ = asker.until_audit()
    assert (before, after) == (3, 3)


def test_nothing_is_served_before_labels_bear_it(start, tenant):
    asker = Asker(start(**voting(**LEARNING)), tenant)
    asker.explore(count=25)  # the first has no neighbour: 24 labels
    before = asker.ask()
    assert verdict(before) == "miss explore"
    assert before.candidate.evidence.cut == 1.0
    asker.fill(before)
    found = asker.ask()
    evidence = found.candidate.evidence
    assert (evidence.labels, evidence.wrong) == (25, 0)
    assert evidence.upper_bound == pytest.approx(1 - 0.05 ** (1 / 25), abs=1e-6)
    assert 0 < evidence.cut <= evidence.vote
    assert {verdict(found), verdict(asker.ask())} <= {"hit semantic", "miss explore"}
    assert "hit semantic" in {verdict(found), verdict(asker.ask())}


def test_answers_that_are_often_wrong_are_never_served(start, tenant):
    asker = Asker(start(**voting(**LEARNING)), tenant)
    for number in range(60):
        asker.explore(WRONG if number % 3 else RIGHT)
    assert {label.right for label in asker.labels()} == {True, False}
    assert asker.ask().candidate.evidence.cut == 1.0


def test_what_was_learned_outlives_a_restart_and_is_forgotten_with_its_scope(start, folder, tenant):
    first = start(folder, **voting(**LEARNING))
    asker = Asker(first, tenant)
    asker.explore(count=26)
    assert len(asker.labels()) == 25
    first.stop()
    second = start(folder, **voting(**LEARNING))
    asker = Asker(second, tenant)
    assert verdict(asker.ask()) == "miss explore", "until the labels were read"
    wait_for(lambda: verdict(asker.ask()) == "hit semantic")
    scope = admin_service_pb2.PurgeRequest(dim=admin_service_pb2.DimValue(name="tenant", value=tenant))
    second.operator.admin.Purge(scope)
    wait_for(lambda: not asker.labels())
    asker.explore()
    wait_for(lambda: asker.ask().candidate.evidence.cut == 1.0)


def test_an_answer_that_is_stored_twice_is_labelled_once(fixed, tenant):
    asker = Asker(fixed, tenant)
    asker.explore()
    _, decision = asker.until_audit()
    before = len(asker.labels())
    asker.fill(decision)
    asker.fill(decision)
    assert len(asker.labels()) == before + 1


def test_a_store_that_no_lookup_came_before_speaks_for_nothing(fixed, tenant):
    asker = Asker(fixed, tenant)
    asker.explore()
    for _ in range(5):
        asked = asking(f"question {next(numbers)}", at(CLOSE), tenant=tenant)
        assert filed(fixed.gateway.store(asked, answer_for(asked, WRONG))) == "stored"
    fixed.sidecar.labelling.settle()
    supporters = asker.ask().candidate.evidence
    assert supporters.vote == pytest.approx(1 / 6, abs=0.05), "each of them stands alone"


def test_a_rule_that_only_watches_labels_what_it_would_have_served(start, tenant):
    server = start(**semantic(mode="shadow"))
    asker = Asker(server, tenant)
    asker.fill(asker.ask(1))
    for cosine, said in ((0.97, RIGHT), (0.96, WRONG), (0.6, RIGHT)):
        decision = asker.ask(cosine)
        assert decision.shadow
        asker.fill(decision, said)
    assert [(label.method, label.right) for label in asker.labels()] == [
        (Method.SHADOW, True),
        (Method.SHADOW, False),
        (Method.SHADOW, False),
    ]
    assert next(label.similarity for label in asker.labels()) == pytest.approx(0.97, abs=1e-6)
