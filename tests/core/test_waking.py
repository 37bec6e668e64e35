"""A Store wakes all who wait for what it stored, whoever brings it."""

from __future__ import annotations

from dataclasses import replace

from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Coalesce, Match
from core.builders import descriptor, rule
from core.cache import Cache

LEASE_MS = 30_000
COALESCE = Coalesce(lease_ms=LEASE_MS)
WANTED = descriptor()


def test_the_answer_of_a_leader_whose_lease_is_anothers_by_then():
    cache = Cache(rule(coalesce=COALESCE))
    slow = cache.lookup(WANTED)
    cache.clock.now += LEASE_MS
    following = cache.lookup(WANTED)
    assert (slow.lease_holder, following.lease_holder) == (True, True)
    mark = cache.leases.mark()
    assert not cache.leases.wait(slow.lease, mark, seconds=0)
    assert cache.file(cache.tokens.sign(slow.grant)).refusal is None
    assert cache.leases.wait(slow.lease, mark, seconds=0)
    assert cache.leases.held_until(slow.lease) == cache.clock.now + LEASE_MS


def test_a_refused_answer_of_a_leader_whose_lease_is_anothers_wakes_nobody():
    cache = Cache(rule(coalesce=COALESCE))
    slow = cache.lookup(WANTED)
    cache.clock.now += LEASE_MS
    cache.lookup(WANTED)
    mark = cache.leases.mark()
    assert cache.file(cache.tokens.sign(slow.grant), status_code=500).refusal is not None
    assert not cache.leases.wait(slow.lease, mark, seconds=0)


def test_an_answer_under_a_rule_that_shares_only_the_first_matcher():
    exact = rule(coalesce=COALESCE, strategy=(Matcher.EXACT,), match=Match(attributes={"app": "exact"}))
    cache = Cache(replace(exact, id="exact"), rule(coalesce=COALESCE))
    leader = cache.lookup(descriptor(attributes={"app": "exact"}))
    other = cache.lookup(WANTED)
    assert (leader.lease_holder, other.lease_holder) == (True, True)
    mark = cache.leases.mark()
    assert cache.file(cache.tokens.sign(other.grant)).refusal is None
    assert cache.leases.wait(leader.lease, mark, seconds=0)
