"""Natural batching: Lookups that come while one is in flight go out together, and stay each its caller's."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

import askonce
from askonce import encoding
from askonce.breaker import BreakerState
from askonce.v1 import decision_service_pb2 as pb
from client.scripted import CHAT, GPT, hit, miss, serving

PATIENT = 30.0
"""Seconds of budget, so that a slow machine does not look like a slow sidecar."""


def question(text, *, served=GPT, **rest):
    body = {"temperature": 0, "messages": [{"role": "user", "content": text}]}
    return askonce.Descriptor.openai_chat(body, served=served, scope={"tenant": "acme"}, **rest)


def sent(descriptor):
    """Return a descriptor's body as it goes over the wire."""
    return encoding.lookup_request(askonce.Lookup(descriptor), budget_seconds=1).descriptor.body_json


def echo(request):
    """A hit that says what was asked."""
    return hit(request.descriptor.body_json, rule_id=request.descriptor.route_id or "exact")


class Held:
    """Answers calls with what was asked; while `gate` is clear they wait."""

    def __init__(self, script):
        self.script = script
        self.gate = threading.Event()
        self.gate.set()
        script.rules(exact=["exact"])
        script.handlers["Lookup"] = self._one
        script.handlers["BatchLookup"] = self._many

    def _one(self, request, context):
        assert self.gate.wait(60)
        return pb.LookupResponse(decision=echo(request))

    def _many(self, request, context):
        assert self.gate.wait(60)
        return pb.BatchLookupResponse(
            results=[pb.BatchLookupResult(decision=echo(item)) for item in request.items]
        )

    def calls(self, since=0):
        """Return the methods that were called, and for a batch how many items it had."""
        return [
            len(one.request.items) if one.method == "BatchLookup" else one.method
            for one in self.script.received[since:]
            if one.method != "GetServerInfo"
        ]


class Threads:
    def __init__(self, target, **options):
        self.client = askonce.AskOnce(target, **{"budget": PATIENT, **options})
        self.pool = ThreadPoolExecutor(700)

    def start(self, descriptor, **options):
        return self.pool.submit(self.client.lookup, descriptor, **options)

    def close(self):
        self.pool.shutdown()
        self.client.close()


class Tasks:
    """The same of the asyncio client, whose loop runs in a thread of its own."""

    def __init__(self, target, **options):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        self.client = askonce.AsyncAskOnce(target, **{"budget": PATIENT, **options})

    def start(self, descriptor, **options):
        return asyncio.run_coroutine_threadsafe(self.client.lookup(descriptor, **options), self.loop)

    def close(self):
        asyncio.run_coroutine_threadsafe(self.client.close(), self.loop).result(30)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@pytest.fixture
def held(script):
    return Held(script)


@pytest.fixture(params=[Threads, Tasks])
def crowd(request, sidecar, held):
    """Callers of a client that knows the rules."""
    crowd = request.param(sidecar.target)
    learn(crowd, held)
    yield crowd
    held.gate.set()
    crowd.close()


def learn(crowd, held):
    """Let the client ask for the rules, which takes two Lookups at once."""
    held.gate.clear()
    first = [crowd.start(question(f"first {number}")) for number in range(3)]
    until(lambda: any(one.method == "GetServerInfo" for one in held.script.received))
    held.gate.set()
    assert all(one.result(30).hit for one in first)
    rules = crowd.client._core.gathering._rules
    until(lambda: rules._known)


def until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(0.002)


def fly(crowd, held, descriptors, **options):
    """Start Lookups while one is in flight, and return their outcomes and the calls that they took."""
    before = len(held.script.received)
    held.gate.clear()
    first = crowd.start(question("in flight"))
    until(lambda: len(held.script.received) > before)
    outcomes = [crowd.start(descriptor, **options) for descriptor in descriptors]
    gathering = crowd.client._core.gathering
    until(lambda: len(gathering._waiting) == len(outcomes) or len(held.script.received) > before + 1)
    held.gate.set()
    assert first.result(30).hit
    return [outcome.result(30) for outcome in outcomes], held.calls(before)


