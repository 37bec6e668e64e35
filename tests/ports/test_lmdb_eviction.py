"""Eviction in the embedded store: within its limit, in small steps, without harm to what stays."""

import random

import pytest

from askonce_server.ports import StoreUnavailable
from askonce_server.store import open_store
from ports.entries import MIB, NOW_MS, body_at, found, key, write
from ports.semantic_rows_contract import block, semantic_key, state, told, unit
from ports.store_process import run, settings


@pytest.fixture
def make_store(tmp_path):
    made = []

    def make(**changes):
        made.append(open_store(settings(tmp_path / "store", **{"max_bytes": 4 * MIB, **changes})))
        return made[-1]

    yield make
    for store in made:
        store.close()


def test_a_full_store_stays_within_its_limit_and_its_rows_agree(make_store):
    store, rnd = make_store(), random.Random(11)
    refused = []
    for step in range(250):
        writes = [
            told(
                f"q{rnd.randrange(4000)}",
                vector=unit(rnd.randrange(100), dim=384),
                partition=f"p{rnd.randrange(20)}",
                scope=rnd.choice(["acme", "globex"]),
                body=bytes(rnd.choice((10, 1500, 1500, 5000, 40_000))),
            )
            for _ in range(8)
        ]
        refused += [result for result in store.put(writes) if result is not None]
        stats = store.stats()
        assert stats.used_bytes <= stats.limit_bytes
        for asked in rnd.sample(writes, 3):
            body_at(store, asked.keys[rnd.randrange(2)])
        if step % 60 == 0:
            assert store.verify() == []
    assert refused == []
    assert store.verify() == []
    stats = store.stats()
    assert stats.evicted > 500
    assert stats.used_bytes > 0.9 * stats.limit_bytes  # no more is evicted than must be


def test_eviction_goes_little_by_little(make_store):
    store = make_store()
    evicted, most = 0, 0
    for i in range(300):
        assert store.put([write(f"q{i}-{n}", body=bytes(1500)) for n in range(5)]) == [None] * 5
        now = store.stats().evicted
        most, evicted = max(most, now - evicted), now
    assert evicted > 100
    assert most <= 4 * 16  # about a 64th of the store at once


def test_a_large_answer_finds_room_among_small_ones(make_store):
    store = make_store()
    for i in range(0, 1_500, 50):
        store.put([write(f"q{n}", body=bytes(1500)) for n in range(i, i + 50)])
    assert store.put([write("large", body=bytes(MIB))]) == [None]
    assert len(body_at(store, key("large"))) == MIB
    assert store.stats().used_bytes <= 4 * MIB
    assert store.verify() == []


def test_what_is_asked_for_outlives_many_that_are_not(make_store):
    store = make_store()
    store.put([told("asked", body=bytes(1500))])
    for i in range(200):
        store.put([told(f"once-{i}-{n}", body=bytes(1500)) for n in range(10)])
        if i % 20 == 0:
            assert body_at(store, semantic_key("asked")) == bytes(1500)
    assert store.stats().evicted > 800
    assert body_at(store, key("asked")) == bytes(1500)
    assert found(store, key("once-0-0")) is None


def test_what_was_just_stored_is_there_when_it_is_asked_for(make_store):
    """Also when everything else was asked for since eviction came by, and nobody has come to ask for this."""
    store = make_store()
    for i in range(3_000):
        assert store.put([write(f"q{i}", body=bytes(1 + i * 7 % 3000))]) == [None]
        if i:
            assert body_at(store, key(f"q{i - 1}")) is not None
    assert store.stats().evicted > 1_000
    assert store.verify() == []


def there(store, *names):
    """Which of `names` are there, without reading their bodies, which would be a hit."""
    with store.read() as view:
        return [view.entry(key(name)) is not None for name in names]


def test_hits_of_another_process_count(make_store, tmp_path):
    store = make_store()
    store.put([write("asked", body=b"answer"), write("other", body=bytes(1500))])
    ended = run("read_shared", tmp_path / "store", "asked")
    assert ended.stdout == "answer\n", ended.stderr
    for i in range(60):
        assert store.put([write(f"q{i}", body=bytes(100_000))]) == [None]
    assert 0 < store.stats().evicted < 60
    assert there(store, "asked", "other") == [True, False]


def test_a_reader_that_is_held_costs_stores_and_never_all_that_is_there(make_store):
    """The map is at its end since no page can be used again: evicting would lose answers for nothing."""
    store = make_store()
    kept = [f"kept-{i}" for i in range(10)]
    assert store.put([write(name, body=bytes(10_000)) for name in kept]) == [None] * 10
    with store.read():
        for i in range(2_000):
            if store.put([write(f"q{i}", body=bytes(MIB))]) != [None]:
                break
        before = store.stats()
        for i in range(20):
            assert store.put([write(f"r{i}", body=bytes(MIB))]) != [None]
        assert store.stats().evicted == before.evicted
        assert store.stats().entries == before.entries
    assert store.put([write("after", body=bytes(MIB))]) == [None]


def test_eviction_goes_on_where_it_ended_after_a_restart(make_store):
    store = make_store()
    for i in range(30):
        store.put([write(f"old-{i}", body=bytes(100_000))])
        assert body_at(store, key(f"old-{i}")) is not None
    while store.stats().evicted == 0:  # the hand has spared some by now
        store.put([write(f"new-{store.stats().writes}", body=bytes(100_000))])
    spared = [name for name in (f"old-{i}" for i in range(30)) if there(store, name) == [True]]
    store.close()
    store = make_store()
    while store.stats().evicted < 3:
        store.put([write(f"newer-{store.stats().writes}", body=bytes(100_000))])
    assert there(store, *spared) == [True] * len(spared)


def test_lookups_go_on_in_a_store_that_is_full(make_store):
    store = make_store()
    for i in range(300):
        assert store.put([told(f"q{i}", body=bytes(20_000))]) == [None]
        try:
            assert body_at(store, key(f"q{i}")) == bytes(20_000)
        except StoreUnavailable as fault:
            pytest.fail(f"Lookup {i} failed: {fault}")
    assert state(store).rows == len(block(store, limit=10_000).sequences)
    assert store.sweep(NOW_MS).evicted == 0
