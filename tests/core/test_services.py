"""Lookup and Store against the store in memory: what goes in comes out, and faults inside stay inside."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace

import pytest
from askonce_server.core.descriptor import Controls, Target
from askonce_server.core.entries import Body
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Mode, Outcome, RefusalReason
from askonce_server.core.rules import Admission, RuleMode
from askonce_server.ports import StoreUnavailable
from askonce_server.service.faults import FaultLog
from askonce_server.service.lookup import Asked, LookupService, identity, plan_for
from askonce_server.service.store import Filed, StoreService
from askonce_server.service.tallies import Tallies, total
from askonce_server.service.tokens import FillTokens
from askonce_server.store import MemoryEntryStore
from core.builders import HOUR, NOW, content, descriptor, dumps, keys_of, plan, request, response, rule, said

CHOICE = {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}


def chat(**more):
    return Body(dumps({"choices": [CHOICE], **more}), "application/json")


BODY = chat()
SECOND = 1_000


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self):
        self.now = NOW

    def now_ms(self):
        return self.now


class Cache:
    """Both services over one store and one clock, with the verbs of the contract."""

    def __init__(self, *rules, store=None):
        self.rules = list(rules) or [rule()]
        self.entries = store or MemoryEntryStore()
        self.clock, self.tallies = Clock(), Tallies()
        self.tokens = FillTokens(b"k" * 32)
        shared = {"store": self.entries, "clock": self.clock, "rules": lambda: self.rules}
        shared |= {"tallies": self.tallies, "faults": FaultLog()}
        self.lookups = LookupService(**shared)
        self.stores = StoreService(**shared, tokens=self.tokens)

    def lookup(self, wanted, **controls):
        return self.lookups.lookup(self.lookups.plan(Asked(wanted, Controls(**controls))))

    def file(self, source, *, ttl_ms=None, namespace="", logging_disabled=False, known_fields=True, **said):
        answer = response(**{"body": BODY, **said})
        return self.stores.store(
            Filed(source, answer, ttl_ms, namespace, logging_disabled, known_fields=known_fields)
        )

    def fill(self, wanted, **said):
        return self.file(self.tokens.sign(self.lookup(wanted).grant), **said)


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


def test_a_token_files_the_answer_under_what_was_looked_up_whatever_is_sent_later():
    cache = Cache()
    token = cache.tokens.sign(cache.lookup(said("first")).grant)
    cache.rules = [rule(ignore_params=("user",))]
    assert cache.file(token).refusal is None
    assert cache.lookup(said("first")).outcome is Outcome.MISS
    cache.rules = [rule()]
    assert cache.lookup(said("first")).outcome is Outcome.HIT


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


# Refusals that the service makes


def test_a_token_of_an_hour_ago_is_too_old():
    cache = Cache()
    token = cache.tokens.sign(cache.lookup(said("hi")).grant)
    cache.clock.now = NOW + HOUR
    assert cache.file(token).refusal is RefusalReason.TOKEN_EXPIRED


def test_a_forged_token_is_a_fault_of_the_request():
    cache = Cache()
    token = bytearray(cache.tokens.sign(cache.lookup(said("hi")).grant))
    token[-1] ^= 1
    with pytest.raises(MalformedRequest) as caught:
        cache.file(bytes(token))
    assert [violation.field for violation in caught.value.violations] == ["fill_token"]


def test_a_token_of_a_rule_that_is_gone_stores_nothing():
    cache = Cache()
    token = cache.tokens.sign(cache.lookup(said("hi")).grant)
    cache.rules = [replace(rule(), id="other")]
    assert cache.file(token).refusal is RefusalReason.NO_RULE
    cache.rules = [rule(mode=RuleMode.OFF)]
    assert cache.file(token).refusal is RefusalReason.DISABLED


@pytest.mark.parametrize(
    ("wanted", "under", "refusal"),
    [
        (descriptor(scope={}), rule(), RefusalReason.SCOPE_MISSING),
        (descriptor(content=content(params={})), rule(), RefusalReason.SAMPLED_REQUEST),
        (request(store=True), rule(), RefusalReason.STATEFUL_REQUEST),
        (descriptor(personalized=True), rule(), RefusalReason.PERSONALIZED),
        (request(top_k=1), rule(params_class=True), RefusalReason.UNMODELLED_PARAM),
        (said("- a"), rule(strategy=(Matcher.NORMALIZED,)), RefusalReason.NO_MATCHER),
        (descriptor(), rule(mode=RuleMode.OFF), RefusalReason.DISABLED),
    ],
)
def test_a_descriptor_that_cannot_be_cached_is_refused_for_its_own_reason(wanted, under, refusal):
    assert Cache(under).file(wanted).refusal is refusal


def test_a_descriptor_without_a_rule_is_refused():
    cache = Cache()
    cache.rules = []
    assert cache.file(said("hi")).refusal is RefusalReason.NO_RULE


def test_a_bad_descriptor_is_a_fault_of_the_request():
    with pytest.raises(MalformedRequest):
        Cache().file(descriptor(served=Target()))


def test_a_message_of_a_newer_version_is_refused_whatever_its_source():
    cache = Cache()
    token = cache.tokens.sign(cache.lookup(said("hi")).grant)
    for source in (token, said("hi"), None):
        assert cache.file(source, known_fields=False).refusal is RefusalReason.UNREPRESENTABLE_CONTENT
    assert cache.entries.stats().entries == 0


def test_what_the_wire_showed_to_be_wrong_is_a_fault_of_the_request():
    cache = Cache()
    filed = Filed(None, response(), violations=(Violation("source", "is required"),))
    with pytest.raises(MalformedRequest) as caught:
        cache.stores.store(filed)
    assert [violation.field for violation in caught.value.violations] == ["source"]


def test_logging_disabled_at_the_store_writes_nothing():
    cache = Cache()
    assert cache.fill(said("hi"), logging_disabled=True).refusal is RefusalReason.LOGGING_DISABLED
    assert cache.file(said("hi"), logging_disabled=True).refusal is RefusalReason.LOGGING_DISABLED
    assert cache.entries.stats().entries == 0


def test_the_body_itself_is_looked_into():
    cache, cut = Cache(), chat(choices=[{**CHOICE, "finish_reason": "length"}])
    assert cache.fill(said("hi"), body=cut).refusal is RefusalReason.TRUNCATED
    assert cache.fill(said("hi"), body=Body(b"", "")).refusal is RefusalReason.EMPTY
    assert cache.lookup(said("hi")).outcome is Outcome.MISS


def test_a_body_that_is_too_large_is_refused_before_it_is_read():
    cache = Cache(rule(admission=Admission(max_body=10)))
    stored = cache.fill(said("hi"), body=Body(b"{" * 11, "application/json"))
    assert stored.refusal is RefusalReason.TOO_LARGE


def test_a_store_that_is_full_says_so_and_lookups_go_on():
    cache = Cache(store=MemoryEntryStore(max_bytes=1_000))
    assert cache.fill(said("hi"), body=chat(x="y" * 5_000)).refusal is RefusalReason.STORE_FULL
    assert cache.lookup(said("hi")).outcome is Outcome.MISS


# Many at once


def test_results_of_a_batch_keep_their_order():
    cache = Cache()
    texts = ["a", "b", "c"]
    filed = [Filed(said(text), response(body=chat(id=text))) for text in texts]
    admitted = [cache.stores.admit(one) for one in filed]
    admitted.insert(1, RefusalReason.STORE_FAILED)
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
    assert twin(plain) != twin(plain, max_age_ms=1)
    assert twin(plain) != twin(plain, namespace="blue")
    assert twin(plain) != twin(descriptor(scope={"tenant": "globex"}))
    assert twin(plain) != twin(said("ho"))
    assert twin(plain, mode=Mode.BYPASS) is None
    assert twin(said("- a"), rule(strategy=(Matcher.NORMALIZED,))) is None
    assert identity(plan_for(Asked(plain), [])) is None


# Counts and faults


def test_every_decision_is_counted_exactly_once():
    cache = Cache()
    cache.lookup(said("hi"))
    cache.fill(said("hi"))
    cache.lookup(said("hi"))
    cache.lookup(said(" hi"))
    cache.lookup(said("hi"), mode=Mode.BYPASS)
    cache.lookup(said("hi"), mode=Mode.REFRESH)
    cache.lookup(descriptor(scope={}))
    cache.lookups.give_up(BypassReason.OVER_BUDGET)
    cache.clock.now = NOW + HOUR
    cache.lookup(said("hi"))
    counts = cache.tallies.snapshot()
    assert counts == {
        "miss.no_entry": 2,
        "stored": 1,
        "hit.exact": 1,
        "hit.normalized": 1,
        "bypass.caller_bypass": 1,
        "refresh": 1,
        "bypass.scope_missing": 1,
        "bypass.over_budget": 1,
        "miss.expired": 1,
    }
    assert (total(counts, "hit"), total(counts, "miss"), total(counts, "bypass")) == (2, 3, 3)


def test_a_shadow_hit_is_a_miss_that_would_have_hit():
    cache = Cache(rule(mode=RuleMode.SHADOW))
    cache.fill(said("hi"))
    cache.lookup(said("hi"))
    assert cache.tallies.snapshot() == {"miss.no_entry": 2, "stored": 1, "shadow.would_hit": 1}


class BrokenStore(MemoryEntryStore):
    """A store that cannot be read, or breaks in the middle."""

    def __init__(self, error, *, at):
        super().__init__()
        self._error, self._at = error, at

    @contextmanager
    def read(self):
        if self._at == "open":
            raise self._error
        yield self
        if self._at == "close":
            raise self._error

    def generations(self, names):
        if self._at == "generations":
            raise self._error
        return (bytes(16),) * len(names)

    def entry(self, key):
        if self._at == "entry":
            raise self._error

    def put(self, writes):
        return [RefusalReason.STORE_FAILED] * len(writes)


@pytest.mark.parametrize("at", ["open", "generations", "entry", "close"])
@pytest.mark.parametrize(
    "error", [StoreUnavailable("gone"), RuntimeError("secret text"), MemoryError()], ids=repr
)
def test_a_fault_inside_is_a_bypass_never_an_error(at, error, caplog):
    cache = Cache(store=BrokenStore(error, at=at))
    with caplog.at_level(logging.DEBUG):
        decision = cache.lookup(said("hi"))
    assert (decision.outcome, decision.bypass_reason) == (Outcome.BYPASS, BypassReason.STORE_FAILED)
    assert (decision.grant, decision.store_answer, decision.rule_id) == (None, False, "r")
    assert cache.tallies.snapshot() == {"bypass.store_failed": 1}
    assert "secret text" not in caplog.text


def test_a_broken_store_still_tells_the_conversation_anchor():
    cache = Cache(store=BrokenStore(StoreUnavailable("gone"), at="open"))
    decision = cache.lookups.lookup(cache.lookups.plan(Asked(said("hi"), anchor=True)))
    assert len(decision.anchor) == 64


def test_a_broken_store_leaves_bypasses_that_need_none():
    cache = Cache(store=BrokenStore(StoreUnavailable("gone"), at="open"))
    assert cache.lookup(descriptor(scope={})).bypass_reason is BypassReason.SCOPE_MISSING


@pytest.mark.parametrize("at", ["open", "generations"])
def test_a_store_by_descriptor_into_a_broken_store_is_refused(at):
    cache = Cache(store=BrokenStore(StoreUnavailable("gone"), at=at))
    assert cache.file(said("hi")).refusal is RefusalReason.STORE_FAILED


def test_keys_do_not_depend_on_the_order_of_lookups():
    cache = Cache()
    texts = [f"question {number}" for number in range(50)]
    for text in texts:
        cache.fill(said(text), body=chat(id=text))
    for text in reversed(texts):
        found = cache.lookup(said(text))
        assert found.candidate.body == chat(id=text)
        assert found.candidate.entry.key == keys_of(said(text))[Matcher.EXACT]
