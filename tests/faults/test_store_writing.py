"""Writes that fail, hang or find no room: what is acknowledged is kept, and nobody waits for ever."""

import errno
import os
import signal
import subprocess
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import lmdb
import pytest

from askonce_server.core.entries import Body, Generations
from askonce_server.core.reasons import RefusalReason
from askonce_server.store import open_store
from faults.waiting import eventually, in_threads
from ports.entries import MIB, NOW_MS, body_at, digest, found, key, write
from ports.store_process import run, settings, start

FAILED, FULL = RefusalReason.STORE_FAILED, RefusalReason.STORE_FULL


class Commits:
    """How transactions are committed: as the test says, `True` being the normal way."""

    def __init__(self):
        self.fault = None
        self.faults_left = None
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Event()
        self.seconds = 0.0

    def __call__(self, txn):
        self.entered.set()
        self.gate.wait(30)
        time.sleep(self.seconds)
        if self.fault is not None and self.faults_left != 0:
            if self.faults_left is not None:
                self.faults_left -= 1
            raise self.fault
        txn.commit()


@pytest.fixture
def commits():
    return Commits()


@pytest.fixture
def make_store(tmp_path, commits):
    made = []

    def make(**changes):
        made.append(open_store(settings(tmp_path / "store", **changes), commit=commits))
        commits.entered.clear()
        return made[-1]

    yield make
    commits.gate.set()
    for store in made:
        store.close()


# Group commit


def test_stores_in_flight_share_commits(make_store, commits):
    store = make_store(write_timeout=20.0)
    commits.seconds = 0.005

    def work(thread):
        return [store.put([write(f"{thread}-{i}")]) for i in range(10)]

    results = in_threads(64, work)
    assert results == [[[None]] * 10] * 64
    stats = store.stats()
    assert stats.writes == 640
    assert stats.writes / stats.commits >= 8
    assert stats.entries == 1280


def test_a_lone_store_does_not_wait_for_company(make_store):
    store = make_store()
    for i in range(5):
        assert store.put([write(f"q-{i}")]) == [None]
    assert (store.stats().writes, store.stats().commits) == (5, 5)


def test_a_batch_of_one_caller_is_one_commit(make_store, commits):
    store = make_store()
    commits.gate.clear()
    thread = threading.Thread(target=store.put, args=([write("first")],))
    thread.start()
    assert commits.entered.wait(10)
    commits.gate.set()
    thread.join()
    before = store.stats().commits
    store.put([write(f"q-{i}") for i in range(50)])
    assert store.stats().commits - before == 1


def test_closing_finishes_what_was_accepted(make_store, commits, tmp_path):
    store = make_store()
    commits.gate.clear()
    results = []
    threads = [
        threading.Thread(target=lambda i=i: results.append(store.put([write(f"q-{i}")]))) for i in range(8)
    ]
    threads[0].start()
    assert commits.entered.wait(10)
    for thread in threads[1:]:
        thread.start()
    assert eventually(lambda: len(store._writer._queue._jobs) == 7)
    closing = threading.Thread(target=store.close)
    closing.start()
    commits.gate.set()
    closing.join(10)
    for thread in threads:
        thread.join()
    assert results == [[None]] * 8
    again = open_store(settings(tmp_path / "store"))
    assert all(body_at(again, key(f"q-{i}")) for i in range(8))
    again.close()


# Time-outs and bounds


def test_a_hanging_disk_costs_the_write_timeout_once(make_store, commits):
    store = make_store(write_timeout=1.0)
    assert store.put([write("before")]) == [None]
    commits.gate.clear()
    began = time.monotonic()
    assert store.put([write("a")]) == [FAILED]
    assert 1.0 <= time.monotonic() - began < 5.0
    assert eventually(lambda: store.problem() is not None)
    assert "no write has finished for 1 s" in store.problem()
    began = time.monotonic()
    assert store.put([write("b")]) == [FAILED]
    assert time.monotonic() - began < 0.9
    assert body_at(store, key("before")) == b"answer to before"
    commits.gate.set()
    assert eventually(lambda: store.problem() is None)
    assert store.put([write("c")]) == [None]


