"""What a newer, older or broken sidecar may send, and that the lazy reading of it is the safe one."""

from __future__ import annotations

import dataclasses
from datetime import UTC, datetime, timedelta

import pytest

import askonce
from askonce import enums
from askonce.v1 import decision_pb2, reason_pb2
from askonce.v1 import decision_service_pb2 as pb
from client.scripted import ANSWER, CHAT, hit, miss

OUTCOMES = (*askonce.Outcome, 0, 4, 99, -1)


def test_a_decision_is_read_whole(client, script):
    decision = hit(
        decision_id="d" * 32,
        stale=True,
        collapsed=True,
        rule_id="chat",
        cache_status="askonce; hit",
        embed_cost_usd=0.0,
        feedback_token=b"fb",
        conversation_anchor="c" * 64,
        skipped=[{"matcher": "MATCH_KIND_NORMALIZED", "reason": "BYPASS_REASON_WHITESPACE_SIGNIFICANT"}],
        trace=[{"name": "match exact", "duration": {"nanos": 1_500_000}, "result": "hit"}],
        kind="MATCH_KIND_SEMANTIC",
    )
    decision.candidate.MergeFrom(
        decision_pb2.Candidate(
            scope_sha7="5c0be00",
            similarity=0.97,
            threshold=0.95,
            low_threshold=0.0,
            zone="ZONE_ABOVE",
            verified=True,
            verifier="judge",
            age={"seconds": 90, "nanos": 500_000_000},
            ttl_left={"seconds": -1, "nanos": -500_000_000},
            store_time={"seconds": 1772366400},
            expire_time={"seconds": 1772366400, "nanos": 1000},
            source_request_id="r-0",
            stream="BODY_SHAPE_JSON",
            contains_tool_calls=True,
            usage={"input_tokens": 3, "output_tokens": 4},
            evidence={"vote": 0.9, "cut": 0.8, "labels": 7, "wrong": 1, "upper_bound": 0.2},
            cost_avoided_usd=0.01,
        )
    )
    script.decide(decision)

    want = askonce.Decision(
        outcome=askonce.Outcome.HIT,
        decision_id="d" * 32,
        kind=askonce.MatchKind.SEMANTIC,
        stale=True,
        collapsed=True,
        rule_id="chat",
        cache_status="askonce; hit",
        embed_cost_usd=0.0,
        feedback_token=b"fb",
        conversation_anchor="c" * 64,
        skipped=(
            askonce.SkippedMatcher(askonce.MatchKind.NORMALIZED, askonce.BypassReason.WHITESPACE_SIGNIFICANT),
        ),
        trace=(askonce.TraceStep("match exact", timedelta(milliseconds=1.5), "hit"),),
        candidate=askonce.Candidate(
            entry_id="ab" * 32,
            entry_sha7="ababab7",
            scope_sha7="5c0be00",
            similarity=0.97,
            threshold=0.95,
            low_threshold=0.0,
            zone=askonce.Zone.ABOVE,
            verified=True,
            verifier="judge",
            age=timedelta(seconds=90.5),
            ttl_left=timedelta(seconds=-1.5),
            store_time=datetime(2026, 3, 1, 12, tzinfo=UTC),
            expire_time=datetime(2026, 3, 1, 12, 0, 0, 1, tzinfo=UTC),
            source_request_id="r-0",
            stream=askonce.BodyShape.JSON,
            contains_tool_calls=True,
            usage=askonce.Usage(3, 4),
            evidence=askonce.Evidence(vote=0.9, cut=0.8, labels=7, wrong=1, upper_bound=0.2),
            cost_avoided_usd=0.01,
            body=askonce.Body(b'{"cached":1}', "application/json"),
        ),
    )
    assert client.lookup(CHAT) == want


def test_a_miss_is_read_whole(client, script):
    script.decide(miss(b"t", lease_holder=True, deny_reason="DENY_REASON_EXPIRED", shadow=True))
    decision = client.lookup(CHAT)
    assert decision == askonce.Decision(
        outcome=askonce.Outcome.MISS,
        store_answer=True,
        fill_token=b"t",
        lease_holder=True,
        deny_reason=askonce.DenyReason.EXPIRED,
        shadow=True,
    )


