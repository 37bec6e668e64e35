"""How long answers are served: strictly less than their ttl, by a clock that no jump can move."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from rpc.answers import answer, storing
from rpc.harness import Place, Running, short_folder
from rpc.replies import filed, malformed, verdict
from rpc.requests import describe, seconds

TTL = {"attributes": {"rule": "ttl"}}
RULE = {"ttl": "100s", "min_ttl": "10s", "max_ttl": "200s"}


@pytest.fixture
def server(start, clock):
    """A sidecar of its own whose clock the test moves."""
    return start(rules=[{"id": "only", **RULE}])


@pytest.fixture
def gateway(server):
    return server.gateway


def milliseconds(duration: Any) -> int:
    return duration.ToMilliseconds()


def test_an_answer_is_served_while_it_is_younger_than_its_ttl(gateway, clock):
    gateway.store(describe(), ttl=seconds(10))
    clock.advance(9_999)
    assert verdict(gateway.ask(describe())) == "hit exact"
    clock.advance(1)
    decision = gateway.ask(describe())
    assert verdict(decision) == "miss expired"
    assert decision.store_answer
    assert decision.fill_token
    assert not decision.candidate.HasField("body")


def test_a_hit_does_not_extend_the_ttl(gateway, clock):
    gateway.store(describe(), ttl=seconds(10))
    for step in (4_000, 4_000):
        clock.advance(step)
        assert verdict(gateway.ask(describe())) == "hit exact"
    clock.advance(3_000)
    assert verdict(gateway.ask(describe())) == "miss expired"


def test_a_later_store_brings_its_own_ttl(gateway, clock):
    gateway.store(describe(), ttl=seconds(10))
    clock.advance(5_000)
    gateway.store(describe(), ttl=seconds(100))
    clock.advance(6_000)
    assert verdict(gateway.ask(describe())) == "hit exact"
    gateway.store(describe(), ttl=seconds(10))
    clock.advance(10_000)
    assert verdict(gateway.ask(describe())) == "miss expired"


def test_the_ttl_is_the_store_s_else_the_lookup_s_else_the_rule_s(gateway, clock):
    for ttls, lasts in (
        ({"store": 20, "lookup": 50}, 20),
        ({"lookup": 50}, 50),
        ({}, 100),
    ):
        asked = describe(f"tenant-{lasts}")
        wish = {"ttl": seconds(ttls["lookup"])} if "lookup" in ttls else {}
        token = gateway.ask(asked, **wish).fill_token
        stored = gateway.store(token, ttl=seconds(ttls["store"]) if "store" in ttls else None)
        assert filed(stored) == "stored"
        assert stored.expire_time.ToMilliseconds() == clock.now_ms() + lasts * 1000
        assert milliseconds(gateway.ask(asked).candidate.ttl_left) == lasts * 1000


@pytest.mark.parametrize(
    ("ttl", "allowed"),
    [(9.999, False), (10, True), (200, True), (200.001, False), (0.0005, False), (1e9, False)],
)
def test_a_ttl_outside_the_rule_s_bounds_is_refused_and_not_clamped(gateway, ttl, allowed):
    if allowed:
        decision = gateway.ask(describe(), ttl=seconds(ttl))
        assert verdict(decision) == "miss"
        assert filed(gateway.store(decision.fill_token, ttl=seconds(ttl))) == "stored"
        return
    found = malformed(lambda: gateway.ask(describe(), ttl=seconds(ttl)))
    assert set(found) == {"controls.ttl"}
    assert "10s to 200s" in found["controls.ttl"]
    token = gateway.ask(describe()).fill_token
    assert set(malformed(lambda: gateway.store(token, ttl=seconds(ttl)))) == {"ttl"}
    assert set(malformed(lambda: gateway.store(describe(), ttl=seconds(ttl)))) == {"ttl"}
    assert verdict(gateway.ask(describe())) == "miss"


def test_each_store_of_a_batch_has_its_own_ttl(gateway, clock):
    items = [storing(describe(f"t{ttl}"), answer(), ttl=seconds(ttl)) for ttl in (10, 20, 30)]
    items.append(storing(describe("too-short"), answer(), ttl=seconds(1)))
    results = gateway.store_all(items)
    assert [filed(result.response) for result in results[:3]] == ["stored"] * 3
    assert results[3].error.code == 3
    assert [violation.field for violation in results[3].error.violations] == ["ttl"]
    clock.advance(15_000)
    found = [verdict(gateway.ask(describe(f"t{ttl}"))) for ttl in (10, 20, 30)]
    assert found == ["miss expired", "hit exact", "hit exact"]


def test_age_counts_from_the_start_of_the_request_that_was_answered(gateway, clock):
    start = Timestamp()
    start.FromMilliseconds(clock.now_ms() - 60_000)
    gateway.store(describe(), answer(request_start_time=start))
    found = gateway.ask(describe()).candidate
    assert milliseconds(found.age) == 60_000
    assert milliseconds(found.ttl_left) == 40_000
    assert found.store_time.ToMilliseconds() == clock.now_ms()
    assert found.expire_time.ToMilliseconds() == clock.now_ms() + 40_000
    clock.advance(40_000)
    assert verdict(gateway.ask(describe())) == "miss expired"


def test_age_counts_from_the_lookup_where_nothing_else_is_said(gateway, clock):
    token = gateway.ask(describe()).fill_token
    clock.advance(30_000)
    gateway.store(token)
    clock.advance(1_000)
    assert milliseconds(gateway.ask(describe()).candidate.age) == 31_000


def test_a_start_in_the_future_counts_as_now(gateway, clock):
    start = Timestamp()
    start.FromMilliseconds(clock.now_ms() + 86_400_000)
    stored = gateway.store(describe(), answer(request_start_time=start))
    assert stored.expire_time.ToMilliseconds() == clock.now_ms() + 100_000
    assert milliseconds(gateway.ask(describe()).candidate.age) == 0


@pytest.mark.parametrize(
    ("age", "controls", "said"),
    [
        (5, {"max_age": 5}, "hit exact"),
        (5.001, {"max_age": 5}, "miss too_old"),
        (0, {"max_age": 0}, "hit exact"),
        (0.001, {"max_age": 0}, "miss too_old"),
        (40, {"min_fresh": 60}, "hit exact"),
        (40.001, {"min_fresh": 60}, "miss too_old"),
        (99.999, {"min_fresh": 0}, "hit exact"),
        (100, {"max_age": 5}, "miss expired"),
        (100, {"max_stale": 3600}, "miss expired"),
        (50, {"max_age": 1000, "min_fresh": 10}, "hit exact"),
    ],
)
def test_a_caller_may_ask_for_fresher_answers_and_not_for_staler(gateway, clock, age, controls, said):
    gateway.store(describe())
    clock.advance(round(age * 1000))
    wishes = {name: seconds(value) for name, value in controls.items()}
    decision = gateway.ask(describe(), **wishes)
    assert verdict(decision) == said
    assert decision.candidate.entry_id
    if said != "hit exact":
        assert not decision.candidate.HasField("body")
        assert decision.fill_token


def test_the_exact_answer_expired_leaves_the_normalized_one(gateway, clock):
    spaced = describe(messages=[{"role": "user", "content": "a  b"}])
    plain = describe(messages=[{"role": "user", "content": "a b"}])
    gateway.store(spaced, ttl=seconds(10))
    clock.advance(5_000)
    gateway.store(plain, answer("newer"), ttl=seconds(100))
    clock.advance(6_000)
    decision = gateway.ask(spaced)
    assert verdict(decision) == "hit normalized"
    assert decision.deny_reason == 0


def test_after_expiry_a_new_answer_is_served(gateway, clock):
    gateway.store(describe(), answer("old"))
    clock.advance(100_000)
    decision = gateway.ask(describe())
    gateway.store(decision.fill_token, answer("new"))
    found = gateway.ask(describe())
    assert verdict(found) == "hit exact"
    assert b"new" in found.candidate.body.data


def test_a_token_is_good_for_an_hour_strictly(start, clock):
    gateway = start(rules=[{"id": "long", "ttl": "2h"}]).gateway
    one, other = gateway.ask(describe("a")), gateway.ask(describe("b"))
    clock.advance(3_599_999)
    assert filed(gateway.store(one.fill_token)) == "stored"
    clock.advance(1)
    assert filed(gateway.store(other.fill_token)) == "token_expired"


def test_an_answer_whose_time_was_over_when_it_came_is_not_served(gateway, clock):
    token = gateway.ask(describe()).fill_token
    clock.advance(100_000)
    assert filed(gateway.store(token)) == "expired"
    assert verdict(gateway.ask(describe())) == "miss"


@pytest.mark.parametrize("jump", [-3600, 3600])
@pytest.mark.parametrize("restarted", [False, True], ids=["running", "restarted"])
def test_a_jump_of_the_wall_clock_neither_expires_nor_revives(monkeypatch, jump, restarted):
    """Real clocks: the wall clock alone is moved, as an operator or NTP would."""
    with ExitStack() as stack:
        folder = stack.enter_context(short_folder())
        server = Running(Place(folder, rules=[{"id": "only", **RULE}]))
        stack.callback(server.stop)
        server.gateway.store(describe(), ttl=seconds(100))
        real = time.time_ns
        monkeypatch.setattr(time, "time_ns", lambda: real() + jump * 1_000_000_000)
        if restarted:
            server.stop()
            server = Running(Place(folder, rules=[{"id": "only", **RULE}]))
            stack.callback(server.stop)
        found = server.gateway.ask(describe())
        assert verdict(found) == "hit exact"
        assert 0 <= milliseconds(found.candidate.age) < 60_000
        assert milliseconds(found.candidate.age) + milliseconds(found.candidate.ttl_left) == 100_000
        stored = server.gateway.store(describe("later"), ttl=seconds(100))
        assert abs(stored.expire_time.ToMilliseconds() - (real() // 1_000_000 + 100_000)) < 60_000
