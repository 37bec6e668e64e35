"""The sweeper: what has expired goes by itself, in small steps, and its space comes back."""

import threading
import time

import pytest

from askonce_server.ports import StoreUnavailable, Swept
from askonce_server.store import Sweeper, open_store
from clocks import ManualClock
from ports.entries import NOW_MS, body_at, key, write
from ports.semantic_rows_contract import space, state, told, unit
from ports.store_process import settings, start

QUICK = 0.01


@pytest.fixture
def store(tmp_path):
    opened = open_store(settings(tmp_path / "store"))
    yield opened
    opened.close()


@pytest.fixture
def sweepers(store, tmp_path):
    """A function that starts a sweeper over the store; all of them are closed after the test."""
    started = []

    def begin(clock, **changes):
        started.append(
            Sweeper(store, clock, **{"folder": tmp_path / "store", "interval_seconds": QUICK, **changes})
        )
        return started[-1]

    yield begin
    for sweeper in started:
        sweeper.close()


def eventually(holds, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not holds() and time.monotonic() < deadline:
        time.sleep(0.005)
    return holds()


def put_many(store, count, *, start=0, **changes):
    for first in range(start, start + count, 500):
        names = range(first, min(first + 500, start + count))
        writes = [told(f"q{i}", vector=unit(i % 50, dim=384), body=bytes(1500), **changes) for i in names]
        assert store.put(writes) == [None] * len(writes)


def test_ten_thousand_entries_of_a_second_are_gone_within_ten_and_so_is_their_space(store, sweepers):
    empty = store.stats().used_bytes
    clock = ManualClock(NOW_MS)
    put_many(store, 5_000, expire_ms=NOW_MS + 1_000)
    full = store.stats()
    assert full.entries == 10_000
    sweeper = sweepers(clock, interval_seconds=1.0)
    clock.advance(1_000)
    began = time.monotonic()
    assert eventually(lambda: store.stats().entries == 0)
    assert time.monotonic() - began < 10.0
    assert state(store) == (0, 0)
    assert store.stats().used_bytes <= empty + (full.used_bytes - empty) // 100
    assert store.verify() == []
    assert eventually(lambda: sweeper.stats().expired == 10_000)
    assert sweeper.stats().steps >= 10_000 // 256
    pages = store._opened.env.info()["last_pgno"]
    put_many(store, 5_000, expire_ms=NOW_MS + 9_000)
    assert store._opened.env.info()["last_pgno"] <= pages * 1.1  # the file does not grow for them again


def test_stores_go_on_while_much_is_swept(store, sweepers):
    put_many(store, 2_000, expire_ms=NOW_MS)
    waits, sweeper = [], sweepers(ManualClock(NOW_MS))
    number = 0
    while sweeper.stats().expired < 3_000 and number < 2_000:
        began = time.monotonic()
        assert store.put([write(f"live-{number}")]) == [None]
        waits.append(time.monotonic() - began)
        number += 1
    assert sweeper.stats().expired > 0
    assert len(waits) > 10
    assert sorted(waits)[len(waits) // 2] < 0.2
    assert max(waits) < 2.0
    assert body_at(store, key("live-0")) == b"answer to live-0"


def test_of_two_sweepers_one_sweeps_until_it_is_closed(store, sweepers):
    clock = ManualClock(NOW_MS)
    first = sweepers(clock)
    store.put([write("a", expire_ms=NOW_MS)])
    assert eventually(lambda: first.stats().expired == 2)
    second = sweepers(clock)
    time.sleep(20 * QUICK)
    store.put([write("b", expire_ms=NOW_MS)])
    assert eventually(lambda: first.stats().expired == 4)
    assert second.stats().expired == 0
    first.close()
    store.put([write("c", expire_ms=NOW_MS)])
    assert eventually(lambda: second.stats().expired == 2)


def test_slots_of_readers_that_were_killed_are_freed(store, sweepers, tmp_path):
    """A reader that is gone would keep every page from being used again."""
    reader = start("inside_read", tmp_path / "store")
    assert reader.stdout.readline() == "inside\n"
    reader.kill()
    reader.communicate()
    sweeper = sweepers(ManualClock(NOW_MS))
    assert eventually(lambda: sweeper.stats().readers >= 1)


class FailingStore:
    """A store that fails as often as it is told to."""

    def __init__(self, *faults):
        self.faults = list(faults)
        self.swept = threading.Event()

    def sweep(self, now_ms):
        if self.faults:
            raise self.faults.pop(0)
        self.swept.set()
        return Swept(expired=1)


@pytest.mark.parametrize("fault", [StoreUnavailable("the disk is full"), ValueError("a bug")])
def test_a_sweeper_outlives_whatever_goes_wrong(fault, caplog):
    store = FailingStore(fault, fault)
    sweeper = Sweeper(store, ManualClock(NOW_MS), interval_seconds=QUICK)
    assert store.swept.wait(10)
    assert eventually(lambda: sweeper.stats().expired >= 1)
    sweeper.close()
    assert sweeper.stats().failures == 2
    assert ("does not know" in caplog.text) == isinstance(fault, ValueError)


def test_an_idle_sweeper_writes_nothing(store, sweepers):
    store.put([write("q", expire_ms=NOW_MS + 1)])
    before = store._opened.env.info()["last_txnid"]
    sweepers(ManualClock(NOW_MS))
    time.sleep(20 * QUICK)
    assert store._opened.env.info()["last_txnid"] == before


def test_partitions_count_down_as_their_vectors_expire(store, sweepers):
    clock = ManualClock(NOW_MS)
    store.put([told("a", expire_ms=NOW_MS), told("b", expire_ms=NOW_MS + 1_000)])
    sweepers(clock)
    assert eventually(lambda: state(store, space()).rows == 1)
    clock.advance(1_000)
    assert eventually(lambda: state(store, space()) == (0, 0))
