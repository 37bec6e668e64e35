"""What a worker kept of the rows is not given again once another's purge was acknowledged, not for a moment.

Here nothing lies between the acknowledgement and the look but one number in shared memory.
"""

import mmap
import random
from contextlib import closing, contextmanager

import pytest

from askonce_server.store import open_store
from ports.entries import NOW_MS, body_at, key, write
from ports.finality_contract import dim, value
from ports.store_process import ROUND, settings, start

ROUNDS = 1_000


@contextmanager
def shared_number(path):
    """A number that another process writes; yields how to read it."""
    path.write_bytes(bytes(ROUND.size))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), ROUND.size) as memory:
        yield lambda: ROUND.unpack_from(memory)[0]


def look(store):
    """Return the round that the generation is in, and keep it with the view."""
    with store.read() as view:
        (value,) = view.generations([dim("acme")])
        number = int.from_bytes(value, "big")
        view.keep("round", number, entry=view.entry(key("q")), size=1)
    return number


@pytest.mark.parametrize("durability", ["commit", "periodic"])
def test_nothing_outlives_another_workers_purge(tmp_path, durability):
    place = tmp_path / "store"
    with shared_number(tmp_path / "round") as acknowledged, closing(open_store(settings(place))) as store:
        store.put([write("q")])
        again = anew = 0
        with start("raise_over_and_over", place, tmp_path / "round", ROUNDS, durability) as other:
            try:
                before = 0
                while before < ROUNDS:
                    before = acknowledged()
                    kept = store.recall("round")
                    again, anew = again + (kept is not None), anew + (kept is None)
                    assert (look(store) if kept is None else kept) >= before
                    assert other.poll() in (None, 0)
            finally:
                other.kill()
    assert again > 0, "what was kept is given again while no row changes"
    assert anew > 1, "and looked at anew after a purge"


def counted(store, number):
    """Keep counts; return the number of the next."""
    store.add_counts(b"server", {"chat": {"hit.exact": number}}, at_ms=NOW_MS)
    return number + 1


def test_counts_that_are_kept_take_no_hit_from_memory(tmp_path):
    with closing(open_store(settings(tmp_path))) as store:
        store.put([write("q")])
        look(store)
        for number in range(1, 4):
            counted(store, number)
            assert store.recall("round") is None, "the newest snapshot is one that nobody has looked at"
            with store.read():
                pass
            assert store.recall("round") == 0, "one look at it tells that only counts changed"
        store.put([write("r")])
        with store.read():
            pass
        assert store.recall("round") is None
        assert store.counts_since(0, server=b"server").counted == {"chat": {"hit.exact": 3}}


def test_counts_of_another_worker_take_no_hit_from_memory(tmp_path):
    with closing(open_store(settings(tmp_path))) as store, start("count_over_and_over", tmp_path) as other:
        store.put([write("q")])
        for number in range(4):
            other.stdin.write("go on\n")
            other.stdin.flush()
            assert other.stdout.readline()
            if not number:  # it tried the store when it opened it
                look(store)
            with store.read():
                pass
            assert store.recall("round") == 0
        other.stdin.close()


def test_nothing_is_remembered_over_a_change_however_many_counts_come_before_and_after(tmp_path):
    rnd = random.Random(7)
    with closing(open_store(settings(tmp_path, max_bytes=16 << 20))) as store:
        store.put([write("q")])
        purge, count = 0, 1
        for step in range(400):
            what = rnd.choice(["look", "look", "count", "count", "store", "remove", "purge"])
            if what == "look":
                assert look(store) == purge
                assert body_at(store, key("q")) is not None
            elif what == "count":
                count = counted(store, count)
            elif what == "store":
                store.put([write("q", body=b"%d" % step)])
                assert body_at(store, key("q")) == b"%d" % step
            elif what == "remove":
                store.remove([key("q")])
                assert body_at(store, key("q")) is None
                store.put([write("q")])
            else:
                purge += 1
                store.raise_generations({dim("acme"): value(purge)}, at_ms=NOW_MS)
            kept = store.recall("round")
            assert kept is None or kept == purge, (step, what)


def test_a_memory_that_is_full_begins_anew(tmp_path):
    with closing(open_store(settings(tmp_path))) as store:
        store.put([write("q")])
        with store.read() as view:
            view.keep("large", 1, entry=view.entry(key("q")), size=(32 << 20) - 4096)
            view.keep("more", 2, entry=view.entry(key("q")), size=4096)
            assert (store.recall("large"), store.recall("more")) == (1, None)
        with store.read() as view:
            view.keep("more", 2, entry=view.entry(key("q")), size=4096)
        assert (store.recall("large"), store.recall("more")) == (None, 2)
