"""Hits as bytes: what is encoded once and joined is what a message of all fields would be."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from askonce.v1 import decision_service_pb2
from askonce_server.core.decision import Candidate, Decision, Skip
from askonce_server.core.entries import Answer, Body, Entry, EntryKey, Usage
from askonce_server.core.reasons import BypassReason, Matcher, Outcome
from askonce_server.rpc import encode, hits

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
    encoded=st.sampled_from([None, []]).map(lambda kept: None if kept is None else []),
)


def whole(decision: Decision, decision_id: str) -> bytes:
    fields = encode.decision(decision, decision_id=decision_id)
    return decision_service_pb2.LookupResponse(decision=fields).SerializeToString(deterministic=True)


@given(found, st.lists(st.tuples(st.integers(0, 10**9), st.text("0123456789abcdef", min_size=1)), max_size=3))
def test_a_joined_response_is_the_message_of_all_fields(first, later):
    for ms, decision_id in [(0, "id"), *later]:
        decision = replace(first, now_ms=min(NOW + ms, first.candidate.entry.answer.expire_ms))
        assert hits.response(decision, decision_id=decision_id) == whole(decision, decision_id)
    assert first.encoded is None or first.encoded
