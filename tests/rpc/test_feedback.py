"""What somebody says of a near hit is kept, and in force at once."""

from __future__ import annotations

import grpc
import pytest

from askonce.v1 import admin_service_pb2
from askonce.v1.decision_service_pb2 import RecordFeedbackRequest
from askonce_server.core.labels import Judgement
from askonce_server.core.proposed import Method
from rpc.answers import answer_for
from rpc.harness import running
from rpc.replies import filed, malformed, verdict
from rpc.requests import describe
from rpc.semantic import asking, at, semantic

ASKED, FAR = 0.97, 0.999
"""Both near the stored question at 1; to each other they have a cosine of about 0.98."""


@pytest.fixture(scope="module")
def server():
    with running(**semantic(guards="off")) as one:
        yield one


@pytest.fixture
def tenant(request):
    return request.node.name


def near(server, tenant, cosine, text="again"):
    return server.gateway.ask(asking(f"{text} {cosine}", at(cosine), tenant=tenant))


def fill(server, tenant, said="Like this."):
    return server.gateway.fill(asking("first", at(1), tenant=tenant), said)


def judge(server, **fields):
    return server.gateway.stub.RecordFeedback(RecordFeedbackRequest(**fields)).recorded


def labels(server):
    return server.sidecar.store.labels(0, limit=1000).labels


def test_a_wrong_hit_is_not_served_again_to_the_same_question(server, tenant):
    fill(server, tenant)
    hit = near(server, tenant, ASKED)
    assert verdict(hit) == "hit semantic"
    assert judge(server, feedback_token=hit.feedback_token, verdict="VERDICT_WRONG", source="user")
    again = near(server, tenant, ASKED, "in other words")
    assert verdict(again) == "miss quarantined"
    assert again.candidate.entry_id == hit.candidate.entry_id
    assert verdict(near(server, tenant, FAR)) == "hit semantic", (
        "another question than the one that was wrong"
    )
    label = labels(server)[-1]
    assert (label.method, label.judgement, label.source) == (Method.FEEDBACK, Judgement.WRONG, "user")
    assert label.entry_id.hex() == hit.candidate.entry_id
    assert label.similarity == pytest.approx(ASKED, abs=1e-6)


def test_a_fresh_answer_is_served_again(server, tenant):
    fill(server, tenant)
    hit = near(server, tenant, ASKED)
    judge(server, feedback_token=hit.feedback_token, verdict="VERDICT_STALE")
    assert verdict(near(server, tenant, ASKED, "barred")) == "miss quarantined"
    asked = asking("first", at(1), tenant=tenant)
    refreshed = server.gateway.ask(asked, mode=3)
    assert filed(server.gateway.store(refreshed.fill_token, answer_for(asked, "Like that."))) == "stored"
    assert verdict(near(server, tenant, ASKED, "after")) == "hit semantic"


def test_a_right_hit_changes_nothing_and_a_token_counts_once(server, tenant):
    fill(server, tenant)
    hit = near(server, tenant, ASKED)
    before = len(labels(server))
    for said in ("VERDICT_CORRECT", "VERDICT_CORRECT"):
        assert judge(server, feedback_token=hit.feedback_token, verdict=said)
    assert len(labels(server)) == before + 1
    assert verdict(near(server, tenant, ASKED, "still")) == "hit semantic"


def test_an_entry_can_be_judged_whatever_was_asked(server, tenant):
    stored = fill(server, tenant)
    assert judge(server, entry_id=stored.entries[2].entry_id, verdict="VERDICT_WRONG")
    assert {verdict(near(server, tenant, cosine)) for cosine in (ASKED, FAR)} == {"miss quarantined"}
    with pytest.raises(grpc.RpcError) as refused:
        judge(server, entry_id=stored.entries[0].entry_id, verdict="VERDICT_WRONG")
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    with pytest.raises(grpc.RpcError) as refused:
        judge(server, entry_id="ab" * 32, verdict="VERDICT_WRONG")
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


def test_tokens_cannot_be_forged_or_taken_for_one_another(server, tenant):
    stored = fill(server, tenant)
    hit = near(server, tenant, ASKED)
    fill_token = server.gateway.ask(asking("unseen", at(-1), tenant=tenant)).fill_token
    broken = hit.feedback_token[:-1] + bytes([hit.feedback_token[-1] ^ 1])
    for token in (broken, b"", b"\xf1", fill_token):
        with pytest.raises(grpc.RpcError) as refused:
            judge(server, feedback_token=token, verdict="VERDICT_WRONG")
        assert "feedback_token" in refused.value.details()
    with pytest.raises(grpc.RpcError) as refused:
        server.gateway.store(hit.feedback_token, answer_for(describe(), "x"))
    assert "fill_token" in refused.value.details()
    assert stored.entries


def test_everything_that_is_wrong_is_named(server):
    assert malformed(lambda: judge(server, source="s" * 65)).keys() == {"source", "subject", "verdict"}
    wrong = malformed(lambda: judge(server, entry_id="AB" * 32, verdict=77))
    assert wrong.keys() == {"entry_id", "verdict"}


def test_no_other_decision_has_a_token(server, tenant):
    fill(server, tenant)
    exact = server.gateway.ask(asking("first", at(1), tenant=tenant))
    assert verdict(exact) == "hit exact"
    assert exact.feedback_token == b""
    assert near(server, tenant, 0.5).feedback_token == b""


def test_bars_outlive_a_restart_and_end_with_the_entry(start, tenant, tmp_path_factory):
    folder = tmp_path_factory.mktemp("s", numbered=True)
    first = start(folder, **semantic(guards="off"))
    fill(first, tenant)
    hit = near(first, tenant, ASKED)
    judge(first, feedback_token=hit.feedback_token, verdict="VERDICT_WRONG")
    first.stop()
    second = start(folder, **semantic(guards="off"))
    assert verdict(near(second, tenant, ASKED, "after")) == "miss quarantined"
    second.operator.admin.DeleteEntry(admin_service_pb2.DeleteEntryRequest(entry_id=hit.candidate.entry_id))
    with second.sidecar.store.read() as view:
        assert view.find(bytes.fromhex(hit.candidate.entry_id)) is None
    assert verdict(near(second, tenant, ASKED, "gone")) == "miss"
