"""What was purged or deleted while an answer was on its way stays gone, whichever way it comes."""

from __future__ import annotations

import pytest

from askonce_server.core import keys
from askonce_server.core.decision import TOKEN_LIFE_MS
from askonce_server.core.reasons import Outcome, RefusalReason
from core.builders import NOW, said
from core.cache import SECOND, Cache

EVERYTHING = keys.digest("generation", b"everything")
CHANGED = RefusalReason.GENERATION_CHANGED


@pytest.fixture
def cache():
    return Cache()


def purge(cache):
    cache.clock.now += SECOND
    cache.entries.raise_generations({EVERYTHING: b"\x01" * 16}, at_ms=cache.clock.now)


def test_a_token_of_before_a_purge_stores_nothing(cache):
    token = cache.tokens.sign(cache.lookup(said("hi")).grant)
    purge(cache)
    assert cache.file(token).refusal is CHANGED
    assert cache.file(token, request_start_ms=NOW + 60 * SECOND).refusal is CHANGED
    assert cache.lookup(said("hi")).outcome is Outcome.MISS
    assert cache.fill(said("hi")).refusal is None


def test_a_descriptor_stores_what_was_asked_after_the_purge_alone(cache):
    purge(cache)
    at = cache.clock.now
    cache.clock.now += 10 * SECOND
    assert cache.file(said("hi"), request_start_ms=at - 1).refusal is CHANGED
    assert cache.file(said("hi"), request_start_ms=at).refusal is CHANGED
    assert cache.lookup(said("hi")).outcome is Outcome.MISS
    assert cache.file(said("hi"), request_start_ms=at + 1).refusal is None
    assert cache.lookup(said("hi")).outcome is Outcome.HIT


def test_a_descriptor_that_does_not_say_when_it_was_asked_waits_for_a_token_s_life(cache):
    assert cache.file(said("hi")).refusal is None
    purge(cache)
    assert cache.file(said("hi")).refusal is CHANGED
    cache.clock.now += TOKEN_LIFE_MS
    assert cache.file(said("hi")).refusal is CHANGED
    cache.clock.now += 1
    assert cache.file(said("hi")).refusal is None


def test_a_deleted_entry_stays_deleted_for_every_older_request(cache):
    token = cache.tokens.sign(cache.lookup(said("hi")).grant)
    stored = cache.fill(said("hi"))
    cache.clock.now += SECOND
    deleted = cache.entries.delete(stored.keys[-1].entry_id, at_ms=cache.clock.now)
    assert sorted(deleted) == sorted(stored.keys)
    assert cache.lookup(said("hi")).outcome is Outcome.MISS
    assert cache.file(token).refusal is CHANGED
    assert cache.file(said("hi")).refusal is CHANGED
    assert cache.file(said("hi"), request_start_ms=cache.clock.now).refusal is CHANGED
    cache.clock.now += 1
    assert cache.fill(said("hi")).refusal is None
    assert cache.lookup(said("hi")).outcome is Outcome.HIT
