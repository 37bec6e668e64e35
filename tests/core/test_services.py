"""Lookup and Store against the store in memory: what goes in comes out, and lives as long as it may."""

from __future__ import annotations

from dataclasses import replace

import pytest

from askonce_server.core.density import Allowance
from askonce_server.core.errors import MalformedRequest
from askonce_server.core.reasons import DenyReason, Matcher, Mode, Outcome, RefusalReason
from askonce_server.core.rules import Stale
from askonce_server.service.asked import Asked, plan_for
from askonce_server.service.store import Admitted, Filed
from askonce_server.service.twins import identity
from core.builders import HOUR, NOW, descriptor, plan, response, rule, said
from core.cache import BODY, SECOND, Cache, chat


def test_what_was_stored_by_token_is_found_by_every_matcher_of_the_rule():
    cache = Cache()
    stored = cache.fill(said("hi  there"))
    assert (stored.refusal, stored.expire_ms) == (None, NOW + HOUR)
    assert [key.matcher for key in stored.keys] == [Matcher.EXACT, Matcher.NORMALIZED]
    hit = cache.lookup(said("hi  there"))
    assert (hit.outcome, hit.kind, hit.candidate.body) == (Outcome.HIT, Matcher.EXACT, BODY)
    close = cache.lookup(said("hi there "))
    assert (close.outcome, close.kind, close.candidate.body) == (Outcome.HIT, Matcher.NORMALIZED, BODY)
    assert cache.lookup(said("hi their")).outcome is Outcome.MISS


def test_what_was_stored_by_descriptor_is_found_under_the_same_keys():
    by_token, by_descriptor = Cache(), Cache()
    assert by_token.fill(said("hi")).keys == by_descriptor.file(said("hi")).keys
    assert by_descriptor.lookup(said("hi")).outcome is Outcome.HIT


def test_a_namespace_is_part_of_the_scope():
    cache = Cache()
    cache.file(said("hi"), namespace="blue")
    assert cache.lookup(said("hi")).outcome is Outcome.MISS
    assert cache.lookup(said("hi"), namespace="blue").outcome is Outcome.HIT
    assert cache.lookup(said("hi"), namespace="green").outcome is Outcome.MISS


def test_a_hit_does_not_lengthen_the_ttl():
    cache = Cache()
    cache.fill(said("hi"), ttl_ms=10 * SECOND)
    for at, outcome in ((4, Outcome.HIT), (8, Outcome.HIT), (10, Outcome.MISS), (11, Outcome.MISS)):
        cache.clock.now = NOW + at * SECOND
        assert cache.lookup(said("hi")).outcome is outcome


def test_a_new_answer_brings_its_own_ttl():
    cache = Cache()
    cache.fill(said("hi"), ttl_ms=10 * SECOND)
    cache.clock.now = NOW + 5 * SECOND
    cache.file(said("hi"), ttl_ms=100 * SECOND)
    cache.clock.now = NOW + 11 * SECOND
    assert cache.lookup(said("hi")).outcome is Outcome.HIT


def test_an_expired_entry_is_a_miss_although_it_is_still_there():
    cache = Cache()
    cache.fill(said("hi"))
    cache.clock.now = NOW + HOUR
    decision = cache.lookup(said("hi"))
    assert (decision.outcome, decision.deny_reason) == (Outcome.MISS, DenyReason.EXPIRED)
    assert cache.entries.stats().entries == 2


@pytest.mark.parametrize("ttl", [-5_000, 0, 999])
def test_a_ttl_that_is_not_allowed_is_a_fault_of_the_request(ttl):
    cache = Cache()
    token = cache.tokens.sign(cache.lookup(said("hi")).grant)
    for source in (token, said("hi")):
        with pytest.raises(MalformedRequest) as caught:
            cache.file(source, ttl_ms=ttl)
        assert [violation.field for violation in caught.value.violations] == ["ttl"]
    with pytest.raises(MalformedRequest):
        cache.lookup(said("hi"), ttl_ms=ttl)


def test_age_counts_from_the_providers_call_or_else_from_the_lookup():
    cache = Cache()
    token = cache.tokens.sign(cache.lookup(said("hi")).grant)
    cache.clock.now = NOW + 7 * SECOND
    cache.file(token)
    assert cache.lookup(said("hi"), max_age_ms=7 * SECOND).outcome is Outcome.HIT
    assert cache.lookup(said("hi"), max_age_ms=7 * SECOND - 1).deny_reason is DenyReason.TOO_OLD
    cache.file(token, request_start_ms=NOW + 5 * SECOND)
    assert cache.lookup(said("hi"), max_age_ms=2 * SECOND).outcome is Outcome.HIT


@pytest.mark.parametrize(("age", "refusal"), [(9_999, None), (10_000, RefusalReason.EXPIRED)])
def test_an_answer_that_is_older_than_its_ttl_is_refused(age, refusal):
    cache = Cache(rule(ttl_ms=10_000))
    wanted = descriptor()
    assert cache.fill(wanted, request_start_ms=NOW - age).refusal is refusal
    assert cache.lookup(wanted).outcome is (Outcome.HIT if refusal is None else Outcome.MISS)


def test_an_answer_that_may_be_served_stale_is_stored_past_its_ttl():
    cache = Cache(rule(ttl_ms=10_000, stale=Stale(while_revalidate_ms=5_000)))
    assert cache.fill(said("old"), request_start_ms=NOW - 15_000).refusal is RefusalReason.EXPIRED
    assert cache.fill(said("stale"), request_start_ms=NOW - 14_999).refusal is None
    assert cache.lookup(said("stale")).stale


def test_results_of_a_batch_keep_their_order():
    cache = Cache()
    texts = ["a", "b", "c"]
    filed = [Filed(said(text), response(body=chat(id=text))) for text in texts]
    admitted = [cache.stores.admit(one, Allowance()) for one in filed]
    admitted.insert(1, Admitted(RefusalReason.STORE_FAILED))
    stored = cache.stores.commit(admitted)
    assert [one.refusal for one in stored] == [None, RefusalReason.STORE_FAILED, None, None]
    plans = [cache.lookups.plan(Asked(said(text))) for text in reversed(texts)]
    found = cache.lookups.lookup_all(plans)
    assert [one.candidate.body for one in found] == [chat(id=text) for text in reversed(texts)]
    assert cache.entries.stats().commits == 1


def test_twins_are_those_whom_one_answer_serves():
    shared = rule(stream_shared=True)

    def twin(wanted, under=shared, **asked):
        return identity(plan(wanted, under, **asked))

    plain = descriptor()
    assert twin(plain) == twin(descriptor(attributes={"a": "b"})) != None  # noqa: E711
    assert twin(plain) != twin(replace(plain, stream=True))
    assert twin(plain) == twin(replace(plain, stream=True), accepts=frozenset({False}))
    assert twin(plain) != twin(plain, omit_body=True)
    assert twin(plain) != twin(plain, after_upstream_error=True)
    assert twin(plain) != twin(plain, max_age_ms=1)
    assert twin(plain) != twin(plain, namespace="blue")
    assert twin(plain) != twin(descriptor(scope={"tenant": "globex"}))
    assert twin(plain) != twin(said("ho"))
    assert twin(plain, mode=Mode.BYPASS) is None
    assert twin(said("- a"), rule(strategy=(Matcher.NORMALIZED,))) is None
    assert identity(plan_for(Asked(plain), [])) is None