def test_a_write_whose_caller_gave_up_before_it_began_is_dropped(make_store, commits):
    store = make_store(write_timeout=0.3)
    commits.gate.clear()
    first = threading.Thread(target=store.put, args=([write("first")],))
    first.start()
    assert commits.entered.wait(10)
    assert store.put([write("late")]) == [FAILED]
    first.join()
    commits.gate.set()
    assert eventually(lambda: store.problem() is None and not store._writer._queue._jobs)
    assert store.put([write("after")]) == [None]
    assert found(store, key("late")) is None


def test_the_queue_is_bounded_in_number(make_store, commits):
    store = make_store(write_timeout=20.0, max_pending=10)
    commits.gate.clear()
    results = {}
    first = threading.Thread(target=lambda: results.update(first=store.put([write("first")])))
    first.start()
    assert commits.entered.wait(10)
    batch = threading.Thread(
        target=lambda: results.update(batch=store.put([write(f"q-{i}") for i in range(12)]))
    )
    batch.start()
    assert eventually(lambda: len(store._writer._queue._jobs) == 10)
    began = time.monotonic()
    assert store.put([write("beyond")]) == [FAILED]
    assert time.monotonic() - began < 1.0
    commits.gate.set()
    first.join()
    batch.join()
    assert results == {"first": [None], "batch": [None] * 10 + [FAILED] * 2}


def test_the_queue_is_bounded_in_bytes(make_store, commits):
    store = make_store(write_timeout=20.0, max_pending_bytes=MIB)
    commits.gate.clear()
    results = {}
    first = threading.Thread(target=lambda: results.update(first=store.put([write("first")])))
    first.start()
    assert commits.entered.wait(10)
    large = threading.Thread(
        target=lambda: results.update(large=store.put([write("large", body=bytes(900_000))]))
    )
    large.start()
    assert eventually(lambda: len(store._writer._queue._jobs) == 1)
    assert store.put([write("beyond", body=bytes(200_000))]) == [FAILED]
    commits.gate.set()
    first.join()
    large.join()
    assert results == {"first": [None], "large": [None]}
    assert store.put([write("beyond", body=bytes(200_000))]) == [None]


