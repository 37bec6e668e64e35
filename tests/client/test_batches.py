"""Batches: twins, bodies that did not fit, items that failed, and answers that make no sense."""

from __future__ import annotations

import grpc
import pytest

import askonce
from askonce import BypassReason, CircuitBreaker, RefusalReason
from askonce.core import Call, Policy
from askonce.status import Failure
from askonce.v1 import decision_pb2
from askonce.v1 import decision_service_pb2 as pb
from askonce.verbs import Verbs
from client.scripted import ANSWER, CHAT, GPT, hit, miss

TOO_LARGE = pb.ItemError(code=8, message="over max_response", reason="RESPONSE_TOO_LARGE")


def twin(of: int, outcome: str = "OUTCOME_HIT") -> decision_pb2.Decision:
    candidate = decision_pb2.Candidate(entry_id="ab" * 32) if outcome == "OUTCOME_HIT" else None
    return decision_pb2.Decision(outcome=outcome, candidate=candidate, same_as=of)


def question(text: str) -> askonce.Lookup:
    body = {"messages": [{"role": "user", "content": text}]}
    return askonce.Lookup(askonce.Descriptor.openai_chat(body, served=GPT), request_id=text)


def methods(script) -> list[str]:
    return [received.method for received in script.received]


def test_decisions_come_in_the_order_of_the_questions(client, script):
    script.decide_batch(hit(b"a"), miss(b"tok"), hit(b"c"))
    decisions = client.batch_lookup([question("a"), CHAT, question("c")])
    assert [decision.body for decision in decisions] == [b"a", None, b"c"]
    assert decisions[1].fill_token == b"tok"
    assert [item.request_id for item in script.last().items] == ["a", "", "c"]
    assert {item.budget.ToTimedelta().total_seconds() for item in script.last().items} == {5.0}


def test_an_empty_batch_makes_no_call(client, script):
    assert client.batch_lookup([]) == []
    assert client.batch_store([]) == []
    assert script.received == []


def test_twins_get_the_body_of_the_item_that_they_point_at(client, script):
    bare = decision_pb2.Decision(outcome="OUTCOME_HIT", same_as=0)
    script.decide_batch(hit(b"first"), hit(b"other"), twin(0), twin(2), bare)
    decisions = client.batch_lookup([CHAT] * 5)
    assert [decision.body for decision in decisions] == [b"first", b"other", b"first", b"first", b"first"]
    assert [decision.same_as for decision in decisions] == [None, None, 0, 2, 0]
    assert all(decision.hit for decision in decisions)
    assert methods(script) == ["BatchLookup"]


def test_a_twin_of_a_miss_is_a_miss(client, script):
    script.decide_batch(miss(), twin(0, "OUTCOME_MISS"))
    decisions = client.batch_lookup([CHAT, CHAT])
    assert [decision.outcome for decision in decisions] == [askonce.Outcome.MISS] * 2
    assert decisions[1].same_as == 0


def test_a_twin_without_an_original_to_borrow_from_is_asked_alone(client, script):
    script.decide_batch(miss(), twin(0), twin(7), twin(3))
    script.decide(hit(b"alone"))
    decisions = client.batch_lookup([CHAT] * 4)
    assert [decision.body for decision in decisions] == [None, b"alone", b"alone", b"alone"]
    assert methods(script) == ["BatchLookup"] + ["Lookup"] * 3


def test_a_twin_of_an_item_without_body_is_asked_alone(client, script):
    original = hit()
    original.candidate.ClearField("body")
    script.decide_batch(original, twin(0))
    script.decide(hit(b"alone"))
    decisions = client.batch_lookup([askonce.Lookup(CHAT, omit_body=True), CHAT])
    assert [decision.hit for decision in decisions] == [True, True]
    assert [decision.body for decision in decisions] == [None, b"alone"]


def test_bodies_that_did_not_fit_are_asked_for_alone_and_twins_follow(client, script):
    script.decide_batch(hit(b"a"), TOO_LARGE, twin(1))
    script.decide(hit(b"big"))
    decisions = client.batch_lookup([question("a"), question("b"), question("b")])
    assert [decision.body for decision in decisions] == [b"a", b"big", b"big"]
    assert [decision.error for decision in decisions] == [None] * 3
    assert methods(script) == ["BatchLookup", "Lookup"]
    assert script.last().request_id == "b"