def test_lookups_that_come_meanwhile_go_out_together_and_each_gets_its_own(crowd, held):
    asked = [question(f"number {number}") for number in range(100)]
    decisions, calls = fly(crowd, held, asked)
    assert [one.body for one in decisions] == [sent(one) for one in asked]
    assert {one.same_as for one in decisions} == {None}
    assert calls == ["Lookup", 100]


def test_a_lone_lookup_goes_alone(crowd, held):
    before = len(held.script.received)
    for number in range(20):
        assert crowd.start(question(f"{number}")).result(30).hit
    assert held.calls(before) == ["Lookup"] * 20


def test_batches_stay_below_256_items_and_a_mebibyte(crowd, held):
    many = [question(f"number {number}") for number in range(600)]
    decisions, calls = fly(crowd, held, many)
    assert len(decisions) == 600
    assert calls == ["Lookup", 256, 256, 88]
    large = [question("x" * 400_000 + str(number)) for number in range(5)]
    assert fly(crowd, held, large)[1] == ["Lookup", 2, 2, 1]


def test_large_answers_make_small_batches(crowd, held):
    body = b'"' + b"x" * 1_000_000 + b'"'
    held.script.handlers["Lookup"] = held.script.handlers["BatchLookup"] = None

    def many(request, context):
        assert held.gate.wait(60)
        return pb.BatchLookupResponse(
            results=[pb.BatchLookupResult(decision=hit(body)) for _ in request.items]
        )

    held.script.handlers["BatchLookup"] = many
    held.script.handlers["Lookup"] = lambda request, context: (
        held.gate.wait(60),
        pb.LookupResponse(decision=hit(body)),
    )[1]
    fly(crowd, held, [question(f"number {number}") for number in range(12)])
    _, calls = fly(crowd, held, [question(f"number {number}") for number in range(30)])
    assert max(call for call in calls if call != "Lookup") < 20


def test_what_may_wait_for_an_embedding_goes_alone(crowd, held):
    held.script.rules(exact=["exact"], near=["exact", "semantic"])
    crowd.client._core.gathering._rules._asked = float("-inf")
    learn_again(crowd, held)
    other = askonce.Target("openai", "another")
    near = [question(f"{number}", served=other, route_id="near", route_version="1") for number in range(4)]
    for _ in range(2):  # the second time this kind of request is known: to be semantic
        decisions, calls = fly_alone(crowd, held, near)
        assert all(one.hit for one in decisions)
        assert calls == ["Lookup"] * 5


def learn_again(crowd, held):
    rules = crowd.client._core.gathering._rules
    held.gate.clear()
    first = [crowd.start(CHAT) for _ in range(2)]
    until(lambda: not rules._all)
    held.gate.set()
    assert all(one.result(30).hit for one in first)


def fly_alone(crowd, held, descriptors, **options):
    before = len(held.script.received)
    held.gate.clear()
    outcomes = [crowd.start(one, **options) for one in [question("in flight"), *descriptors]]
    until(lambda: len(held.calls(before)) == len(outcomes))
    held.gate.set()
    return [outcome.result(30) for outcome in outcomes], held.calls(before)


@pytest.mark.parametrize(
    "options", [{"wait_for_fill": 5.0}, {"metadata": [("traceparent", "00-1")]}], ids=str
)
def test_what_belongs_to_one_call_goes_alone(crowd, held, options):
    _, calls = fly_alone(crowd, held, [question("a"), question("b")], **options)
    assert calls == ["Lookup"] * 3


