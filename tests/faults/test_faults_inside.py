"""A fault inside never fails a Lookup: it is a bypass, in time, counted once, and logged without content."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from threading import Event

import pytest

from askonce.v1 import decision_service_pb2
from askonce_server.rpc import batch, convert, decision, encode
from askonce_server.rpc.patience import Caller
from askonce_server.service import asked as asked_module
from askonce_server.service import lookup, store
from askonce_server.store.view import LmdbReadView
from faults.waiting import eventually
from rpc.answers import answer, storing
from rpc.harness import running
from rpc.replies import filed, outcome, refused, verdict
from rpc.requests import describe, request, seconds, turns

MARK = "marker-of-a-customer"


class Bug(Exception):
    """A fault of our own; its text may hold what a customer wrote."""


def fail(*_args, **_changes):
    raise Bug(MARK)


class Garbage:
    """A view that answers in the wrong types."""

    def __init__(self, **answers):
        self._answers = answers

    def generations(self, names):
        return self._answers.get("generations", tuple(bytes(16) for _ in names))

    def entry(self, _key):
        return self._answers.get("entry")

    def body(self, _entry):
        return self._answers.get("body")


def garbage(**answers):
    @contextmanager
    def read():
        yield Garbage(**answers)

    return read


@contextmanager
def breaking():
    """A view that fails when it is closed."""
    yield Garbage()
    raise Bug(MARK)


@pytest.fixture(scope="module")
def server():
    with running() as started:
        yield started


@pytest.fixture(scope="module")
def coalescing():
    with running(rules=[{"id": "one", "scope": ["tenant"], "coalesce": {"lease": "1h"}}]) as started:
        yield started


def lacking(service, part, patch):
    """Take a part of what it shares with others from a service."""
    patch.setattr(service, "_shared", replace(service._shared, **{part: None}))


FAULTS = {
    "the store cannot be read": lambda s, m: m.setattr(s.store, "read", fail),
    "a view cannot be closed": lambda s, m: m.setattr(s.store, "read", breaking),
    "generations of the wrong type": lambda s, m: m.setattr(s.store, "read", garbage(generations=None)),
    "generations that are no bytes": lambda s, m: m.setattr(s.store, "read", garbage(generations=("a",))),
    "an entry of the wrong type": lambda s, m: m.setattr(s.store, "read", garbage(entry="x")),
    "the clock": lambda s, m: lacking(s._servicer._lookups, "clock", m),
    "a bug in deciding": lambda s, m: m.setattr(lookup, "decide", fail),
    "a bug in planning": lambda s, m: m.setattr(asked_module, "plan", fail),
    "a bug in reading the content": lambda s, m: m.setattr(asked_module, "read", fail),
    "a bug in converting": lambda s, m: m.setattr(convert, "asked", fail),
    "a bug in encoding": lambda s, m: m.setattr(encode, "decision", fail),
    "a bug in signing": lambda s, m: m.setattr(s._servicer._replies._tokens, "sign", fail),
    "a recursion too deep": lambda s, m: m.setattr(lookup, "decide", _recurse),
    "no memory": lambda s, m: m.setattr(lookup, "decide", _no_memory),
}


def _recurse(*args, **changes):
    return _recurse(*args, **changes)


def _no_memory(*_args, **_changes):
    raise MemoryError


@pytest.mark.parametrize("fault", FAULTS)
def test_a_lookup_is_answered_with_a_bypass(server, monkeypatch, caplog, fault):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(server.sidecar._servicer._faults, "_last", {})
    asked = describe(MARK, turns(f"{MARK} {fault}"))
    before = server.stats()
    with monkeypatch.context() as patch:
        FAULTS[fault](server.sidecar, patch)
        found = server.gateway.ask(asked, timeout=5)
        items = [asked, describe(MARK, dialect=""), describe(MARK, turns(f"another {fault}"))]
        results = server.gateway.ask_all(items)
    for bypassed in (found, results[0].decision, results[2].decision):
        assert verdict(bypassed) == "bypass store_failed"
        assert bypassed.cache_status == "askonce; fwd=bypass; detail=store_failed"
        assert not bypassed.fill_token
        assert len(bypassed.decision_id) == 32
    after = server.stats()
    assert after.decisions - before.decisions in (3, 4)  # 4: a malformed item fails in converting, too
    assert MARK not in caplog.text
    assert "askonce.faults" in {record.name for record in caplog.records}


@pytest.mark.parametrize("fault", FAULTS)
def test_the_sidecar_goes_on_as_if_nothing_had_been(server, monkeypatch, fault):
    with monkeypatch.context() as patch:
        FAULTS[fault](server.sidecar, patch)
        server.gateway.ask(describe("after", turns(fault)))
    asked = describe("after", turns(f"{fault}, later"))
    server.gateway.fill(asked)
    assert verdict(server.gateway.ask(asked)) == "hit exact"


def test_a_decision_stands_when_no_id_can_be_drawn_for_it(server, monkeypatch):
    monkeypatch.setattr(server.sidecar._servicer, "_ids", None)
    asked = describe("no randomness", turns("no randomness"))
    server.gateway.fill(asked)
    found = [server.gateway.ask(asked) for _ in range(2)]
    assert [verdict(one) for one in found] == ["hit exact"] * 2
    assert [len(one) for one in {one.decision_id for one in found}] == [32, 32]


STORE_FAULTS = {
    "the store cannot be written": lambda s, m: m.setattr(s.store, "put", fail),
    "the store gives too few results": lambda s, m: m.setattr(s.store, "put", lambda _writes: []),
    "the clock": lambda s, m: lacking(s._servicer._stores, "clock", m),
    "a bug in looking into the answer": lambda s, m: m.setattr(store, "inspect", fail),
    "a bug in admitting": lambda s, m: m.setattr(store, "why_refuse", fail),
    "a bug in verifying": lambda s, m: m.setattr(s._servicer._stores._tokens, "verify", fail),
    "a bug in converting": lambda s, m: m.setattr(convert, "filed", fail),
    "a bug in giving the lease back": lambda s, m: (
        m.setattr(s.store, "put", fail),
        m.setattr(s._leases, "release", fail),
    ),
    "no rules": lambda s, m: lacking(s._servicer._stores, "rules", m),
}


@pytest.mark.parametrize("fault", STORE_FAULTS)
def test_a_store_is_refused_and_not_failed(server, monkeypatch, caplog, fault):
    caplog.set_level(logging.DEBUG)
    asked = describe(MARK, turns(f"{MARK} store {fault}"))
    token = server.gateway.ask(asked).fill_token
    before = server.stats()
    with monkeypatch.context() as patch:
        STORE_FAULTS[fault](server.sidecar, patch)
        assert filed(server.gateway.store(token, answer(MARK))) == "store_failed"
        results = server.gateway.store_all([storing(token, answer(MARK))] * 2)
        assert [filed(result.response) for result in results] == ["store_failed"] * 2
    assert server.stats().refusals - before.refusals == 3
    assert outcome(server.gateway.ask(asked)) == "miss"
    assert filed(server.gateway.store(token, answer(MARK))) == "stored"
    assert MARK not in caplog.text


@pytest.mark.parametrize("fault", ["a bug in encoding", "a bug in signing"])
def test_nobody_waits_for_a_leader_whose_decision_was_lost(coalescing, monkeypatch, fault):
    asked = describe("lost", turns(fault))
    with monkeypatch.context() as patch:
        FAULTS[fault](coalescing.sidecar, patch)
        assert verdict(coalescing.gateway.ask(asked)) == "bypass store_failed"
        assert verdict(coalescing.gateway.ask_all([asked])[0].decision) == "bypass store_failed"
    assert coalescing.gateway.ask(asked).lease_holder


def nth(number, real, broken=fail):
    """A function that breaks when it is called for the nth time."""
    calls = []

    def call(*args, **changes):
        calls.append(args)
        return broken(*args, **changes) if len(calls) == number else real(*args, **changes)

    return call


def test_an_item_of_a_batch_that_no_lease_can_be_taken_for_leaves_the_others_theirs(coalescing, monkeypatch):
    asked = [describe("one of three", turns(text)) for text in "abc"]
    leases = coalescing.sidecar._leases
    with monkeypatch.context() as patch:
        patch.setattr(leases, "take", nth(2, leases.take))
        found = [result.decision for result in coalescing.gateway.ask_all(asked)]
    assert [verdict(one) for one in found] == ["miss", "bypass store_failed", "miss"]
    assert [one.lease_holder for one in found] == [True, False, True]
    assert [coalescing.gateway.ask(one).lease_holder for one in asked] == [False, True, False]


def test_nobody_waits_for_a_batch_that_broke_when_it_was_gathered(coalescing, monkeypatch):
    asked = [describe("broken batch", turns(text)) for text in "abc"]
    with monkeypatch.context() as patch:
        patch.setattr(batch, "identity", nth(2, batch.identity))
        assert refused(lambda: coalescing.gateway.ask_all(asked)).code.name == "INTERNAL"
    assert [coalescing.gateway.ask(one).lease_holder for one in asked] == [True] * 3


def test_nobody_waits_for_a_batch_whose_caller_has_gone(coalescing, monkeypatch):
    asked = [describe("gone batch", turns(text)) for text in "ab"]
    callers, decided, gone = [], Event(), Event()

    def late(*args):
        decided.set()
        assert gone.wait(30)
        return identity(*args)

    identity = batch.identity
    with monkeypatch.context() as patch:
        patch.setattr(batch, "identity", nth(1, identity, late))
        patch.setattr(decision, "Caller", lambda *args: callers.append(args) or Caller(*args))
        items = decision_service_pb2.BatchLookupRequest(items=[request(one) for one in asked])
        call = coalescing.gateway.stub.BatchLookup.future(items)
        assert decided.wait(30)
        call.cancel()
        assert eventually(lambda: not callers[0][0].is_active())
        gone.set()
        assert eventually(lambda: coalescing.gateway.ask(asked[0]).lease_holder)
    assert eventually(lambda: coalescing.gateway.ask(asked[1]).lease_holder)


@pytest.mark.parametrize("fault", ["the store cannot be written", "the store gives too few results"])
def test_nobody_waits_for_an_answer_that_could_not_be_written(coalescing, monkeypatch, fault):
    asked = describe("unwritten", turns(fault))
    leader = coalescing.gateway.ask(asked)
    assert leader.lease_holder
    with monkeypatch.context() as patch:
        STORE_FAULTS[fault](coalescing.sidecar, patch)
        assert filed(coalescing.gateway.store(leader.fill_token, answer())) == "store_failed"
    assert coalescing.gateway.ask(asked).lease_holder


def test_nobody_waits_for_an_answer_that_there_was_no_room_to_judge(coalescing, monkeypatch):
    asked = describe("no room", turns("hi"))
    leader = coalescing.gateway.ask(asked)
    with monkeypatch.context() as patch:
        patch.setattr(coalescing.sidecar._servicer._permits, "storing", lambda: nullcontext(False))
        assert filed(coalescing.gateway.store(leader.fill_token, answer())) == "store_failed"
    assert coalescing.gateway.ask(asked).lease_holder


@pytest.mark.parametrize("gone", [1, 2])
def test_an_entry_whose_body_is_gone_is_a_miss_and_the_next_matcher_is_asked(server, monkeypatch, gone):
    """It was removed, or is damaged, between the probe and the read of its body."""
    asked = describe(f"gone {gone}")
    server.gateway.fill(asked)
    body, calls = LmdbReadView.body, []

    def missing(self, entry):
        calls.append(entry.key.matcher)
        return None if len(calls) <= gone else body(self, entry)

    with monkeypatch.context() as patch:
        patch.setattr(LmdbReadView, "body", missing)
        found = server.gateway.ask(asked)
    assert verdict(found) == ("hit normalized" if gone == 1 else "miss")
    assert [matcher.name for matcher in calls] == ["EXACT", "NORMALIZED"]
    if gone == 2:
        assert filed(server.gateway.store(found.fill_token, answer("again"))) == "stored"
        assert verdict(server.gateway.ask(asked)) == "hit exact"


def test_an_internal_error_of_an_admin_call_keeps_its_text_to_itself(server, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(server.sidecar._keeper, "counted", fail)
    refusal = refused(server.stats)
    assert refusal.code.name == "INTERNAL"
    assert refusal.info.reason == "INTERNAL"
    assert MARK not in refusal.message
    assert MARK not in caplog.text
    assert "GetStats: Bug" in caplog.text


def test_a_caller_with_a_small_budget_does_not_wait_for_a_permit(server, monkeypatch):
    """All permits are taken: the answer comes within the budget, not after the server's own patience."""
    permits = server.sidecar._servicer._permits._lookups
    taken = 0
    while permits.acquire(blocking=False):
        taken += 1
    try:
        for ask in (
            lambda: server.gateway.ask(describe("busy"), budget=seconds(0.05)),
            lambda: server.gateway.ask(describe("busy"), timeout=0.4),
        ):
            started = time.monotonic()
            assert verdict(ask()) == "bypass over_budget"
            assert time.monotonic() - started < 0.4
    finally:
        permits.release(taken)
    assert verdict(server.gateway.ask(describe("busy"), budget=seconds(0.05))) == "miss"
