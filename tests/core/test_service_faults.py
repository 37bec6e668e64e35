"""What is counted, and that faults inside stay inside."""

from __future__ import annotations

import logging
from contextlib import contextmanager

import pytest

from askonce_server.core.reasons import BypassReason, Matcher, Mode, Outcome, RefusalReason
from askonce_server.core.rules import RuleMode
from askonce_server.ports import StoreUnavailable
from askonce_server.service.asked import Asked
from askonce_server.service.call import Call
from askonce_server.service.tallies import total
from askonce_server.store import MemoryEntryStore
from core.builders import HOUR, NOW, descriptor, keys_of, rule, said
from core.cache import Cache, chat


def test_every_decision_is_counted_exactly_once():
    cache = Cache()
    cache.lookup(said("hi"))
    cache.fill(said("hi"))
    cache.lookup(said("hi"))
    cache.lookup(said(" hi"))
    cache.lookup(said("hi"), mode=Mode.BYPASS)
    cache.lookup(said("hi"), mode=Mode.REFRESH)
    cache.lookup(descriptor(scope={}))
    cache.lookups.give_up(BypassReason.OVER_BUDGET, Call())
    cache.clock.now = NOW + HOUR
    cache.lookup(said("hi"))
    counts = cache.tallied()
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
    assert cache.tallied() == {"miss.no_entry": 2, "stored": 1, "shadow.would_hit": 1}


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
    assert cache.tallied() == {"bypass.store_failed": 1}
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