def test_what_is_asked_alone_does_not_wait_for_others(client, script):
    script.decide_batch(TOO_LARGE)
    [decision] = client.batch_lookup([askonce.Lookup(CHAT, wait_for_fill=60)])
    assert decision.hit
    assert not script.last().HasField("wait_for_fill")
    assert script.last().budget.ToTimedelta().total_seconds() <= 5


@pytest.mark.parametrize("strict", [False, True])
def test_an_item_that_fails_spoils_no_other(connect, script, sidecar, strict):
    bad = pb.ItemError(
        code=3,
        message="malformed",
        reason="MALFORMED_REQUEST",
        violations=[{"field": "descriptor.served.model", "description": "must not be empty"}],
    )
    client = connect(sidecar.target, strict=strict)
    script.decide_batch(hit(b"a"), bad, hit(b"c"))
    decisions = client.batch_lookup([CHAT] * 3)
    assert [decision.body for decision in decisions] == [b"a", None, b"c"]
    error = decisions[1].error
    assert isinstance(error, askonce.InvalidRequest)
    assert (error.code, error.reason) == ("INVALID_ARGUMENT", "MALFORMED_REQUEST")
    assert error.violations == (askonce.Violation("descriptor.served.model", "must not be empty"),)
    assert decisions[1].bypass_reason is BypassReason.REQUEST_REFUSED


def test_an_item_that_cannot_be_sent_keeps_no_other_from_being_sent(client, script):
    script.decide_batch(hit(b"a"), twin(0), hit(b"d"))
    bad = askonce.Lookup(CHAT, request_id=7)
    decisions = client.batch_lookup([bad, CHAT, bad, CHAT, CHAT])
    assert [decision.body for decision in decisions] == [None, b"a", None, b"a", b"d"]
    assert decisions[3].same_as == 1
    assert isinstance(decisions[0].error, askonce.InvalidRequest)
    assert len(script.last().items) == 3


def test_a_batch_of_nothing_but_bad_items_makes_no_call(client, script):
    decisions = client.batch_lookup([askonce.Lookup(CHAT, request_id=7)] * 2)
    assert [type(decision.error) for decision in decisions] == [askonce.InvalidRequest] * 2
    results = client.batch_store([askonce.Store(None, ANSWER)])
    assert [type(result.error) for result in results] == [askonce.InvalidRequest]
    assert script.received == []


def test_items_that_say_nothing_or_nonsense_are_bypasses(client, script):
    bodiless = decision_pb2.Decision(outcome="OUTCOME_HIT")
    results = [pb.BatchLookupResult(), pb.BatchLookupResult(decision=bodiless), pb.BatchLookupResult()]
    results[2].error.code = 999
    script.handlers["BatchLookup"] = lambda request, context: pb.BatchLookupResponse(results=results)
    decisions = client.batch_lookup([CHAT] * 3)
    assert [type(decision.error) for decision in decisions] == [askonce.SidecarFailed] * 3
    assert not any(decision.hit for decision in decisions)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_answer_of_another_length_is_no_answer(client, script, count):
    script.decide_batch(*[hit()] * count)
    decisions = client.batch_lookup([CHAT, CHAT])
    assert [decision.bypass_reason for decision in decisions] == [BypassReason.SIDECAR_FAILED] * 2
    script.handlers["BatchStore"] = lambda request, context: pb.BatchStoreResponse(
        results=[pb.BatchStoreResult(response={"outcome": "STORE_OUTCOME_STORED"})] * count
    )
    results = client.batch_store([askonce.Store(b"t", ANSWER)] * 2)
    assert [result.refusal_reason for result in results] == [RefusalReason.SIDECAR_FAILED] * 2


