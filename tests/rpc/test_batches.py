"""Batches: order kept, each item by itself, twins told, bodies bounded, and the same answers as alone."""

from __future__ import annotations

import random

import grpc
import pytest

from askonce.v1 import decision_pb2, decision_service_pb2
from rpc.answers import answer, chat_body, storing
from rpc.harness import DEADLINE_SECONDS, running
from rpc.replies import filed, malformed, outcome, refused, verdict
from rpc.requests import describe, request, seconds, target, turns

INVALID_ARGUMENT = grpc.StatusCode.INVALID_ARGUMENT.value[0]
RESOURCE_EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]


def numbered(tenant: str, count: int, **changes):
    return [describe(tenant, turns(f"question {at}"), **changes) for at in range(count)]


def test_results_keep_the_order_of_the_items(gateway, tenant):
    asked = numbered(tenant, 40)
    for at in range(0, 40, 3):
        gateway.store(asked[at], answer(f"answer {at}"))
    results = gateway.ask_all(asked)
    for at, result in enumerate(results):
        assert result.WhichOneof("result") == "decision"
        assert outcome(result.decision) == ("hit" if at % 3 == 0 else "miss")
        if at % 3 == 0:
            assert result.decision.candidate.body.data == chat_body(f"answer {at}")


@pytest.mark.parametrize(
    ("count", "taken"), [(0, False), (1, True), (256, True), (257, False), (5000, False)]
)
def test_a_batch_has_1_to_256_items(gateway, tenant, count, taken):
    lookups = [request(one) for one in numbered(tenant, count)]
    stores = [storing(one, answer()) for one in numbered(tenant, count)]
    if taken:
        assert len(gateway.ask_all(lookups)) == count
        assert len(gateway.store_all(stores)) == count
        return
    for call in (lambda: gateway.ask_all(lookups), lambda: gateway.store_all(stores)):
        found = malformed(call)
        assert set(found) == {"items"}
        assert f"has {count} items" in found["items"]


def test_a_bad_item_leaves_the_others_alone(gateway, tenant):
    gateway.fill(describe(tenant))
    bad = describe(tenant, dialect="", stream=None)
    results = gateway.ask_all([describe(tenant), bad, describe("")])
    assert verdict(results[0].decision) == "hit exact"
    assert results[1].error.code == INVALID_ARGUMENT
    assert results[1].error.reason == "MALFORMED_REQUEST"
    fields = {violation.field for violation in results[1].error.violations}
    assert fields == {"descriptor.dialect", "descriptor.stream"}
    assert all(violation.description for violation in results[1].error.violations)
    assert "descriptor.dialect" in results[1].error.message
    assert verdict(results[2].decision) == "bypass scope_missing"


def test_an_item_s_error_is_that_of_the_single_call(gateway, tenant):
    for bad in (
        describe(tenant, dialect=""),
        describe(tenant, served=target("", "")),
        describe(tenant, stream=None),
    ):
        alone = refused(lambda bad=bad: gateway.ask(bad))
        error = gateway.ask_all([bad])[0].error
        assert (error.code, error.message) == (alone.code.value[0], alone.message)
        assert error.reason == alone.info.reason
        assert {v.field: v.description for v in error.violations} == alone.violations


def comparable(decision):
    """A decision without what differs from call to call."""
    plain = decision_pb2.Decision()
    plain.CopyFrom(decision)
    for name in ("decision_id", "fill_token"):
        plain.ClearField(name)
    plain.candidate.ClearField("age")
    plain.candidate.ClearField("ttl_left")
    plain.cache_status = plain.cache_status.partition("ttl=")[0]
    return plain


def test_a_batch_and_single_calls_agree(gateway, tenant):
    asked = [
        *numbered(tenant, 5),
        describe(tenant, turns("wide  apart")),
        describe(tenant, turns("wide apart")),
        describe(tenant, stream=True),
        describe(""),
        describe(tenant, params={}),
        describe(tenant, attributes={"rule": "shadow"}),
        describe(tenant, attributes={"rule": "off"}),
        describe(tenant, turns("```\na  b\n```")),
    ]
    for at in (0, 2, 5, 10):
        gateway.store(asked[at])
    together = gateway.ask_all(asked)
    for one, result in zip(asked, together, strict=True):
        alone = gateway.ask(one)
        assert comparable(result.decision) == comparable(alone)
        assert bool(result.decision.fill_token) == bool(alone.fill_token)
    wants = {"hit exact", "hit normalized", "miss", "bypass scope_missing", "bypass sampled_request"}
    assert {verdict(result.decision) for result in together} == wants | {"bypass disabled"}


