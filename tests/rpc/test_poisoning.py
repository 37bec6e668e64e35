"""What planted answers and crafted questions come to. `docs/poisoning.md` says what is promised."""

from __future__ import annotations

import itertools

import grpc
import pytest

from askonce.v1 import admin_service_pb2
from rpc.answers import answer_for
from rpc.harness import running
from rpc.replies import filed, verdict
from rpc.semantic import asking, at, semantic

RIGHT, PLANTED = "Open the settings", "Send me your password"
numbers = itertools.count()


@pytest.fixture(scope="module")
def voting():
    rules = semantic(
        threshold=0.5, low_threshold=0, guards="off", policy="vote-fixed", vote=0.8, audit_every=4
    )
    with running(**rules) as one:
        yield one


@pytest.fixture(scope="module")
def fixed():
    with running(**semantic()) as one:
        yield one


@pytest.fixture
def tenant(request):
    return request.node.name


def fill(server, asked, said):
    decision = server.gateway.ask(asked)
    assert filed(server.gateway.store(decision.fill_token, answer_for(asked, said))) == "stored"
    server.sidecar.labelling.settle()
    return decision


def said_by(decision):
    return decision.candidate.body.data.decode()


def test_no_wording_reaches_another_tenants_answer(fixed, tenant):
    fill(fixed, asking("how do I reset it", at(1), tenant=tenant), RIGHT)
    for text in ("how do I reset it", f"tenant={tenant} how do I reset it", "*"):
        found = fixed.gateway.ask(asking(text, at(1), tenant=f"{tenant}-other"))
        assert found.candidate.entry_id == ""
        assert verdict(found) == "miss"


def test_what_stands_around_the_question_cannot_be_moved_by_a_vector(fixed, tenant):
    fill(fixed, asking("how do I reset it", at(1), tenant=tenant), RIGHT)
    around = (
        {"system": "You are somebody else."},
        {"params": {"temperature": 0, "max_tokens": 7}},
        {"tools": [{"type": "function", "function": {"name": "reset"}}]},
        {"versions": {"guardrails": "2"}},
    )
    for changes in around:
        crafted = asking("how can I reset it", at(1), tenant=tenant, **changes)
        assert verdict(fixed.gateway.ask(crafted)) == "miss"
    assert verdict(fixed.gateway.ask(asking("how can I reset it", at(1), tenant=tenant))) == "hit semantic"


def test_a_fill_token_files_under_its_own_scope_alone(fixed, tenant):
    mine = fixed.gateway.ask(asking("mine", at(1), tenant="mallory"))
    asked = asking("mine", at(1), tenant=tenant)
    assert filed(fixed.gateway.store(mine.fill_token, answer_for(asked, PLANTED))) == "stored"
    assert verdict(fixed.gateway.ask(asked)) == "miss"
    broken = bytearray(mine.fill_token)
    broken[len(broken) // 2] ^= 1
    with pytest.raises(grpc.RpcError) as refused:
        fixed.gateway.store(bytes(broken), answer_for(asked, PLANTED))
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def test_a_flood_without_lookups_speaks_for_nothing(voting, tenant):
    for _ in range(3):
        fill_explored(voting, tenant, RIGHT)
    for _ in range(9):
        planted = asking(f"planted {next(numbers)}", at(1), tenant=tenant)
        assert filed(voting.gateway.store(planted, answer_for(planted, PLANTED))) == "stored"
    voting.sidecar.labelling.settle()
    for _ in range(8):
        found = voting.gateway.ask(asking(f"asked {next(numbers)}", at(1), tenant=tenant))
        assert verdict(found) != "hit semantic", said_by(found)


def fill_explored(server, tenant, said, cosine=1.0):
    """Ask anew until it is not served, and answer."""
    while True:
        asked = asking(f"asked {next(numbers)}", at(cosine), tenant=tenant)
        decision = server.gateway.ask(asked)
        if verdict(decision) != "hit semantic":
            server.gateway.store(decision.fill_token, answer_for(asked, said))
            server.sidecar.labelling.settle()
            return decision


def test_every_member_of_a_flood_is_labelled_against_what_was_there(voting, tenant):
    for _ in range(6):
        fill_explored(voting, tenant, RIGHT)
    before = len(voting.sidecar.store.labels(0, limit=10_000).labels)
    for _ in range(3):
        fill_explored(voting, tenant, PLANTED, cosine=0.8)
    labels = voting.sidecar.store.labels(0, limit=10_000).labels[before:]
    assert len(labels) == 3
    assert not labels[0].right, "the first is compared with the answer that was there"


def test_a_purge_ends_what_was_planted_and_what_was_learned_from_it(voting, tenant):
    for _ in range(5):
        fill_explored(voting, tenant, PLANTED)
    dim = admin_service_pb2.DimValue(name="tenant", value=tenant)
    voting.operator.admin.Purge(admin_service_pb2.PurgeRequest(dim=dim))
    found = voting.gateway.ask(asking("after", at(1), tenant=tenant))
    assert verdict(found) == "miss"
    assert found.candidate.entry_id == ""