def test_a_process_stopped_inside_a_write_blocks_nobody_for_long(make_store, tmp_path):
    store = make_store(write_timeout=1.0)
    store.put([write("before")])
    other = start("inside_write", tmp_path / "store")
    assert other.stdout.readline() == "inside\n"
    os.kill(other.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        assert store.put([write("a")]) == [FAILED]
        assert time.monotonic() - began < 5.0
        assert body_at(store, key("before")) == b"answer to before"
        assert store.stats().entries == 2
        assert eventually(lambda: "another process stopped" in (store.problem() or ""))
        began = time.monotonic()
        assert store.put([write("b")]) == [FAILED]
        assert time.monotonic() - began < 0.9
    finally:
        os.kill(other.pid, signal.SIGKILL)
        other.communicate()
    assert eventually(lambda: store.problem() is None)
    assert store.put([write("c")]) == [None]
    assert found(store, key("a")) is None
    assert found(store, key("b")) is None


def test_closing_beside_a_stopped_process_does_not_hang(make_store, tmp_path):
    store = make_store(write_timeout=0.2)
    other = start("inside_write", tmp_path / "store")
    assert other.stdout.readline() == "inside\n"
    try:
        assert store.put([write("a")]) == [FAILED]
        began = time.monotonic()
        store.close()
        assert time.monotonic() - began < 5.0
        assert store.put([write("b")]) == [FAILED]
    finally:
        other.kill()
        other.communicate()
        assert eventually(lambda: not store._writer._thread.is_alive())
        store._opened.close()


# Faults of single writes and of commits


def test_a_bad_write_fails_alone(make_store, commits):
    store = make_store()
    bad = replace(write("bad"), body=Body(b"x", "text/\ud800"))
    assert store.put([write("a"), bad, write("b")]) == [None, FAILED, None]
    assert body_at(store, key("a")) == b"answer to a"
    assert body_at(store, key("b")) == b"answer to b"
    assert found(store, key("bad")) is None
    assert store.stats().entries == 4
    assert store.problem() is None


def test_a_batch_that_failed_as_a_whole_is_tried_one_by_one(make_store, commits):
    store = make_store()
    commits.fault, commits.faults_left = OSError(errno.EIO, "Input/output error"), 1
    assert store.put([write(f"q-{i}") for i in range(5)]) == [None] * 5
    assert store.stats().writes == 5
    assert store.problem() is None


def test_a_full_map_in_a_batch_refuses_only_what_does_not_fit(make_store, commits):
    store = make_store()
    store.put([write("old", expire_ms=NOW_MS - 1)])
    commits.fault, commits.faults_left = lmdb.MapFullError("mdb_put"), 1
    assert store.put([write("a"), write("b")]) == [None, None]
    assert found(store, key("old")) is None, "what has expired makes room"
    commits.fault, commits.faults_left = lmdb.MapFullError("mdb_put"), None
    assert store.put([write("c"), write("d")]) == [FULL, FULL]
    assert store.problem() is None, "being full is no defect"
    commits.fault = None
    assert store.put([write("c")]) == [None]


@pytest.mark.parametrize(
    ("fault", "result", "says"),
    [
        (OSError(errno.EIO, "Input/output error"), FAILED, "the disk under the store at"),
        (OSError(errno.ENOSPC, "No space left on device"), FULL, "no space left for the store at"),
        (lmdb.DiskError("mdb_txn_commit"), FULL, "no space left for the store at"),
        (lmdb.PanicError("mdb_txn_begin"), FAILED, "restart the server"),
        (lmdb.CorruptedError("mdb_put"), FAILED, "is damaged"),
    ],
)
def test_a_failing_commit_is_told_until_one_succeeds(make_store, commits, fault, result, says):
    store = make_store()
    store.put([write("before")])
    commits.fault = fault
    assert store.put([write("a")]) == [result]
    assert says in store.problem()
    assert body_at(store, key("before")) == b"answer to before"
    assert found(store, key("a")) is None
    commits.fault = None
    assert store.put([write("a")]) == [None]
    assert store.problem() is None


def test_a_problem_goes_away_by_itself(make_store, commits):
    """Nobody may write while health says that the store fails, so the store tries by itself."""
    store = make_store()
    commits.fault = OSError(errno.ENOSPC, "No space left on device")
    assert store.put([write("a")]) == [FULL]
    assert store.problem() is not None
    commits.fault = None
    assert eventually(lambda: store.problem() is None)
    assert store.stats().writes == 0


def test_a_refused_write_needs_no_commit(make_store, commits):
    store = make_store()
    stale = write("a", generations=Generations((digest("everything"),), (b"\x01" * 16,)))
    commits.fault = OSError(errno.EIO, "Input/output error")
    assert store.put([stale]) == [RefusalReason.GENERATION_CHANGED]
    assert store.problem() is None


@contextmanager
def small_disk(place, size):
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="mounting a file system needs root")
def test_a_disk_that_fills_up_refuses_stores_and_still_answers(tmp_path):
    with small_disk(tmp_path / "disk", "4m"):
        store = open_store(settings(tmp_path / "disk" / "store"))
        names = fill_disk(store, 100_000)
        assert 10 <= len(names) <= 40
        assert "no space left for the store" in store.problem()
        assert [len(body_at(store, key(n))) for n in names] == [100_000] * len(names)
        subprocess.run(["mount", "-o", "remount,size=8m", str(tmp_path / "disk")], check=True)
        assert store.put([write("after", body=bytes(100_000))]) == [None]
        assert store.problem() is None
        store.close()
        store = open_store(settings(tmp_path / "disk" / "store"))
        assert len(body_at(store, key("after"))) == 100_000
        assert [len(body_at(store, key(n))) for n in names] == [100_000] * len(names)
        store.close()


def fill_disk(store, body_bytes):
    """Store until there is no room on the disk; return the names that were stored."""
    names = []
    while (result := store.put([write(f"q-{len(names)}", body=bytes(body_bytes))])) == [None]:
        names.append(f"q-{len(names)}")
    assert result == [FULL]
    return names


def test_a_write_is_visible_to_another_process_at_once(make_store, tmp_path):
    make_store().put([write("q")])
    ended = run("read_shared", tmp_path / "store", "q")
    assert ended.stdout == "answer to q\n"