def test_what_was_not_said_is_none_and_not_zero(client, script):
    script.decide(hit())
    decision = client.lookup(CHAT)
    candidate = decision.candidate
    assert (candidate.similarity, candidate.threshold, candidate.low_threshold) == (None, None, None)
    assert (candidate.age, candidate.ttl_left, candidate.cost_avoided_usd, candidate.usage) == (None,) * 4
    assert (decision.embed_cost_usd, decision.same_as) == (None, None)


@pytest.mark.parametrize("number", OUTCOMES)
def test_only_the_outcome_hit_is_a_hit_and_only_a_miss_may_be_stored(client, script, number):
    decision = hit(store_answer=True, fill_token=b"t", lease_holder=True)
    decision.outcome = number
    script.decide(decision)
    read = client.lookup(CHAT)
    assert read.hit == (number == 1)
    assert (read.body is not None) == (number == 1)
    assert read.outcome is (askonce.Outcome(number) if number in {1, 2} else askonce.Outcome.BYPASS)
    if number not in {1, 2}:
        assert (read.store_answer, read.fill_token, read.lease_holder) == (False, b"", False)
        assert read.bypass_reason is askonce.BypassReason.UNKNOWN


def test_numbers_that_this_client_does_not_know_read_as_unknown(client, script):
    decision = miss(skipped=[{"matcher": 77, "reason": 77}])
    decision.kind = decision.bypass_reason = decision.deny_reason = 77
    decision.candidate.zone = decision.candidate.stream = 77
    script.decide(decision)
    read = client.lookup(CHAT)
    assert read.outcome is askonce.Outcome.MISS
    assert (read.kind, read.skipped[0].matcher) == (askonce.MatchKind.UNKNOWN,) * 2
    assert (read.bypass_reason, read.skipped[0].reason) == (askonce.BypassReason.UNKNOWN,) * 2
    assert read.deny_reason is askonce.DenyReason.UNKNOWN
    assert read.candidate.zone is askonce.Zone.UNKNOWN
    assert read.candidate.stream is askonce.BodyShape.UNKNOWN


@pytest.mark.parametrize("number", [0, 3, 99])
def test_an_unknown_store_outcome_is_not_stored(client, script, number):
    script.handlers["Store"] = lambda request, context: pb.StoreResponse(outcome=number, refusal_reason=99)
    result = client.store(b"t", ANSWER)
    assert (result.stored, result.outcome) == (False, askonce.StoreOutcome.REFUSED)
    assert result.refusal_reason is askonce.RefusalReason.UNKNOWN


def test_a_hit_without_a_body_is_no_hit(client, script):
    decision = hit()
    decision.candidate.ClearField("body")
    script.decide(decision)
    read = client.lookup(CHAT)
    assert (read.hit, read.outcome, read.body) == (False, askonce.Outcome.BYPASS, None)
    assert isinstance(read.error, askonce.SidecarFailed)
    assert client.lookup(CHAT, omit_body=True).hit
    assert client.lookup(CHAT, omit_body=True).body is None


def test_a_hit_without_a_candidate_is_no_hit(client, script):
    script.decide(decision_pb2.Decision(outcome="OUTCOME_HIT"))
    assert not client.lookup(CHAT).hit


def test_an_empty_body_that_is_there_is_served(client, script):
    script.decide(hit(b""))
    assert (client.lookup(CHAT).hit, client.lookup(CHAT).body) == (True, b"")


def test_a_hit_of_a_rule_that_only_watches_is_no_hit(client, script):
    script.decide(hit(shadow=True))
    read = client.lookup(CHAT)
    assert (read.hit, read.body, read.outcome) == (False, None, askonce.Outcome.BYPASS)


def test_an_answer_without_a_decision_is_a_bypass(client, script):
    script.handlers["Lookup"] = lambda request, context: pb.LookupResponse()
    read = client.lookup(CHAT)
    assert (read.outcome, read.error) == (askonce.Outcome.BYPASS, None)


@pytest.mark.parametrize("field", ["age", "ttl_left", "store_time", "expire_time"])
def test_times_beyond_all_calendars_cost_a_bypass_and_no_exception(client, script, field):
    decision = hit()
    getattr(decision.candidate, field).seconds = 1 << 62
    script.decide(decision)
    read = client.lookup(CHAT)
    assert (read.hit, read.bypass_reason) == (False, askonce.BypassReason.CLIENT_FAULT)


