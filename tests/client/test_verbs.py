"""Every verb of both clients, over a socket and over TCP."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

import askonce
from askonce.v1 import decision_pb2
from askonce.v1 import decision_service_pb2 as pb
from client.scripted import ANSWER, BODY, CHAT, GPT, hit, miss, serving


def test_lookup_store_lookup_over_either_listener(connect, address):
    with serving(address) as sidecar:
        sidecar.script.decide(miss(b"fill"))
        client = connect(sidecar.target)

        first = client.lookup(CHAT)
        assert (first.hit, first.outcome, first.body) == (False, askonce.Outcome.MISS, None)
        assert first.store_answer
        assert client.store(first, ANSWER).stored
        assert sidecar.script.last().fill_token == b"fill"

        sidecar.script.decide(hit(b'{"cached":1}'))
        second = client.lookup(CHAT)
        assert (second.hit, second.body, second.content_type) == (True, b'{"cached":1}', "application/json")
        assert second.kind is askonce.MatchKind.EXACT
        assert second.error is None


def test_a_lookup_says_all_that_it_was_given(client, script):
    controls = askonce.Controls(
        mode=askonce.CacheMode.REFRESH,
        ttl=timedelta(minutes=5),
        namespace="eu",
        max_age=1.5,
        min_fresh=2,
        max_stale=timedelta(0),
        logging_disabled=True,
    )
    client.lookup(
        CHAT,
        controls=controls,
        budget=2.25,
        wait_for_fill=timedelta(seconds=1),
        omit_body=True,
        accepts=[askonce.BodyShape.STREAM, askonce.BodyShape.JSON],
        after_upstream_error=True,
        trace=True,
        anchor=True,
        request_id="r-1",
        metadata=[("traceparent", "00-aa-bb-01")],
    )

    request = script.last()
    assert request.controls == pb.Controls(
        mode="CACHE_MODE_REFRESH",
        ttl={"seconds": 300},
        namespace="eu",
        max_age={"seconds": 1, "nanos": 500_000_000},
        min_fresh={"seconds": 2},
        max_stale={},
        logging_disabled=True,
    )
    assert request.budget.ToTimedelta() == timedelta(seconds=3.25)
    assert request.wait_for_fill.ToTimedelta() == timedelta(seconds=1)
    assert list(request.accepts) == [decision_pb2.BODY_SHAPE_STREAM, decision_pb2.BODY_SHAPE_JSON]
    assert (request.omit_body, request.after_upstream_error, request.trace, request.anchor) == (True,) * 4
    assert request.request_id == "r-1"
    assert script.received[-1].metadata["traceparent"] == "00-aa-bb-01"


def test_a_lookup_object_can_be_asked_and_overridden(client, script):
    client.lookup(askonce.Lookup(CHAT, trace=True, request_id="a"), request_id="b")
    assert (script.last().trace, script.last().request_id) == (True, "b")


def test_the_deadline_on_the_wire_is_the_budget(client, script):
    left = []

    def handler(request, context):
        left.append(context.time_remaining())
        return pb.LookupResponse(decision=hit())

    script.handlers["Lookup"] = handler
    client.lookup(CHAT, budget=4)
    assert 3 < left[0] < 4.1  # the header rounds up
    assert script.last().budget.ToTimedelta() == timedelta(seconds=4)


def test_a_unix_socket_is_called_by_a_plain_authority(connect, sockets):
    with serving(f"unix://{sockets}/s.sock") as sidecar:
        seen = []

        def handler(request, context):
            seen.append(context._rpc_event.call_details.host)
            return pb.LookupResponse(decision=hit())

        sidecar.script.handlers["Lookup"] = handler
        assert connect(sidecar.target).lookup(CHAT).hit
        assert seen == [b"localhost"]


def test_store_says_all_that_it_was_given(client, script):
    began = datetime(2026, 3, 1, 12, 0, 0, 250_000, tzinfo=UTC)
    response = askonce.UpstreamResponse(
        body=b"{}",
        content_type="text/event-stream",
        status_code=201,
        finish_reasons=("stop", "length"),
        stream_complete=True,
        usage=askonce.Usage(3, 4),
        cost_usd=0.0,
        contains_tool_calls=True,
        refused=True,
        output_guardrail_modified=True,
        guardrail_failed_open=True,
        cacheable=False,
        served=askonce.Target("azure-eu", "gpt-4o"),
        fallback_used=True,
        source_request_id="r-2",
        request_start_time=began,
    )
    client.store(b"tok", response, ttl=timedelta(milliseconds=1500), logging_disabled=True, timeout=3)

    want = pb.StoreRequest(
        fill_token=b"tok",
        ttl={"seconds": 1, "nanos": 500_000_000},
        logging_disabled=True,
        response=pb.UpstreamResponse(
            body=b"{}",
            content_type="text/event-stream",
            status_code=201,
            finish_reasons=["stop", "length"],
            stream_complete=True,
            usage={"input_tokens": 3, "output_tokens": 4},
            cost_usd=0.0,
            contains_tool_calls=True,
            refused=True,
            output_guardrail_modified=True,
            guardrail_failed_open=True,
            cacheable=False,
            served={"provider": "azure-eu", "model": "gpt-4o"},
            fallback_used=True,
            source_request_id="r-2",
            request_start_time={"seconds": 1772366400, "nanos": 250_000_000},
        ),
    )
    assert script.last() == want


def test_store_by_descriptor_files_what_a_lookup_would_find(client, script):
    client.lookup(CHAT)
    looked_up = script.last().descriptor
    client.store(CHAT, ANSWER, namespace="eu")
    assert script.last().descriptor == looked_up
    assert script.last().namespace == "eu"
    response = script.last().response
    assert not response.HasField("cost_usd")
    assert not response.HasField("cacheable")
    assert not response.HasField("usage")


def test_store_reads_the_whole_response(client, script):
    script.handlers["Store"] = lambda request, context: pb.StoreResponse(
        outcome="STORE_OUTCOME_STORED",
        entries=[{"kind": "MATCH_KIND_EXACT", "entry_id": "ab" * 32}],
        expire_time={"seconds": 1772366400},
        cache_status="askonce; fwd=miss; stored",
    )
    assert client.store(b"tok", ANSWER) == askonce.StoreResult(
        outcome=askonce.StoreOutcome.STORED,
        entries=(askonce.StoredEntry(askonce.MatchKind.EXACT, "ab" * 32),),
        expire_time=datetime(2026, 3, 1, 12, tzinfo=UTC),
        cache_status="askonce; fwd=miss; stored",
    )


def test_a_refused_store_says_why(client, script):
    script.handlers["Store"] = lambda request, context: pb.StoreResponse(
        outcome="STORE_OUTCOME_REFUSED", refusal_reason="REFUSAL_REASON_TRUNCATED"
    )
    result = client.store(b"tok", ANSWER)
    assert (result.stored, result.refusal_reason) == (False, askonce.RefusalReason.TRUNCATED)
    assert result.error is None


@pytest.mark.parametrize("decision", [hit(), decision_pb2.Decision(outcome="OUTCOME_BYPASS")])
def test_storing_after_a_decision_that_asked_for_none_makes_no_call(client, script, decision):
    script.decide(decision)
    result = client.store(client.lookup(CHAT), ANSWER)
    assert result.refusal_reason is askonce.RefusalReason.NOTHING_TO_FILL
    assert result.error is None
    assert [received.method for received in script.received] == ["Lookup"]


def test_abandon_gives_a_lease_back(client, script):
    script.decide(miss(b"fill", lease_holder=True))
    assert client.abandon(client.lookup(CHAT)).released
    assert script.last() == pb.AbandonRequest(fill_token=b"fill")
    assert client.abandon(b"other").released
    assert script.last() == pb.AbandonRequest(fill_token=b"other")


def test_abandoning_what_holds_no_lease_makes_no_call(client, script):
    script.decide(miss())
    assert not client.abandon(client.lookup(CHAT)).released
    assert len(script.received) == 1


def test_feedback_by_decision_token_and_entry(client, script):
    script.decide(hit(feedback_token=b"fb"))
    decision = client.lookup(CHAT)
    assert client.feedback(decision, askonce.Verdict.WRONG, source="user").recorded
    by_token = pb.RecordFeedbackRequest(feedback_token=b"fb", verdict="VERDICT_WRONG", source="user")
    assert script.last() == by_token
    assert client.feedback("ab" * 32, askonce.Verdict.CORRECT).recorded
    assert script.last() == pb.RecordFeedbackRequest(entry_id="ab" * 32, verdict="VERDICT_CORRECT")


def test_bodies_of_eight_megabytes_pass_both_ways(client, script):
    big = b'"' + b"x" * (8 << 20) + b'"'
    script.decide(hit(big))
    decision = client.lookup(askonce.Descriptor.openai_chat(big, served=GPT), budget=20)
    assert decision.body == big
    assert script.last().descriptor.body_json == big


def test_several_channels_are_several_connections(connect, script, sidecar):
    peers = set()

    def handler(request, context):
        peers.add(context.peer())
        return pb.LookupResponse(decision=hit())

    script.handlers["Lookup"] = handler
    with serving("127.0.0.1:0", script) as tcp:
        client = connect(tcp.target, channels=3)
        assert all(client.lookup(CHAT).hit for _ in range(6))
        assert len(peers) == 3


def test_a_sidecar_with_a_socket_per_worker(connect, sockets):
    with serving(f"unix://{sockets}/a") as one, serving(f"unix://{sockets}/b") as two:
        client = connect([one.target, two.target])
        assert all(client.lookup(CHAT).hit for _ in range(4))
        assert [len(one.script.received), len(two.script.received)] == [2, 2]


def test_the_body_is_sent_as_json_whatever_it_was_given_as(client, script):
    for body in (BODY, b'{"a": 1}', '{"a": "\u00e9"}'):
        client.lookup(askonce.Descriptor.openai_chat(body, served=GPT))
    sent = [received.request.descriptor.body_json for received in script.received]
    assert sent[0].startswith(b'{"model":"gpt-4o","temperature":0,')
    assert sent[1:] == [b'{"a": 1}', '{"a": "\u00e9"}'.encode()]