@pytest.mark.parametrize("kind", [Threads, Tasks])
def test_coalescing_can_be_switched_off(sidecar, held, kind):
    crowd = kind(sidecar.target, coalescing=False)
    try:
        _, calls = fly_alone(crowd, held, [question("a"), question("b")])
        assert calls == ["Lookup"] * 3
        assert all(one.method != "GetServerInfo" for one in held.script.received)
    finally:
        crowd.close()


def test_a_sidecar_that_does_not_say_its_rules_is_asked_one_by_one(sidecar, held):
    held.script.fail("GetServerInfo", grpc.StatusCode.UNIMPLEMENTED)
    crowd = Threads(sidecar.target)
    try:
        for _ in range(2):
            assert fly_alone(crowd, held, [question("a"), question("b")])[1] == ["Lookup"] * 3
        assert Counter(one.method for one in held.script.received)["GetServerInfo"] == 1
        assert crowd.client.breaker.state is BreakerState.CLOSED
    finally:
        crowd.close()


def test_budgets_stay_each_callers_own(crowd, held):
    held.gate.clear()
    first = crowd.start(question("in flight"))
    gathering = crowd.client._core.gathering
    until(lambda: gathering._flying == 1)
    patient = crowd.start(question("patient"))
    hasty = crowd.start(question("hasty"), budget=0.02)
    assert isinstance(hasty.result(30).error, askonce.BudgetExceeded)
    assert not first.done()
    held.gate.set()
    assert first.result(30).hit
    assert patient.result(30).hit
    assert crowd.client.breaker.state is BreakerState.CLOSED


def test_the_one_with_the_most_time_asks_for_all(crowd, held):
    held.gate.clear()
    first = crowd.start(question("in flight"), budget=0.3)
    gathering = crowd.client._core.gathering
    until(lambda: gathering._flying == 1)
    waiting = [
        crowd.start(question(f"{number}"), budget=budget) for number, budget in enumerate([0.6, 25, 0.7])
    ]
    until(lambda: len(gathering._waiting) == 3)
    results = [first.result(30), waiting[0].result(30), waiting[2].result(30)]
    assert all(isinstance(one.error, askonce.BudgetExceeded) for one in results)
    held.gate.set()
    assert waiting[1].result(30).hit


def test_a_batch_that_fails_is_one_failure_and_a_bypass_for_each(crowd, held):
    held.script.fail("BatchLookup", grpc.StatusCode.UNAVAILABLE)
    decisions, calls = fly(crowd, held, [question(f"{number}") for number in range(50)])
    assert {type(one.error) for one in decisions} == {askonce.SidecarUnreachable}
    assert len({id(one.error) for one in decisions}) == 50
    assert {one.error.code for one in decisions} == {"UNAVAILABLE"}
    assert crowd.client.breaker.state is BreakerState.CLOSED
    assert calls == ["Lookup", 50]


def test_an_item_that_the_batch_could_not_carry_is_asked_for_alone(crowd, held):
    def many(request, context):
        results = [pb.BatchLookupResult(decision=echo(item)) for item in request.items]
        results[1] = pb.BatchLookupResult(
            error=pb.ItemError(code=8, message="over", reason="RESPONSE_TOO_LARGE")
        )
        results[2] = pb.BatchLookupResult(error=pb.ItemError(code=13, message="a bug"))
        twin = hit(rule_id="exact", same_as=0)
        twin.candidate.ClearField("body")
        results[3] = pb.BatchLookupResult(decision=twin)
        return pb.BatchLookupResponse(results=results)

    held.script.handlers["BatchLookup"] = many
    asked = [question("a"), question("b"), question("c"), question("a")]
    decisions, calls = fly(crowd, held, asked)
    assert [one.body for one in decisions][:2] == [sent(one) for one in asked[:2]]
    assert isinstance(decisions[2].error, askonce.SidecarFailed)
    assert decisions[3].body == decisions[0].body
    assert calls == ["Lookup", 4, "Lookup"]


