"""Stores that the service refuses, and those that are faults of the request."""

from __future__ import annotations

from dataclasses import replace

import pytest

from askonce_server.core.descriptor import Target
from askonce_server.core.entries import Body
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.reasons import Matcher, Outcome, RefusalReason
from askonce_server.core.rules import Admission, Coalesce, Identity, RuleMode
from askonce_server.service.store import Filed
from askonce_server.store import MemoryEntryStore
from core.builders import HOUR, NOW, content, descriptor, request, response, rule, said
from core.cache import CHOICE, Cache, chat


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
    "now",
    [
        rule(ignore_params=("user",)),
        rule(params_class=True),
        rule(identity=Identity.TARGET, admission=Admission(store_fallback=True)),
        rule(stream_shared=True),
        rule(scope=("tenant", "user")),
        rule(scope=()),
        rule(strategy=(Matcher.SEMANTIC,)),
    ],
    ids=lambda under: f"{under.key} {under.scope} {under.strategy}",
)
def test_a_token_of_keys_that_the_rule_no_longer_derives_stores_nothing(now):
    """Judged by what the rule keys now, a fallback's answer would come under another upstream's key."""
    cache = Cache()
    token = cache.tokens.sign(cache.lookup(said("hi")).grant)
    cache.rules = [now]
    assert cache.file(token, fallback_used=True).refusal is RefusalReason.TOKEN_EXPIRED
    cache.rules = [rule()]
    assert cache.lookup(said("hi")).outcome is Outcome.MISS


@pytest.mark.parametrize(
    ("now", "kept"),
    [
        (rule(case_fold=True), [Matcher.EXACT]),
        (rule(normalized_guard=False), [Matcher.EXACT]),
        (rule(strategy=(Matcher.NORMALIZED,)), [Matcher.NORMALIZED]),
        (rule(ttl_ms=5_000, strategy=(Matcher.NORMALIZED, Matcher.EXACT)), list(Matcher)[:2]),
    ],
    ids=lambda value: str(value)[:40],
)
def test_of_a_tokens_keys_those_are_filed_that_the_rule_still_derives(now, kept):
    cache = Cache()
    token = cache.tokens.sign(cache.lookup(said("hi")).grant)
    cache.rules = [now]
    stored = cache.file(token)
    assert (stored.refusal, [key.matcher for key in stored.keys]) == (None, kept)
    assert cache.entries.stats().entries == len(kept)


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


def test_a_store_under_a_rule_that_has_gone_gives_its_lease_back():
    cache = Cache(rule(coalesce=Coalesce()))
    leader = cache.lookup(said("hi"))
    assert leader.lease_holder
    assert not cache.lookup(said("hi")).lease_holder
    there, cache.rules = cache.rules, []
    assert cache.file(cache.tokens.sign(leader.grant)).refusal is RefusalReason.NO_RULE
    cache.rules = there
    assert cache.lookup(said("hi")).lease_holder
