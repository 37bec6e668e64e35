"""What every Leases does: one caller at a time fills a miss, and those who wait hear of it."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

NOW, SECOND = 1_700_000_000_000, 1_000
LEASE, OTHER = b"a" * 64, b"b" * 64


def eventually(holds, seconds=10.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if holds():  # asked once: to ask may be to take
            return True
        time.sleep(0.001)
    return False


class Waiter:
    """One who waits in a thread."""

    def __init__(self, leases, lease=LEASE, *, mark=None, seconds=10.0):
        self.heard = None
        self.seconds = None
        mark = leases.mark() if mark is None else mark
        self._began = time.monotonic()
        self._thread = threading.Thread(target=self._wait, args=(leases, lease, mark, seconds))
        self._thread.start()

    def _wait(self, leases, lease, mark, seconds):
        self.heard = leases.wait(lease, mark, seconds=seconds)
        self.seconds = time.monotonic() - self._began

    def end(self):
        self._thread.join(20)
        assert not self._thread.is_alive()
        return self.heard


class LeasesContract:
    @pytest.fixture
    def leases(self):
        raise NotImplementedError

    def test_one_has_it_until_it_ends(self, leases):
        taken = leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND)
        assert (len(taken.holder), taken.until_ms) == (16, NOW + SECOND)
        assert leases.take(LEASE, now_ms=NOW + 999, until_ms=NOW + 5 * SECOND) == (None, NOW + SECOND)
        assert leases.held_until(LEASE) == NOW + SECOND
        later = leases.take(LEASE, now_ms=NOW + SECOND, until_ms=NOW + 3 * SECOND)
        assert later.holder not in {None, taken.holder}
        assert leases.held_until(LEASE) == NOW + 3 * SECOND

    def test_leases_are_apart(self, leases):
        assert leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND).holder is not None
        assert leases.held_until(OTHER) == 0
        assert leases.take(OTHER, now_ms=NOW, until_ms=NOW + SECOND).holder is not None

    def test_its_holder_lets_go_of_it_and_nobody_else(self, leases):
        taken = leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND)
        assert not leases.release(LEASE, b"x" * 16)
        assert not leases.release(LEASE, b"")
        assert not leases.release(OTHER, taken.holder)
        assert leases.release(LEASE, taken.holder)
        assert not leases.release(LEASE, taken.holder)
        assert leases.held_until(LEASE) == 0
        assert leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND).holder is not None

    def test_who_was_too_late_does_not_let_go_of_the_next_one_s(self, leases):
        first = leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND)
        second = leases.take(LEASE, now_ms=NOW + SECOND, until_ms=NOW + 2 * SECOND)
        assert not leases.release(LEASE, first.holder)
        assert leases.held_until(LEASE) == NOW + 2 * SECOND
        assert leases.release(LEASE, second.holder)

    def test_of_many_at_once_one_has_it(self, leases):
        with ThreadPoolExecutor(16) as pool:
            taken = list(
                pool.map(lambda _: leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND), range(100))
            )
        assert sum(one.holder is not None for one in taken) == 1
        assert {one.until_ms for one in taken} == {NOW + SECOND}

    def test_those_who_wait_hear_that_it_was_let_go_of(self, leases):
        taken = leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND)
        waiters = [Waiter(leases) for _ in range(20)]
        time.sleep(0.05)
        assert {waiter.heard for waiter in waiters} == {None}
        leases.release(LEASE, taken.holder)
        assert [waiter.end() for waiter in waiters] == [True] * 20
        assert max(waiter.seconds for waiter in waiters) < 5.0

    def test_those_who_wait_hear_of_an_answer(self, leases):
        leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND)
        waiter = Waiter(leases)
        time.sleep(0.05)
        leases.touch(LEASE)
        assert waiter.end() is True
        assert leases.held_until(LEASE) == NOW + SECOND

    def test_what_changed_before_anybody_waited_is_not_missed(self, leases):
        taken = leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND)
        mark = leases.mark()
        leases.touch(LEASE)
        assert Waiter(leases, mark=mark).end() is True
        mark = leases.mark()
        leases.release(LEASE, taken.holder)
        assert Waiter(leases, mark=mark).end() is True

    def test_what_changed_before_the_mark_is_known_already(self, leases):
        leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND)
        leases.touch(LEASE)
        assert Waiter(leases, seconds=0.05).end() is False

    def test_changes_of_another_lease_wake_nobody(self, leases):
        leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND)
        other = leases.take(OTHER, now_ms=NOW, until_ms=NOW + SECOND)
        waiter = Waiter(leases, seconds=0.3)
        time.sleep(0.05)
        leases.touch(OTHER)
        leases.release(OTHER, other.holder)
        assert waiter.end() is False
        assert waiter.seconds >= 0.3

    def test_nobody_waits_for_what_nobody_has(self, leases):
        assert Waiter(leases).end() is True

    def test_nobody_waits_after_the_end(self, leases):
        leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND)
        waiter = Waiter(leases)
        time.sleep(0.05)
        assert not leases.closed
        leases.close()
        assert leases.closed
        waiter.end()
        assert waiter.seconds < 5.0

    def test_leases_that_are_over_are_let_go_of(self, leases):
        for i in range(3_000):
            assert leases.take(i.to_bytes(64, "big"), now_ms=NOW + i, until_ms=NOW + i + 1).holder is not None
        assert sum(leases.held_until(i.to_bytes(64, "big")) > 0 for i in range(3_000)) <= 1_100

    def test_leaders_follow_each_other_until_all_were_served(self, leases):
        """As a herd does: who does not lead waits, and looks again."""
        led, lock = [], threading.Lock()

        def call(number):
            while True:
                mark = leases.mark()
                taken = leases.take(LEASE, now_ms=NOW, until_ms=NOW + SECOND)
                if taken.holder is not None:
                    with lock:
                        led.append(number)
                    assert leases.release(LEASE, taken.holder)
                    return
                leases.wait(LEASE, mark, seconds=10)

        threads = [threading.Thread(target=call, args=(n,)) for n in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert sorted(led) == list(range(20))