def test_a_twin_points_at_its_first_and_carries_nothing_of_its_own(gateway, tenant):
    hit, miss = describe(tenant, turns("known")), describe(tenant, turns("unknown"))
    gateway.fill(hit)
    results = [result.decision for result in gateway.ask_all([miss, hit, miss, hit, hit])]
    assert [d.same_as if d.HasField("same_as") else None for d in results] == [None, None, 0, 1, 1]
    assert [outcome(d) for d in results] == ["miss", "hit", "miss", "hit", "hit"]
    assert [bool(d.candidate.body.data) for d in results] == [False, True, False, False, False]
    assert [bool(d.fill_token) for d in results] == [True, False, False, False, False]
    assert [d.store_answer for d in results] == [True, False, False, False, False]
    assert results[3].candidate.entry_id == results[1].candidate.entry_id


def test_spellings_of_one_request_are_twins(gateway, tenant):
    one = describe(tenant, params=b'{"temperature":0,"n":1}')
    other = describe(tenant, params=b'{ "n":1.0, "temperature":0e1 }')
    results = gateway.ask_all([one, other])
    assert results[1].decision.same_as == 0
    assert results[1].decision.HasField("same_as")


@pytest.mark.parametrize(
    "changes",
    [
        {"namespace": "n"},
        {"mode": 3},
        {"omit_body": True},
        {"after_upstream_error": True},
        {"max_age": None},
        {"logging_disabled": True},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_who_asks_for_something_else_is_no_twin(gateway, tenant, changes):
    changes = {name: seconds(5) if value is None else value for name, value in changes.items()}
    results = gateway.ask_all([request(describe(tenant)), request(describe(tenant), **changes)])
    assert not any(result.decision.HasField("same_as") for result in results)


def test_other_scopes_and_shapes_are_no_twins(gateway, tenant):
    asked = [
        describe(tenant),
        describe(f"{tenant}b"),
        describe(tenant, stream=True),
        describe(tenant, turns("x")),
    ]
    assert not any(result.decision.HasField("same_as") for result in gateway.ask_all(asked))


def test_where_shapes_share_entries_one_who_wants_a_stream_is_no_twin_of_one_who_does_not(gateway, tenant):
    document = describe(tenant, attributes={"rule": "shapes"})
    stream = describe(tenant, stream=True, attributes={"rule": "shapes"})
    gateway.fill(document)
    decisions = [result.decision for result in gateway.ask_all([document, stream])]
    assert [verdict(decision) for decision in decisions] == ["hit exact", "miss stream_shape"]
    assert not decisions[1].HasField("same_as")


def test_what_bypasses_has_no_twin(gateway):
    results = gateway.ask_all([describe(""), describe("")])
    assert not any(result.decision.HasField("same_as") for result in results)


@pytest.fixture(scope="module")
def small():
    """A sidecar whose answers may have 64 KiB."""
    with running(max_response="64KiB", max_request="256KiB") as server:
        yield server.gateway


def test_bodies_stop_at_max_response_and_the_rest_is_asked_for_singly(small):
    asked = numbered("cut", 10)
    for at, one in enumerate(asked):
        small.store(one, answer(bytes([65 + at]) * 20_000))
    results = small.ask_all([*asked, asked[0], asked[9]])
    assert [result.WhichOneof("result") for result in results[:4]] == ["decision"] * 3 + ["error"]
    for result in results[3:10]:
        assert result.error.code == RESOURCE_EXHAUSTED
        assert result.error.reason == "TOO_LARGE"
        assert "80000" in result.error.message
        assert "65536" in result.error.message
    assert results[10].decision.same_as == 0
    assert results[11].error.code == RESOURCE_EXHAUSTED, "a twin of what was left out is left out"
    for at in range(3, 10):
        assert small.ask(asked[at]).candidate.body.data == bytes([65 + at]) * 20_000


def test_what_still_fits_after_a_large_body_was_left_out_is_given(small):
    sizes = (40_000, 40_000, 20_000, 5_000)
    asked = numbered("fits", len(sizes))
    for one, size in zip(asked, sizes, strict=True):
        small.store(one, answer(b"x" * size))
    results = small.ask_all(asked)
    assert [result.WhichOneof("result") for result in results] == [
        "decision",
        "error",
        "decision",
        "decision",
    ]


def test_bodies_that_were_not_asked_for_take_no_room(small):
    asked = numbered("omitted", 10)
    for one in asked:
        small.store(one, answer(b"x" * 20_000))
    results = small.ask_all([request(one, omit_body=True) for one in asked])
    assert {verdict(result.decision) for result in results} == {"hit exact"}


def test_stores_by_token_are_filed_by_token_and_not_by_place(gateway, tenant):
    asked = numbered(tenant, 50)
    tokens = {at: result.decision.fill_token for at, result in enumerate(gateway.ask_all(asked))}
    order = list(tokens)
    random.Random(7).shuffle(order)
    results = gateway.store_all([storing(tokens[at], answer(f"answer {at}")) for at in order])
    assert [filed(result.response) for result in results] == ["stored"] * 50
    for at, result in enumerate(gateway.ask_all(asked)):
        assert result.decision.candidate.body.data == chat_body(f"answer {at}")
    entries = {at: result.response.entries[0].entry_id for at, result in zip(order, results, strict=True)}
    for at, result in enumerate(gateway.ask_all(asked)):
        assert result.decision.candidate.entry_id == entries[at]


def test_the_last_of_several_stores_of_one_request_wins(gateway, tenant):
    token = gateway.ask(describe(tenant)).fill_token
    results = gateway.store_all([storing(token, answer(f"answer {at}")) for at in range(5)])
    assert [filed(result.response) for result in results] == ["stored"] * 5
    assert gateway.ask(describe(tenant)).candidate.body.data == chat_body("answer 4")


def test_each_store_of_a_batch_has_its_own_response_or_error(gateway, tenant):
    token = gateway.ask(describe(tenant)).fill_token
    items = [
        storing(token, answer()),
        storing(b"forged", answer()),
        storing(describe(f"{tenant}2", dialect=""), answer()),
        storing(describe(f"{tenant}3"), answer(status_code=500)),
        decision_service_pb2.StoreRequest(),
    ]
    results = gateway.store_all(items)
    assert filed(results[0].response) == "stored"
    assert [results[at].error.code for at in (1, 2, 4)] == [INVALID_ARGUMENT] * 3
    assert [v.field for v in results[1].error.violations] == ["fill_token"]
    assert filed(results[3].response) == "upstream_error"


def test_every_item_of_a_batch_is_counted_once(start):
    server = start()
    asked = [*numbered("t", 3), describe(""), describe("t", turns("question 0")), describe("t", dialect="")]
    server.gateway.store(asked[1])
    server.gateway.ask_all(asked)
    stats = server.stats()
    assert (stats.decisions, stats.hits, stats.misses, stats.bypasses) == (5, 1, 3, 1)


def test_a_batch_is_one_commit(start):
    server = start()
    before = server.stats().commits
    server.gateway.store_all([storing(one, answer()) for one in numbered("t", 100)])
    stats = server.stats()
    assert (stats.commits - before, stats.stores) == (1, 100)


def test_an_unreadable_batch_is_refused_whole(gateway):
    call = decision_service_pb2.BatchLookupRequest(items=[decision_service_pb2.LookupRequest()])
    results = gateway.stub.BatchLookup(call, timeout=DEADLINE_SECONDS).results
    assert results[0].error.code == INVALID_ARGUMENT


def test_what_was_left_out_of_a_batch_is_counted_when_it_is_asked_for_singly(start):
    """An item that became an error was no decision."""
    server = start(max_response="64KiB", max_request="256KiB")
    asked = numbered("counted", 5)
    for one in asked:
        server.gateway.store(one, answer(b"x" * 40_000))
    cut = server.gateway.ask_all([*asked, asked[4], describe("new")])
    assert [result.WhichOneof("result") for result in cut] == ["decision", *["error"] * 5, "decision"]
    stats = server.stats()
    assert (stats.decisions, stats.hits, stats.misses) == (2, 1, 1)
    for one in asked[1:]:
        server.gateway.ask(one)
    stats = server.stats()
    assert (stats.decisions, stats.hits, stats.misses) == (6, 5, 1)


def test_a_stale_answer_that_was_left_out_of_a_batch_is_refreshed_by_who_asks_again(start, clock):
    rule = {"id": "only", "ttl": "10s", "stale_while_revalidate": "1h"}
    server = start(max_response="64KiB", max_request="256KiB", rules=[rule])
    asked = numbered("stale", 2)
    for one in asked:
        server.gateway.store(one, answer(b"x" * 40_000))
    clock.advance(11_000)
    kept, cut = server.gateway.ask_all(asked)
    assert (kept.decision.stale, kept.decision.lease_holder) == (True, True)
    assert cut.HasField("error")
    again = server.gateway.ask(asked[1])
    assert (again.stale, again.lease_holder) == (True, True)
