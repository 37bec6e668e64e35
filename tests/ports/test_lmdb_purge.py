"""Purges of the embedded store: at once for any number of entries, swept in steps that may be interrupted."""

import statistics
import time

import pytest

from askonce_server.ports import StoreUnavailable
from askonce_server.store import Sweeper, open_store
from clocks import ManualClock
from ports.entries import MIB, NOW_MS, body_at, key
from ports.finality_contract import EVERYTHING, dim, sweep, tenant, value
from ports.semantic_rows_contract import semantic_key, space, state
from ports.store_process import run, settings


def fill(store, name, count, *, first=0):
    """File `count` Stores of a tenant, two entries each, over many partitions."""
    for at in range(first, first + count, 500):
        names = range(at, min(at + 500, first + count))
        writes = [tenant(name, q=f"q{i}", partition=f"p{i % 97}", body=bytes(300)) for i in names]
        assert store.put(writes) == [None] * len(writes)


@pytest.fixture
def make_store(tmp_path):
    made = []

    def make(**changes):
        place = tmp_path / "store"
        made.append(open_store(settings(place, **{"max_bytes": 512 * MIB, **changes})))
        return made[-1]

    yield make
    for store in made:
        store.close()


def purge(store, name, number):
    """Raise a tenant's generation; return how many milliseconds that took."""
    began = time.perf_counter()
    store.raise_generations({dim(name): value(number)}, at_ms=NOW_MS)
    return (time.perf_counter() - began) * 1000


def swept_within(store, seconds):
    """Let a sweeper run until nothing is unreachable; return whether that ended in time."""
    sweeper = Sweeper(store, ManualClock(NOW_MS), interval_seconds=0.01)
    try:
        deadline = time.monotonic() + seconds
        while store.stats().unreachable and time.monotonic() < deadline:
            time.sleep(0.02)
        return store.stats().unreachable == 0
    finally:
        sweeper.close()


def test_a_purge_takes_no_longer_for_many_entries_and_gives_their_space_back(make_store):
    store = make_store()
    fill(store, "other", 200)
    before = store.stats()
    fill(store, "acme", 3_000)
    full = store.stats()
    assert store.reach([dim("acme")]).entries == 6_000
    times = [purge(store, "acme", number) for number in range(1, 6)]
    assert min(times) < 50.0  # one by one they take hundreds, and a machine under load may take its time
    assert store.stats().unreachable == 6_000
    assert swept_within(store, 30)
    after = store.stats()
    assert after.entries == before.entries
    assert after.used_bytes - before.used_bytes < (full.used_bytes - before.used_bytes) // 10
    assert store.verify() == []
    pages = store._opened.env.info()["last_pgno"]
    fill(store, "next", 2_500)
    assert store._opened.env.info()["last_pgno"] <= pages  # disk space is used again
    assert body_at(store, semantic_key("q7", scope="other", partition="p7")) == bytes(300)


@pytest.mark.thorough
def test_a_purge_of_a_hundred_thousand_entries(make_store, capsys):
    store = make_store(max_bytes=2048 * MIB)
    fill(store, "acme", 50_000)
    began = time.perf_counter()
    assert store.reach([dim("acme")]).entries == 100_000
    counted = time.perf_counter() - began
    times = [purge(store, "acme", number) for number in range(1, 10)]
    with store.read() as view:
        assert view.generations([dim("acme")]) == (value(9),)
    began = time.perf_counter()
    assert swept_within(store, 60)
    seconds = time.perf_counter() - began
    with capsys.disabled():
        print(  # noqa: T201 - the figures are what the long form is run for
            f"\npurge of 100,000 entries: median {statistics.median(times):.1f} ms, most {max(times):.1f} "
            f"ms; counted before in {counted * 1000:.1f} ms; gone after {seconds:.1f} s"
        )
    assert statistics.median(times) < 10.0
    assert store.stats().entries == 0
    assert store.verify() == []


def test_a_sweep_that_was_interrupted_begins_anew(make_store):
    store = make_store()
    fill(store, "acme", 600)
    purge(store, "acme", 1)
    assert store.sweep(NOW_MS).unreachable == 256
    assert store.sweep(NOW_MS).more
    store.close()
    store = make_store()
    left = store.stats().unreachable
    assert 0 < left <= 1_200 - 256
    assert sweep(store) == left
    assert store.stats().entries == 0
    assert store.verify() == []


def test_a_step_that_could_not_be_written_is_done_again(make_store):
    store = make_store()
    fill(store, "acme", 600)
    purge(store, "acme", 1)
    store.sweep(NOW_MS)
    commit, failed = store._committer._commit, []

    def fail(txn):
        if len(failed) < 2:
            failed.append(txn)
            raise OSError(5, "Input/output error")
        commit(txn)

    store._committer._commit = fail
    for _ in range(2):
        with pytest.raises(StoreUnavailable):
            store.sweep(NOW_MS)
    assert sweep(store) > 0
    assert (store.stats().entries, store.stats().unreachable) == (0, 0)
    assert store.verify() == []


def test_scopes_of_many_users_are_looked_through_in_steps(make_store):
    """More scopes than one step looks at; one of them is purged."""
    store = make_store()
    for at in range(0, 4_500, 500):
        store.put([tenant(f"user-{i}", body=b"x") for i in range(at, at + 500)])
    purge(store, "user-17", 1)
    assert store.stats().unreachable == 2
    steps = [store.sweep(NOW_MS)]
    while steps[-1].more:
        steps.append(store.sweep(NOW_MS))
    assert len(steps) >= 3
    assert sum(step.unreachable for step in steps) == 2
    assert store.stats().entries == 2 * 4_500 - 2
    assert body_at(store, key("q", scope="user-18")) == b"x"
    assert body_at(store, key("q", scope="user-17")) is None


def test_a_purge_by_another_process_is_seen_by_the_next_view(make_store, tmp_path):
    store = make_store()
    store.put([tenant("acme")])
    with store.read() as view:
        assert view.generations([EVERYTHING]) == (bytes(16),)
    ended = run("raise_shared", tmp_path / "store", EVERYTHING.hex(), value(7).hex())
    assert ended.returncode == 0, ended.stderr
    with store.read() as view:
        assert view.generations([EVERYTHING]) == (value(7),)
    assert store.stats().unreachable == 2
    assert sweep(store) == 2
    assert state(store, space()) == (0, 0)


def test_a_purge_and_a_deletion_survive_a_restart(make_store):
    store = make_store()
    store.put([tenant("acme"), tenant("globex")])
    purge(store, "acme", 1)
    store.delete(key("q", scope="globex").entry_id, at_ms=NOW_MS)
    store.close()
    store = make_store()
    assert store.put([tenant("acme"), tenant("globex")]) != [None, None]
    assert sweep(store) == 2
    assert store.stats().entries == 0
    assert store.verify() == []
