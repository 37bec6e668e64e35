"""What a Lookup is told of the steps to its decision, when it asks for them."""

from __future__ import annotations

import pytest

from askonce.v1 import decision_service_pb2
from rpc.harness import running
from rpc.replies import outcome
from rpc.requests import describe, request, seconds
from rpc.semantic import asking, at, semantic


def told(decision):
    return [(step.name, step.result) for step in decision.trace]


@pytest.fixture(scope="module")
def near():
    with running(**semantic(low_threshold=0.0)) as server:
        yield server.gateway


@pytest.fixture(scope="module")
def gateway():
    with running(rules=[{"id": "default", "coalesce": {"lease": "60s"}}]) as server:
        yield server.gateway


def test_nobody_is_told_who_did_not_ask(gateway):
    gateway.fill(asked := describe("quiet"))
    assert told(gateway.ask(asked)) == []


def test_a_miss_names_each_matcher(gateway):
    assert told(gateway.ask(describe("miss"), trace=True)) == [
        ("read generations", ""),
        ("match exact", "no entry"),
        ("match normalized", "no entry"),
    ]


def test_a_hit_ends_with_the_matcher_that_served_every_time(gateway):
    gateway.fill(asked := describe("hit"))
    for _ in range(3):
        assert outcome(gateway.ask(asked)) == "hit"
        assert told(gateway.ask(asked, trace=True)) == [
            ("read generations", ""),
            ("match exact", "hit"),
            ("read body", "found"),
        ]


def test_a_skipped_matcher_says_why_in_its_place(gateway):
    code = [{"role": "user", "content": "```\n  x\n```"}]
    assert told(gateway.ask(describe("skipped", code), trace=True))[1:] == [
        ("match exact", "no entry"),
        ("match normalized", "whitespace_significant"),
    ]


def test_a_denied_candidate_says_why(gateway):
    gateway.fill(asked := describe("denied"))
    steps = told(gateway.ask(asked, min_fresh=seconds(86_400 * 2), trace=True))
    assert ("match exact", "denied") in steps
    assert ("match normalized", "too_old") in steps


def test_a_bypass_has_no_steps(gateway):
    assert told(gateway.ask(describe(None), trace=True)) == []


def test_items_of_a_batch_have_steps_of_their_own(gateway):
    gateway.fill(known := describe("batch"))
    items = [request(known, trace=True), request(known), request(describe("batch-2"), trace=True)]
    steps = [told(result.decision) for result in gateway.ask_all(items)]
    assert steps[0][1] == ("match exact", "hit")
    assert steps[1] == []
    assert steps[2][1:] == [("match exact", "no entry"), ("match normalized", "no entry")]


def test_the_semantic_matcher_tells_its_parts(near):
    near.fill(asking("how tall is it", at(1)))
    decision = near.ask(asking("how tall is that", at(0.99)), trace=True)
    steps = told(decision)
    assert steps[3:] == [
        ("match semantic", "hit"),
        ("embed", "embedded"),
        ("read generations", ""),
        ("recall", "found"),
        ("read bars", ""),
        ("read body", "found"),
    ]
    lasted = {step.name: step.duration.ToNanoseconds() for step in decision.trace}
    assert lasted["match semantic"] >= lasted["embed"] + lasted["recall"] + lasted["read body"] > 0


def test_a_near_candidate_that_is_too_far_says_so(near):
    near.fill(asking("is it round", at(1), tenant="far"))
    decision = near.ask(asking("is it flat", at(0.5), tenant="far"), trace=True)
    assert ("match semantic", "below_threshold") in told(decision)


def test_a_text_without_a_vector_is_told_as_the_part_that_failed(near):
    steps = told(near.ask(asking("no vector", tenant="none"), trace=True))
    assert steps[-2:] == [("match semantic", "embedding_missing"), ("embed", "embedding_missing")]


def test_who_waited_for_another_is_told_how_that_ended(gateway):
    asked = describe("waits")
    assert gateway.ask(asked).lease_holder
    steps = told(gateway.ask(asked, wait_for_fill=seconds(0.01), trace=True))
    assert steps[-1] == ("wait for fill", "not filled")


def test_a_traced_request_is_one_of_its_own_and_the_same_decision(gateway):
    gateway.fill(asked := describe("same"))
    plain, traced = gateway.ask(asked), gateway.ask(asked, trace=True)
    for decision in (plain, traced):
        decision.ClearField("trace")
        decision.ClearField("decision_id")
        decision.candidate.ClearField("age")
        decision.candidate.ClearField("ttl_left")
        decision.ClearField("cache_status")
    assert plain == traced


def test_the_request_id_may_be_anything_of_256_bytes(gateway):
    message = request(describe("id"), trace=True, request_id="é" * 128)
    raw = gateway.raw("DecisionService/Lookup", message.SerializeToString())
    assert len(decision_service_pb2.LookupResponse.FromString(raw).decision.trace) == 3
