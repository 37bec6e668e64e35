"""Hits as bytes: what is encoded once and joined is what a message of all fields would be."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from askonce.v1 import decision_service_pb2
from askonce_server.core.decision import Candidate, Decision, Skip
from askonce_server.core.entries import Answer, Body, Entry, EntryKey, Usage
from askonce_server.core.lasting import Lasting
from askonce_server.core.reasons import BypassReason, Matcher, Outcome
from askonce_server.rpc import encode, hits
from rpc.answers import answer, chat_body
from rpc.replies import verdict
from rpc.requests import describe, seconds

NOW = 1_700_000_000_000
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=150)
ids = st.binary(min_size=32, max_size=32)
counts = st.integers(0, 2**63)
answers = st.builds(
    Answer,
    rule_id=texts,
    start_ms=st.integers(NOW - 10**9, NOW + 10),
    store_ms=st.integers(0, NOW),
    expire_ms=st.integers(NOW, NOW + 10**12),
    stream=st.booleans(),
    contains_tool_calls=st.booleans(),
    usage=st.none() | st.builds(Usage, counts, counts),
    cost_usd=st.none() | st.floats(0, 100),
    source_request_id=texts,
)
matchers = st.sampled_from([Matcher.EXACT, Matcher.NORMALIZED])
found = st.builds(
    Decision,
    outcome=st.just(Outcome.HIT),
    now_ms=st.just(NOW),
    rule_id=texts,
    kind=matchers,
    candidate=st.builds(
        Candidate,
        entry=st.builds(Entry, st.builds(EntryKey, matchers, ids, ids, ids), answers, ids, counts, counts),
        body=st.builds(Body, st.sampled_from([0, 1, 127, 128, 20_000]).map(bytes), texts),
    ),
    skipped=st.lists(st.builds(Skip, matchers, st.sampled_from(BypassReason)), max_size=2).map(tuple),
    anchor=texts,
)


def whole(decision: Decision, decision_id: str) -> bytes:
    fields = encode.decision(decision, decision_id=decision_id)
    return decision_service_pb2.LookupResponse(decision=fields).SerializeToString(deterministic=True)


@given(found, st.lists(st.tuples(st.integers(0, 10**9), st.text("0123456789abcdef", min_size=1)), max_size=3))
def test_a_joined_response_is_the_message_of_all_fields(first, later):
    kept = Lasting(first, NOW + 10**12)
    for ms, decision_id in [(0, "id"), *later]:
        now_ms = min(NOW + ms, first.candidate.entry.answer.expire_ms)
        anew = whole(replace(first, now_ms=now_ms), decision_id)
        assert hits.response(kept, now_ms=now_ms, decision_id=decision_id) == anew


def test_a_hit_that_is_given_again_sees_time_and_every_commit(start, clock):
    server = start()
    gateway = server.gateway
    asked = describe()
    gateway.store(asked, answer("one"), ttl=seconds(100))
    for step in range(4):  # the first decides, the others give it again
        decision = gateway.ask(asked)
        assert verdict(decision) == "hit exact"
        assert decision.candidate.body.data == chat_body("one")
        assert decision.candidate.age.ToMilliseconds() == step * 1_500
        assert decision.candidate.ttl_left.ToMilliseconds() == 100_000 - step * 1_500
        assert decision.cache_status == f"askonce; hit; ttl={(100_000 - step * 1_500) // 1000}; detail=exact"
        clock.advance(1_500)
    assert server.stats().tallies["hit.exact"] == 4
    gateway.store(asked, answer("two"), ttl=seconds(100))
    assert [gateway.ask(asked).candidate.body.data for _ in range(2)] == [chat_body("two")] * 2
    clock.advance(100_000)
    assert verdict(gateway.ask(asked)) == "miss expired"


def test_decisions_that_are_given_again_differ_in_their_id(start):
    gateway = start().gateway
    gateway.store(describe(), answer("one"))
    ids = [gateway.ask(describe()).decision_id for _ in range(5)]
    assert len(set(ids)) == 5