def test_a_decision_made_by_hand_is_a_hit_only_with_a_body():
    assert not askonce.Decision(outcome=askonce.Outcome.HIT).hit
    assert askonce.Decision(outcome=askonce.Outcome.HIT, body_omitted=True).hit


def test_no_result_shows_content_tokens_or_bodies_in_its_repr(client, script):
    script.decide(hit(b"SECRET", fill_token=b"SECRET", feedback_token=b"SECRET"))
    descriptor = askonce.Descriptor(
        dialect="openai",
        endpoint="chat",
        content=askonce.Content(
            messages=["SECRET"], system="SECRET", tools=["SECRET"], params={"a": "SECRET"}
        ),
        scope={"user": "SECRET"},
        headers={"authorization": "SECRET"},
    )
    things = [
        client.lookup(CHAT),
        askonce.Lookup(descriptor),
        askonce.Descriptor.openai_chat({"messages": "SECRET"}, served=askonce.Target("a", "b")),
        askonce.Store(b"SECRET", askonce.UpstreamResponse(body=b"SECRET", status_code=200)),
    ]
    assert all("SECRET" not in repr(thing) for thing in things)


def test_enums_print_as_their_names():
    assert f"{askonce.BypassReason.SCOPE_MISSING} {askonce.Outcome.HIT:>5}" == "scope_missing   hit"
    assert str(askonce.RefusalReason.NOTHING_TO_FILL) == "nothing_to_fill"
    assert askonce.BypassReason.SCOPE_MISSING == 4
    assert not askonce.BypassReason.NONE


def _names(prefix: str, values) -> dict[str, int]:
    return {name.removeprefix(prefix): number for name, number in values.items() if number}


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (enums.Outcome, decision_pb2.Outcome),
        (enums.MatchKind, decision_pb2.MatchKind),
        (enums.Zone, decision_pb2.Zone),
        (enums.BodyShape, decision_pb2.BodyShape),
        (enums.BypassReason, reason_pb2.BypassReason),
        (enums.DenyReason, reason_pb2.DenyReason),
        (enums.RefusalReason, reason_pb2.RefusalReason),
        (enums.CacheMode, pb.CacheMode),
        (enums.StoreOutcome, pb.StoreOutcome),
        (enums.Verdict, pb.Verdict),
    ],
)
def test_the_enums_are_those_of_the_contract(ours, theirs):
    [zero] = [name for name, number in theirs.items() if number == 0]
    want = _names(zero.removesuffix("UNSPECIFIED"), theirs)
    assert {member.name: member.value for member in ours if member.value > 0} == want


@pytest.mark.parametrize(
    ("ours", "theirs", "own"),
    [
        (askonce.Decision, decision_pb2.Decision, {"error", "body_omitted"}),
        (askonce.Candidate, decision_pb2.Candidate, set()),
        (askonce.Evidence, decision_pb2.Evidence, set()),
        (askonce.Usage, decision_pb2.Usage, set()),
        (askonce.Body, decision_pb2.Body, set()),
        (askonce.SkippedMatcher, decision_pb2.SkippedMatcher, set()),
        (askonce.TraceStep, decision_pb2.TraceStep, set()),
        (askonce.StoreResult, pb.StoreResponse, {"error"}),
        (askonce.StoredEntry, pb.StoredEntry, set()),
        (askonce.UpstreamResponse, pb.UpstreamResponse, set()),
        (askonce.Controls, pb.Controls, set()),
    ],
)
def test_no_field_of_the_contract_is_forgotten(ours, theirs, own):
    names = {field.name for field in dataclasses.fields(ours)}
    assert names - own == set(theirs.DESCRIPTOR.fields_by_name)
    assert own <= names


def test_no_field_of_a_request_is_forgotten():
    lookup = {field.name for field in dataclasses.fields(askonce.Lookup)}
    assert lookup | {"budget"} == set(pb.LookupRequest.DESCRIPTOR.fields_by_name)
    descriptor = {field.name for field in dataclasses.fields(askonce.Descriptor)}
    wire = set(CHAT_FIELDS) - {"parts", "body_json", "digests"}
    assert descriptor - {"content"} == wire


CHAT_FIELDS = pb.LookupRequest.DESCRIPTOR.fields_by_name["descriptor"].message_type.fields_by_name
