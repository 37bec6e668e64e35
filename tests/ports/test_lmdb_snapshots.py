"""What one view read holds for views of the same snapshot, and for no other."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from askonce_server.core.entries import ZERO_GENERATION
from askonce_server.ports import StoreUnavailable
from askonce_server.store import StoreSettings, open_store
from askonce_server.store.environment import open_environment
from askonce_server.store.hits import Hits
from askonce_server.store.newest import NewestSnapshot
from ports import store_process
from ports.entries import write
from ports.semantic_rows_contract import semantic_key, space, state, told

MIB = 1 << 20


@pytest.mark.parametrize("durability", ["commit", "periodic"])
def test_the_newest_snapshot_is_the_one_that_a_transaction_begun_now_sees(tmp_path, durability):
    settings = StoreSettings(path=tmp_path / "store", max_bytes=16 * MIB, durability=durability)
    opened = open_environment(settings)
    try:
        for number in range(5):
            with opened.env.begin() as txn:
                assert opened.newest.id() == txn.id()
            with opened.env.begin(write=True) as txn:
                txn.put(b"key", b"%d" % number, db=opened.databases.meta)
                written = txn.id()
                assert opened.newest.id() == written - 1
            assert opened.newest.id() == written
            assert opened.newest._word, "where it stands is known once there was a commit"
    finally:
        opened.close()
    assert opened.newest.id() < 0


def test_a_lock_file_that_cannot_be_mapped_costs_time_alone(tmp_path):
    settings = StoreSettings(path=tmp_path / "store", max_bytes=16 * MIB)
    opened = open_environment(settings)
    newest = NewestSnapshot(opened.env, tmp_path / "missing")
    try:
        for number in range(3):
            with opened.env.begin(write=True) as txn:
                txn.put(b"key", b"%d" % number, db=opened.databases.meta)
            with opened.env.begin() as txn:
                assert newest.id() == txn.id()
    finally:
        opened.close()
    assert newest.id() < 0


def test_what_was_derived_is_recalled_until_any_process_changes_a_row(tmp_path):
    folder = tmp_path / "store"
    store = open_store(store_process.settings(folder))
    first = write("a")
    try:
        store.put([first])
        for number in range(3):
            with store.read() as view:
                view.keep("derived", number, entry=view.entry(first.keys[0]), size=1)
            assert store.recall("derived") == number
            done = store_process.run("touch", folder)
            assert done.returncode == 0, done.stderr
            assert store.recall("derived") is None
    finally:
        store.close()
    assert store.recall("derived") is None


def test_no_more_is_kept_than_the_bound(tmp_path):
    first = write("a")
    store = open_store(StoreSettings(path=tmp_path / "store", max_bytes=16 * MIB))
    try:
        store.put([first])
        with store.read() as view:
            entry = view.entry(first.keys[0])
            view.keep("large", "found", entry=entry, size=1 << 30)
            view.keep("small", "found", entry=entry, size=1)
        assert (store.recall("large"), store.recall("small")) == (None, "found")
    finally:
        store.close()


def test_a_commit_is_seen_by_the_next_view_whatever_the_last_one_read(tmp_path):
    store = open_store(StoreSettings(path=tmp_path / "store", max_bytes=16 * MIB))
    try:
        first = write("a")
        key = first.keys[0]
        assert store.put([first]) == [None]
        for _ in range(2):  # the second time from what the first one read
            with store.read() as view:
                found = view.entry(key)
                assert view.body(found) == first.body
        assert store.put([replace(first, body=first.body._replace(data=b"another"))]) == [None]
        with store.read() as view:
            found = view.entry(key)
            assert view.body(found).data == b"another"
        store.remove([key])
        with store.read() as view:
            assert view.entry(key) is None
    finally:
        store.close()


def test_a_raised_generation_is_seen_by_the_next_view(tmp_path):
    store = open_store(StoreSettings(path=tmp_path / "store", max_bytes=16 * MIB))
    name, value = b"n" * 32, b"v" * 16
    try:
        with store.read() as view:
            assert view.generations([name]) == (ZERO_GENERATION,)
        store.raise_generations({name: value}, at_ms=1)
        with store.read() as view:
            assert view.generations([name]) == (value,)
    finally:
        store.close()


def test_what_changes_in_a_partition_is_seen_by_the_next_view_whatever_the_last_one_read(tmp_path):
    store = open_store(StoreSettings(path=tmp_path / "store", max_bytes=16 * MIB))
    try:
        store.put([told("a")])
        number = state(store).sequence
        for _ in range(2):
            with store.read() as view:
                before = view.partition(space())
                assert before == (number, 1)
                (one,) = view.stored_vectors(space(), [number])
                assert one.row == told("a").semantic
        changed = replace(told("a"), semantic=told("a").semantic._replace(group=b"g"))
        store.put([changed])
        with store.read() as view:
            assert view.partition(space()).rows == 1
            assert view.partition(space()).sequence > number
            old, new = view.stored_vectors(space(), [number, view.partition(space()).sequence])
            assert old is None
            assert new.row == changed.semantic
            assert new.entry == view.entry(semantic_key("a"))
        store.remove([semantic_key("a")])
        with store.read() as view:
            assert view.partition(space()) == (0, 0)
            assert view.stored_vectors(space(), [number, number + 1]) == [None, None]
    finally:
        store.close()


def test_a_view_that_ended_gives_nothing_of_what_it_read(tmp_path):
    store = open_store(StoreSettings(path=tmp_path / "store", max_bytes=16 * MIB))
    try:
        store.put([told("a")])
        with store.read() as view:
            number = view.partition(space()).sequence
            view.stored_vectors(space(), [number])
        for ask in (
            lambda: view.partition(space()),
            lambda: view.stored_vectors(space(), [number]),
            lambda: view.vectors(space(), dim=8, limit=1),
        ):
            with pytest.raises(StoreUnavailable, match="ended"):
                ask()
    finally:
        store.close()


def test_a_recall_counts_as_a_read_of_the_entry(tmp_path):
    folder, first = tmp_path / "store", write("a")
    store = open_store(StoreSettings(path=folder, max_bytes=16 * MIB))
    try:
        store.put([first])
        with store.read() as view:
            entry = view.entry(first.keys[0])
            view.keep("derived", "found", entry=entry, size=1)
        hits = Hits.shared(folder)
        hits.take(entry.store_id)
        assert store.recall("derived") == "found"
        assert hits.take(entry.store_id)
        assert not hits.take(entry.store_id)
    finally:
        store.close()


def test_an_open_store_keeps_its_lock_on_the_shared_memory(tmp_path):
    """Whoever gets it takes the store for nobody's, and begins that memory anew under all who use it."""
    folder = tmp_path / "store"
    store = open_store(StoreSettings(path=folder, max_bytes=16 * MIB))
    try:
        store.put([write("a")])
        store.recall("anything")
        assert _who_locks(folder / "lock.mdb") == "somebody else"
    finally:
        store.close()
    assert _who_locks(folder / "lock.mdb") == "nobody"


def _who_locks(file):
    """What another process is told that asks for the lock alone."""
    script = (
        "import fcntl, sys\n"
        "with open(sys.argv[1], 'r+b') as file:\n"
        "    try: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)\n"
        "    except OSError: print('somebody else')\n"
        "    else: print('nobody')\n"
    )
    asked = subprocess.run([sys.executable, "-c", script, file], capture_output=True, text=True, check=True)
    return asked.stdout.strip()
