"""Of callers that miss on one entry at once, one fills it and the others wait: over real gRPC."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest

from askonce.v1 import decision_service_pb2
from rpc.answers import answer, answer_for
from rpc.harness import Gateway, running
from rpc.replies import filed, outcome, verdict
from rpc.requests import describe, request, seconds, turns

RULE = {"id": "one", "match": {"endpoint": "chat"}, "coalesce": {"lease": "5s", "max_waiters": 128}}


@pytest.fixture(scope="module")
def server():
    with running(rules=[RULE]) as one:
        yield one


@pytest.fixture
def asked(request):
    return describe("acme", turns(request.node.name))


class Crowd:
    """Callers of one request, each in a thread of its own."""

    def __init__(self, server, asked, size, *, wait=10.0):
        self.decisions = []
        self.took = []
        self._lock = threading.Lock()
        self._threads = [
            threading.Thread(target=self._ask, args=(server.place.unix, asked, wait)) for _ in range(size)
        ]
        for one in self._threads:
            one.start()

    def _ask(self, address, asked, wait):
        with Gateway(address) as gateway:
            started = time.monotonic()
            decision = gateway.ask(asked, wait_for_fill=seconds(wait))
            with self._lock:
                self.decisions.append(decision)
                self.took.append(time.monotonic() - started)

    def __len__(self):
        return len(self.decisions)

    def leaders(self):
        with self._lock:
            return [one for one in self.decisions if one.lease_holder]

    def until(self, holds, timeout=20.0):
        end = time.monotonic() + timeout
        while not holds():
            assert time.monotonic() < end, [verdict(one) for one in self.decisions]
            time.sleep(0.01)

    def join(self):
        for one in self._threads:
            one.join(30)
        return Counter(verdict(one) for one in self.decisions)


def test_a_hundred_callers_make_one_leader_and_ninety_nine_hits(server, asked):
    crowd = Crowd(server, asked, 100)
    crowd.until(lambda: len(crowd) == 1)
    time.sleep(0.5)
    assert len(crowd) == 1
    (leader,) = crowd.leaders()
    assert (outcome(leader), leader.store_answer, leader.collapsed) == ("miss", True, False)
    assert filed(server.gateway.store(leader.fill_token, answer_for(asked, "for all"))) == "stored"
    assert crowd.join() == {"miss": 1, "hit exact": 99}
    hits = [one for one in crowd.decisions if not one.lease_holder]
    assert all(one.collapsed for one in hits)
    assert {one.cache_status for one in hits} == {"askonce; fwd=miss; collapsed; detail=exact"}
    assert all(b"for all" in one.candidate.body.data for one in hits)


@pytest.mark.parametrize("how", ["abandon", "refused"])
def test_a_leader_that_fails_makes_exactly_one_next_leader(server, asked, how):
    crowd = Crowd(server, asked, 20)
    for turn in range(3):
        crowd.until(lambda turn=turn: len(crowd.leaders()) == turn + 1)
        time.sleep(0.2)
        assert len(crowd) == turn + 1
        let_go(server, crowd.leaders()[-1].fill_token, how)
    crowd.until(lambda: len(crowd.leaders()) == 4)
    server.gateway.store(crowd.leaders()[-1].fill_token, answer_for(asked))
    assert crowd.join() == {"miss": 4, "hit exact": 16}


def let_go(server, token, how):
    if how == "abandon":
        told = server.gateway.stub.Abandon(decision_service_pb2.AbandonRequest(fill_token=token))
        assert told.released
        assert not server.gateway.stub.Abandon(decision_service_pb2.AbandonRequest(fill_token=token)).released
    else:
        assert filed(server.gateway.store(token, answer(status_code=500))) == "upstream_error"


def test_a_leader_that_says_nothing_is_followed_when_its_lease_ends():
    with running(rules=[{**RULE, "coalesce": {"lease": "500ms"}}]) as server:
        asked = describe("acme", turns("silence"))
        started = time.monotonic()
        crowd = Crowd(server, asked, 10)
        crowd.until(lambda: len(crowd.leaders()) == 2)
        assert 0.4 < time.monotonic() - started < 5
        server.gateway.store(crowd.leaders()[-1].fill_token, answer_for(asked))
        counts = crowd.join()
        assert counts["miss"] <= 3
        assert counts["hit exact"] >= 7


def test_who_does_not_wait_goes_live_at_once(server, asked):
    assert server.gateway.ask(asked).lease_holder
    follower = server.gateway.ask(asked)
    assert (outcome(follower), follower.lease_holder, follower.store_answer) == ("miss", False, True)
    assert follower.fill_token


def test_the_wait_ends_with_the_callers_patience(server, asked):
    assert server.gateway.ask(asked).lease_holder
    started = time.monotonic()
    decision = server.gateway.ask(asked, wait_for_fill=seconds(0.3))
    assert 0.29 < time.monotonic() - started < 2
    assert (outcome(decision), decision.lease_holder, decision.store_answer) == ("miss", False, True)


def test_the_answer_of_a_follower_that_went_live_serves_those_who_wait(server, asked):
    assert server.gateway.ask(asked).lease_holder
    follower = server.gateway.ask(asked)
    crowd = Crowd(server, asked, 5)
    time.sleep(0.2)
    server.gateway.store(follower.fill_token, answer_for(asked))
    assert crowd.join() == {"hit exact": 5}


def test_a_store_by_descriptor_serves_those_who_wait(server, asked):
    assert server.gateway.ask(asked).lease_holder
    crowd = Crowd(server, asked, 5)
    time.sleep(0.2)
    server.gateway.store(asked, answer_for(asked))
    assert crowd.join() == {"hit exact": 5}


def test_at_most_max_waiters_wait():
    with running(rules=[{**RULE, "coalesce": {"lease": "30s", "max_waiters": 3}}]) as server:
        asked = describe("acme", turns("crowded"))
        leader = server.gateway.ask(asked)
        crowd = Crowd(server, asked, 10)
        crowd.until(lambda: len(crowd) == 7)
        time.sleep(0.3)
        assert len(crowd) == 7
        server.gateway.store(leader.fill_token, answer_for(asked))
        assert crowd.join() == {"miss": 7, "hit exact": 3}


def test_waiting_takes_no_permit_from_those_who_work():
    with running(rules=[RULE], threads=2) as server:
        asked = describe("acme", turns("many wait"))
        leader = server.gateway.ask(asked)
        crowd = Crowd(server, asked, 60)
        time.sleep(0.5)
        started = time.monotonic()
        other = describe("acme", turns("somebody else"))
        assert verdict(server.gateway.ask(other)) == "miss"
        assert filed(server.gateway.store(leader.fill_token, answer_for(asked))) == "stored"
        assert time.monotonic() - started < 3
        assert crowd.join() == {"hit exact": 60}


def test_a_batch_waits_for_nobody_and_twins_have_no_lease(server, asked):
    first, twin = (result.decision for result in server.gateway.ask_all([asked, asked]))
    assert (first.lease_holder, twin.lease_holder, twin.same_as) == (True, False, 0)
    late = request(asked, wait_for_fill=seconds(5))
    started = time.monotonic()
    assert not server.gateway.ask_all([late])[0].decision.lease_holder
    assert time.monotonic() - started < 2


@pytest.mark.parametrize("mode", [2, 3, 4], ids=["bypass", "refresh", "read_only"])
def test_only_who_may_store_and_would_be_served_leads(server, asked, mode):
    assert not server.gateway.ask(asked, mode=mode).lease_holder
    assert server.gateway.ask(asked).lease_holder


def test_without_coalesce_nobody_waits():
    with running() as server:
        asked = describe("acme", turns("free for all"))
        started = time.monotonic()
        for _ in range(2):
            decision = server.gateway.ask(asked, wait_for_fill=seconds(5))
            assert (outcome(decision), decision.lease_holder) == ("miss", False)
        assert time.monotonic() - started < 2


def test_draining_lets_nobody_wait():
    with running(rules=[{**RULE, "coalesce": {"lease": "60s"}}], drain={"grace": "20s"}) as server:
        asked = describe("acme", turns("closing time"))
        server.gateway.ask(asked)
        crowd = Crowd(server, asked, 5, wait=30)
        time.sleep(0.5)
        started = time.monotonic()
        server.sidecar.stop()
        assert time.monotonic() - started < 10
        assert crowd.join() == {"miss": 5}


def test_a_stale_answer_is_refreshed_by_one_caller():
    rule = {"id": "stale", "match": {"endpoint": "chat"}, "ttl": "1s", "stale_while_revalidate": "60s"}
    with running(rules=[rule]) as server:
        asked = describe("acme", turns("how old"))
        server.gateway.fill(asked, "old")
        assert not server.gateway.ask(asked).stale
        time.sleep(1.1)
        decisions = [server.gateway.ask(asked) for _ in range(5)]
        assert [(verdict(one), one.stale) for one in decisions] == [("hit exact", True)] * 5
        assert [(one.lease_holder, one.store_answer, bool(one.fill_token)) for one in decisions] == [
            (True, True, True),
            *[(False, False, False)] * 4,
        ]
        assert decisions[0].candidate.ttl_left.seconds <= 0
        assert filed(server.gateway.store(decisions[0].fill_token, answer_for(asked, "new"))) == "stored"
        fresh = server.gateway.ask(asked)
        assert (verdict(fresh), fresh.stale) == ("hit exact", False)
        assert b"new" in fresh.candidate.body.data


def test_stale_answers_for_callers_that_say_so_or_whose_upstream_failed():
    rule = {
        "id": "stale",
        "match": {"endpoint": "chat"},
        "ttl": "1s",
        "max_stale": "60s",
        "stale_if_error": "60s",
    }
    with running(rules=[rule]) as server:
        asked = describe("acme", turns("how old"))
        server.gateway.fill(asked, "old")
        time.sleep(1.1)
        assert verdict(server.gateway.ask(asked)) == "miss expired"
        for more in ({"max_stale": seconds(30)}, {"after_upstream_error": True}):
            found = server.gateway.ask(asked, **more)
            assert (verdict(found), found.stale, found.store_answer) == ("hit exact", True, False)
