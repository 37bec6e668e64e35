"""Leases of one process, and of several."""

import os
import signal
import time

import pytest

from askonce_server.store import LocalLeases, SharedLeases, open_leases, open_store
from ports.leases_contract import LEASE, NOW, OTHER, SECOND, LeasesContract, Waiter, eventually
from ports.store_process import settings, start


class TestLocalLeases(LeasesContract):
    @pytest.fixture
    def leases(self):
        return LocalLeases()


@pytest.fixture
def make_leases(tmp_path):
    made = []

    def make():
        made.append(SharedLeases(tmp_path / "leases"))
        return made[-1]

    yield make
    for leases in made:
        leases.close()


@pytest.fixture
def other_process(tmp_path):
    """A function that starts another process on the same leases; it does what its lines say."""
    started = []

    def begin():
        started.append(start("lease_shared", tmp_path / "leases"))
        assert started[-1].stdout.readline() == "open\n"
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def tell(process, *words):
    """Let the other process do something; return what it says."""
    process.stdin.write(" ".join(map(str, words)) + "\n")
    process.stdin.flush()
    return process.stdout.readline().split()


class TestSharedLeases(LeasesContract):
    @pytest.fixture
    def leases(self, make_leases):
        return make_leases()


def test_what_one_process_has_no_other_has(make_leases, other_process):
    leases, other = make_leases(), other_process()
    taken = leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND)
    assert tell(other, "take", LEASE.hex(), NOW, NOW + SECOND) == ["None", str(NOW + SECOND)]
    leases.release(LEASE, taken.holder)
    holder, _ = tell(other, "take", LEASE.hex(), NOW, NOW + SECOND)
    assert leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND) == (None, NOW + SECOND)
    assert leases.release(LEASE, bytes.fromhex(holder))


@pytest.mark.parametrize("change", ["touch", "release"])
def test_who_waits_hears_what_another_process_changes(make_leases, other_process, change):
    leases, other = make_leases(), other_process()
    holder, _ = tell(other, "take", LEASE.hex(), NOW, NOW + SECOND)
    waiters = [Waiter(leases) for _ in range(3)]
    time.sleep(0.05)
    assert tell(other, "take", OTHER.hex(), NOW, NOW + SECOND)[0] != "None"
    time.sleep(0.05)
    assert {waiter.heard for waiter in waiters} == {None}
    began = time.monotonic()
    tell(other, change, LEASE.hex(), holder)
    assert [waiter.end() for waiter in waiters] == [True] * 3
    assert time.monotonic() - began < 2.0


def test_the_lease_of_a_killed_process_ends_by_itself(make_leases, other_process):
    leases, other = make_leases(), other_process()
    tell(other, "take", LEASE.hex(), NOW, NOW + SECOND)
    other.kill()
    other.communicate()
    assert leases.take(LEASE, now_ms=NOW + 999, until_ms=NOW + 9 * SECOND).holder is None
    assert leases.take(LEASE, now_ms=NOW + SECOND, until_ms=NOW + 9 * SECOND).holder is not None


def test_a_process_killed_inside_a_change_keeps_nobody(make_leases, other_process):
    leases, other = make_leases(), other_process()
    assert tell(other, "inside") == ["inside"]
    other.kill()
    other.communicate()
    assert leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND).holder is not None


def test_a_process_stopped_inside_a_change_costs_leases_and_no_time(make_leases, other_process):
    leases, other = make_leases(), other_process()
    kept = leases.take(OTHER, now_ms=NOW, until_ms=NOW + SECOND)
    assert tell(other, "inside") == ["inside"]
    os.kill(other.pid, signal.SIGSTOP)
    began = time.monotonic()
    for _ in range(20):
        assert leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND) == (None, 0)
    assert leases.take(OTHER, now_ms=NOW, until_ms=NOW + SECOND) == (None, NOW + SECOND)
    assert not leases.release(OTHER, kept.holder)
    assert time.monotonic() - began < 2.0
    other.kill()
    other.communicate()
    assert eventually(lambda: leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND).holder is not None)


def test_what_was_taken_for_nobody_is_given_back(make_leases, other_process):
    """The caller had given up by the time its lease could be had."""
    leases, other = make_leases(), other_process()
    assert tell(other, "inside") == ["inside"]
    assert leases.take(LEASE, now_ms=NOW, until_ms=NOW + 60 * SECOND) == (None, 0)
    other.kill()
    other.communicate()
    assert eventually(lambda: leases.take(OTHER, now_ms=NOW, until_ms=NOW + SECOND).holder is not None)
    assert eventually(lambda: leases.held_until(LEASE) == 0)
    assert leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND).holder is not None


def test_a_reader_that_was_killed_does_not_fill_the_leases(make_leases, other_process):
    leases, other = make_leases(), other_process()
    assert tell(other, "reading") == ["reading"]
    other.kill()
    other.communicate()
    refused = 0
    for i in range(8_000):  # each takes pages anew, as long as an old reader may see those of before
        made = leases._changes.make(lambda txn, i=i: txn.put(i.to_bytes(64, "big"), bytes(1500)) or True)
        refused += made is None
        leases._changes.make(lambda txn, i=i: txn.delete(i.to_bytes(64, "big")))
    assert refused <= 10
    assert leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND).holder is not None


def test_leases_lie_beside_the_store_and_those_of_an_ended_instance_go(tmp_path, caplog):
    place = tmp_path / "store"
    open_store(settings(place)).close()
    leases = open_leases(place, instance="one")
    assert isinstance(leases, SharedLeases)
    leases.close()
    other = open_leases(place, instance="two")
    other.close()
    assert {path.name for path in place.glob("leases-*")} == {"leases-one", "leases-two"}
    open_store(settings(place, instance="two")).close()
    assert {path.name for path in place.glob("leases-*")} == {"leases-two"}
    assert isinstance(open_leases(tmp_path / "nowhere", instance="one"), LocalLeases)
    assert "leases of its own" in caplog.text