def test_a_miss_of_a_batch_can_be_stored(crowd, held):
    def many(request, context):
        decisions = [miss(b"token %d" % number, rule_id="exact") for number in range(len(request.items))]
        return pb.BatchLookupResponse(results=[pb.BatchLookupResult(decision=one) for one in decisions])

    held.script.handlers["BatchLookup"] = many
    decisions, _ = fly(crowd, held, [question(f"{number}") for number in range(5)])
    assert {one.fill_token for one in decisions} == {b"token %d" % number for number in range(5)}


def test_a_mistake_in_one_is_that_ones(crowd, held):
    wrong = askonce.Descriptor.openai_chat(b"{}", served=GPT, scope={"tenant": 1})
    decisions, calls = fly_mixed(crowd, held, [question("a"), question("b")], wrong)
    assert [one.hit for one in decisions] == [True, True]
    assert calls == ["Lookup", 2]


def fly_mixed(crowd, held, descriptors, wrong):
    held.gate.clear()
    before = len(held.script.received)
    first = crowd.start(question("in flight"))
    until(lambda: len(held.script.received) > before)
    outcomes = [crowd.start(descriptor) for descriptor in descriptors]
    assert isinstance(crowd.start(wrong).result(30).error, askonce.InvalidRequest)
    until(lambda: len(crowd.client._core.gathering._waiting) == len(outcomes))
    held.gate.set()
    assert first.result(30).hit
    return [outcome.result(30) for outcome in outcomes], held.calls(before)


def test_one_that_is_cancelled_while_it_asks_for_all_takes_nobody_along(sidecar, held):
    crowd = Tasks(sidecar.target)
    try:
        learn(crowd, held)
        gathering = crowd.client._core.gathering
        held.gate.clear()
        first = crowd.start(question("in flight"))
        until(lambda: gathering._flying == 1)
        others = [crowd.start(question(f"{number}"), budget=20) for number in range(5)]
        until(lambda: len(gathering._waiting) == 5)
        pilot = crowd.start(question("pilot"))  # which has the most time
        leaver = crowd.start(question("leaver"))
        until(lambda: len(gathering._waiting) == 7)
        leaver.cancel()
        first.cancel()  # its lane goes to the pilot
        until(lambda: 6 in held.calls() or 7 in held.calls())
        pilot.cancel()
        until(lambda: 5 in held.calls())
        held.gate.set()
        assert all(one.result(30).hit for one in others)
        until(lambda: gathering._flying == 0 and gathering._callers == 0)
    finally:
        held.gate.set()
        crowd.close()


def test_a_sidecar_that_hangs_costs_each_caller_its_own_time_and_the_client_nothing_else(crowd, held):
    gathering = crowd.client._core.gathering
    held.gate.clear()
    outcomes = [crowd.start(question(f"{number}"), budget=0.2) for number in range(50)]
    assert all(isinstance(one.result(30).error, askonce.AskOnceError) for one in outcomes)
    until(lambda: gathering._flying == 0 and gathering._callers == 0)
    assert gathering._waiting == []


def test_thousands_of_threads_worth_of_lookups_are_each_answered_once(sidecar, held):
    crowd = Threads(sidecar.target, channels=2)
    try:
        learn(crowd, held)
        asked = [question(f"number {number}") for number in range(3000)]
        decisions = [one.result(60) for one in [crowd.start(descriptor) for descriptor in asked]]
        assert [one.body for one in decisions] == [sent(one) for one in asked]
        gathering = crowd.client._core.gathering
        assert (gathering._flying, gathering._callers, gathering._waiting) == (0, 0, [])
    finally:
        crowd.close()


def test_clients_of_a_socket_and_of_tcp_gather_alike(address):
    with serving(address) as served:
        held = Held(served.script)
        crowd = Threads(served.target)
        try:
            learn(crowd, held)
            assert fly(crowd, held, [question("a"), question("b")])[1] == ["Lookup", 2]
        finally:
            crowd.close()
