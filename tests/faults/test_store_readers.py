"""Readers of a store: whoever holds one, or leaves without a word, costs the others nothing."""

import threading

import pytest

from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import StoreUnavailable
from askonce_server.store import open_store, session
from askonce_server.store.space import oldest_reader
from faults.waiting import eventually, in_threads
from ports.entries import MIB, NOW_MS, body_at, digest, found, key, write
from ports.store_process import settings


@pytest.fixture
def make_store(tmp_path):
    made = []

    def make(**changes):
        made.append(open_store(settings(tmp_path / "store", **changes)))
        return made[-1]

    yield make
    for store in made:
        store.close()


def test_a_held_reader_never_makes_removing_fail(make_store):
    """A held reader keeps every replaced page; at the end of the map even deleting would fail."""
    store = make_store(max_bytes=4 * MIB)
    store.put([write("q", body=bytes(MIB)), write("kept")])
    with store.read() as view:
        entry = view.entry(key("q"))
        rounds = 0
        for size in (MIB, 100_000, 4000, 10):
            while (result := store.put([write("q", body=bytes(size))] * 20)) == [None] * 20:
                rounds += 20
                assert rounds < 1000
            assert RefusalReason.STORE_FULL in result
        assert rounds > 20
        assert view.body(entry).data == bytes(MIB)
        store.remove([key("kept")])
        store.raise_generations({digest("everything"): b"\x01" * 16}, at_ms=NOW_MS)
        assert found(store, key("kept")) is None
    assert store.put([write("q", body=b"after")]) == [None]
    assert body_at(store, key("q")) == b"after"


def test_replacing_large_bodies_for_long_finds_the_freed_pages(make_store):
    store = make_store(max_bytes=4 * MIB)
    for i in range(120):
        assert store.put([write("q", body=bytes([i]) * MIB)]) == [None]
    assert store._opened.env.info()["last_pgno"] * 4096 < 16 * MIB


def test_a_view_frees_its_slot_when_its_block_ends(make_store):
    store = make_store(workers=1, pool=1)
    store.put([write("q")])
    slots = store._opened.env.max_readers()
    ended = []
    for _ in range(slots * 3):
        with store.read() as view:
            assert view.entry(key("q")) is not None
        ended.append(view)
    assert len(store._opened.env.readers().splitlines()) <= 3


def test_threads_that_come_and_go_leave_no_slots(make_store):
    store = make_store(workers=1, pool=1)
    store.put([write("q")])
    for _ in range(5):
        assert in_threads(40, lambda _: body_at(store, key("q"))) == [b"answer to q"] * 40
    assert len(store._opened.env.readers().splitlines()) <= 42


def test_more_readers_than_slots_are_unavailable_not_fatal(make_store):
    store = make_store(workers=1, pool=1)
    views = [store.read() for _ in range(store._opened.env.max_readers())]
    for view in views:
        view.__enter__()
    with pytest.raises(StoreUnavailable, match="too many readers"), store.read():
        pass
    for view in views:
        view.__exit__(None, None, None)
    assert store.put([write("q")]) == [None]
    assert body_at(store, key("q")) == b"answer to q"


def test_closing_waits_for_a_view(make_store, tmp_path):
    """Taking the map away from under a reader would end the process."""
    store = make_store()
    store.put([write("q", body=bytes(MIB))])
    with store.read() as view:
        entry = view.entry(key("q"))
        closing = threading.Thread(target=store.close)
        closing.start()
        assert eventually(lambda: store.problem() == "the store is closed")
        assert view.body(entry).data == bytes(MIB)
    closing.join(10)
    assert not closing.is_alive()
    with pytest.raises(StoreUnavailable, match="closed"), store.read():
        pass
    again = open_store(settings(tmp_path / "store"))
    assert len(body_at(again, key("q"))) == MIB
    again.close()


def test_a_view_outlives_a_store_that_could_not_wait_for_it(make_store, monkeypatch):
    monkeypatch.setattr(session, "_DRAIN_SECONDS", 0.05)
    store = make_store()
    store.put([write("q", body=bytes(MIB))])
    with store.read() as view:
        entry = view.entry(key("q"))
        store.close()
        assert view.body(entry).data == bytes(MIB)
    store._opened.close()


def test_the_oldest_reader_is_read_from_the_table():
    table = "    pid     thread     txnid\n      17 7fd25721db80 -\n      18 7fd25721db81 41\n   19 7f 39\n"
    assert oldest_reader(table, newest=50) == 39
    assert oldest_reader("(no active readers)\n", newest=50) == 50