def test_stores_keep_their_order_and_leave_out_what_needs_none(client, script):
    refused = pb.BatchStoreResult(
        response={"outcome": "STORE_OUTCOME_REFUSED", "refusal_reason": "REFUSAL_REASON_EMPTY"}
    )
    failed = pb.BatchStoreResult(error={"code": 8, "message": "too large"})
    stored = pb.BatchStoreResult(response={"outcome": "STORE_OUTCOME_STORED"})
    script.handlers["BatchStore"] = lambda request, context: pb.BatchStoreResponse(
        results=[refused, failed, stored, pb.BatchStoreResult()]
    )
    was_hit = askonce.Decision(outcome=askonce.Outcome.HIT)
    sources = [b"a", was_hit, b"b", None, CHAT, b"c"]
    results = client.batch_store([askonce.Store(source, ANSWER) for source in sources])
    assert [result.refusal_reason for result in results] == [
        RefusalReason.EMPTY,
        RefusalReason.NOTHING_TO_FILL,
        RefusalReason.REQUEST_REFUSED,
        RefusalReason.REQUEST_REFUSED,
        RefusalReason.NONE,
        RefusalReason.SIDECAR_FAILED,
    ]
    assert results[4].stored
    assert [item.fill_token for item in script.last().items] == [b"a", b"b", b"", b"c"]


def test_a_call_that_fails_as_a_whole_fails_every_item_or_raises(connect, script, sidecar):
    script.fail("BatchLookup", grpc.StatusCode.INVALID_ARGUMENT, "257 items")
    decisions = connect(sidecar.target).batch_lookup([CHAT] * 2)
    assert [decision.error.message for decision in decisions] == ["257 items"] * 2
    with pytest.raises(askonce.InvalidRequest, match="257 items"):
        connect(sidecar.target, strict=True).batch_lookup([CHAT])


class Script:
    """Answers the steps of a verb on a clock of the test's own."""

    def __init__(self, replies, seconds: float, breaker: CircuitBreaker | None = None) -> None:
        self.now = 0.0
        self.calls: list[Call] = []
        self.verbs = Verbs(Policy(budget=1.0), breaker, clock=lambda: self.now)
        self._replies = iter(replies)
        self._seconds = seconds

    def run(self, steps):
        try:
            call = next(steps)
            while True:
                self.calls.append(call)
                self.now += self._seconds
                call = steps.send(next(self._replies))
        except StopIteration as end:
            return end.value


def test_asking_alone_ends_with_the_budget_of_the_batch():
    batch = pb.BatchLookupResponse(results=[pb.BatchLookupResult(error=TOO_LARGE)] * 5).SerializeToString()
    alone = pb.LookupResponse(decision=hit(b"big")).SerializeToString()
    script = Script([batch] + [alone] * 5, seconds=0.3)
    decisions = script.run(script.verbs.batch_lookup([question("q")] * 5, None, ()))
    assert [call.method for call in script.calls] == ["BatchLookup", "Lookup", "Lookup", "Lookup"]
    assert [call.timeout for call in script.calls] == pytest.approx([1.0, 0.7, 0.4, 0.1])
    assert [decision.hit for decision in decisions] == [True, True, True, False, False]
    assert [d.bypass_reason for d in decisions[3:]] == [BypassReason.SIDECAR_TIMEOUT] * 2


def test_asking_alone_heeds_the_breaker():
    batch = pb.BatchLookupResponse(results=[pb.BatchLookupResult(error=TOO_LARGE)] * 4).SerializeToString()
    gone = Failure("UNAVAILABLE", "gone")
    script = Script([batch] + [gone] * 4, seconds=0, breaker=CircuitBreaker(failures=2))
    decisions = script.run(script.verbs.batch_lookup([question("q")] * 4, None, ()))
    assert [decision.bypass_reason for decision in decisions] == [
        BypassReason.SIDECAR_UNREACHABLE,
        BypassReason.SIDECAR_UNREACHABLE,
        BypassReason.CIRCUIT_OPEN,
        BypassReason.CIRCUIT_OPEN,
    ]


def test_the_time_that_encoding_took_is_taken_off_the_deadline():
    script = Script([pb.LookupResponse(decision=hit()).SerializeToString()] * 2, seconds=0)

    class Slow(dict):
        def items(self):
            script.now += 0.25
            return super().items()

    body = {"model": Slow(a=1)}
    asked = askonce.Lookup(askonce.Descriptor.openai_chat(body, served=GPT))
    assert script.run(script.verbs.lookup(asked, None, ())).hit
    assert script.now == 0.25
    assert script.calls[0].timeout == pytest.approx(0.75)
