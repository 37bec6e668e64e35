"""The latest decisions of several workers: all of them, the newest ones, none torn."""

from __future__ import annotations

import os
import subprocess
import sys
from threading import Thread

import pytest

from askonce_server.workers.counts import Kind, SharedCounts, latest, make_memory
from askonce_server.workers.recent import RECORD_BYTES, SECONDS, alone

MOST = 512
"""How many records of each worker there are."""


@pytest.fixture
def memory():
    descriptor = make_memory(3)
    yield descriptor
    os.close(descriptor)


def texts(recent):
    return [record.rstrip(b"\0").decode() for record in recent.records()]


def test_each_sees_what_all_added(memory):
    first, last = latest(memory, worker=0), latest(memory, worker=2)
    first.add(b"a", second=100, column=0)
    last.add(b"b", second=100, column=3)
    last.add(b"c", second=101, column=0)
    assert texts(first) == texts(last) == ["a", "b", "c"]
    for one in (first, last, latest(memory, worker=1)):
        assert one.counts(99, 101) == [[0, 0, 0, 0], [1, 0, 0, 1], [1, 0, 0, 0]]


def test_counts_lie_beside_it_untouched(memory):
    counts = {
        (worker, kind): SharedCounts(memory, worker=worker, kind=kind) for worker in range(3) for kind in Kind
    }
    for number in range(MOST):
        for worker in range(3):
            latest(memory, worker=worker).add(b"\xff" * RECORD_BYTES, second=number, column=1)
    assert [one.totals() for one in counts.values()] == [{}] * len(counts)
    for one in counts.values():
        one.add("hit.exact")
    assert len(latest(memory, worker=0).records()) == 3 * MOST
    assert set(latest(memory, worker=0).records()) == {b"\xff" * RECORD_BYTES}
    assert counts[0, Kind.STORE].totals() == {"hit.exact": 3}


def test_the_newest_stay():
    recent = alone()
    for number in range(MOST + 5):
        recent.add(b"%d" % number, second=7, column=2)
    assert texts(recent) == [str(number) for number in range(5, MOST + 5)]
    assert recent.counts(7, 7) == [[0, 0, MOST + 5, 0]]


def test_a_second_takes_the_place_of_an_old_one():
    recent = alone()
    recent.add(b"", second=5, column=0)
    recent.add(b"", second=5 + SECONDS, column=1)
    assert recent.counts(5, 5) == [[0, 0, 0, 0]]
    assert recent.counts(5 + SECONDS, 5 + SECONDS) == [[0, 1, 0, 0]]


def test_a_successor_goes_on_where_a_worker_ended(memory):
    before = latest(memory, worker=1)
    before.add(b"a", second=1, column=0)
    before.add(b"b", second=1, column=0)
    successor = latest(memory, worker=1)
    successor.add(b"c", second=1, column=0)
    assert texts(successor) == ["a", "b", "c"]
    assert successor.counts(1, 1) == [[3, 0, 0, 0]]


ADD = """
import sys
from askonce_server.workers.counts import latest
recent = latest(int(sys.argv[1]), worker=1)
for number in range(20_000):
    recent.add(bytes([number % 256]) * 152, second=number, column=0)
"""


def test_no_record_is_torn(memory):
    recent = latest(memory, worker=0)
    added = [sys.executable, "-c", ADD, str(memory)]
    with subprocess.Popen(added, pass_fds=[memory], env=os.environ) as process:
        seen = 0
        while process.poll() is None:
            for record in recent.records():
                assert len(set(record)) == 1
                seen += 1
    assert process.returncode == 0
    assert seen
    assert len(recent.records()) == MOST


def test_threads_lose_none():
    recent = alone()

    def add():
        for _ in range(2_000):
            recent.add(b"z", second=3, column=0)

    threads = [Thread(target=add) for _ in range(4)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert recent.counts(3, 3) == [[8_000, 0, 0, 0]]
