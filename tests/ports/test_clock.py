"""Time goes on steadily, whatever the wall clock does."""

import logging
import threading
import time

import pytest

from askonce_server.clock import Anchor, BootClock, SystemTime
from askonce_server.ports import StoreUnavailable
from askonce_server.store import open_store
from ports.store_process import settings

S = 1_000_000_000
HOUR = 3600 * S
WALL = 1_700_000_000 * S


class Machine:
    """The clocks of a machine that a test sets."""

    def __init__(self, *, boot_id="boot-1", wall=WALL, boot=50 * S):
        self.boot_id = boot_id
        self.wall = wall
        self.boot = boot

    def wall_ns(self):
        return self.wall

    def boot_ns(self):
        return self.boot

    def pass_(self, ns):
        self.wall += ns
        self.boot += ns


class Kept:
    """Anchors in memory: the first of a boot wins."""

    def __init__(self):
        self.anchor = None

    def settle_anchor(self, proposed):
        if self.anchor is None or self.anchor.boot_id != proposed.boot_id:
            self.anchor = proposed
        return self.anchor


@pytest.fixture
def store(tmp_path):
    opened = open_store(settings(tmp_path / "store"))
    yield opened
    opened.close()


def test_now_is_the_wall_clock_at_first():
    assert BootClock(source=Machine()).now_ms() == WALL // 1_000_000


@pytest.mark.parametrize("jump", [HOUR, -HOUR])
def test_a_wall_jump_moves_nothing_and_is_logged_once(jump, caplog):
    machine = Machine()
    clock = BootClock(source=machine)
    before = clock.now_ms()
    machine.wall += jump
    with caplog.at_level(logging.WARNING):
        for _ in range(20):
            machine.pass_(S // 2)
            clock.now_ms()
    assert clock.now_ms() - before == 10_000
    assert [f"{jump // S:+.1f} s" in r.getMessage() for r in caplog.records] == [True]


def test_every_jump_is_logged(caplog):
    machine = Machine()
    clock = BootClock(source=machine)
    clock.now_ms()
    with caplog.at_level(logging.WARNING):
        for jump in (HOUR, -HOUR, 2 * S, S // 2):
            machine.wall += jump
            machine.pass_(2 * S)
            clock.now_ms()
    assert len(caplog.records) == 3


def test_time_passes_while_the_machine_sleeps():
    machine = Machine()
    clock = BootClock(source=machine)
    before = clock.now_ms()
    machine.pass_(8 * HOUR)
    assert clock.now_ms() - before == 8 * 3600 * 1000


def test_processes_of_one_boot_share_the_first_reading():
    kept, machine = Kept(), Machine()
    first = BootClock(kept, source=machine)
    machine.pass_(10 * S)
    machine.wall += HOUR
    second = BootClock(kept, source=machine)
    assert second.now_ms() == first.now_ms() == (WALL + 10 * S) // 1_000_000


def test_a_new_boot_reads_the_wall_clock_anew():
    kept = Kept()
    BootClock(kept, source=Machine())
    restarted = Machine(boot_id="boot-2", wall=WALL + HOUR, boot=3 * S)
    assert BootClock(kept, source=restarted).now_ms() == (WALL + HOUR) // 1_000_000


def test_the_store_keeps_the_first_anchor_of_a_boot(store, tmp_path):
    first, second = Anchor("boot-1", WALL, 50 * S), Anchor("boot-1", WALL + HOUR, 60 * S)
    later = Anchor("boot-2", WALL + 2 * HOUR, S)
    assert store.settle_anchor(first) == first
    assert store.settle_anchor(second) == first
    worker = []
    thread = threading.Thread(target=lambda: worker.append(store.settle_anchor(second)))
    thread.start()
    thread.join()
    assert worker == [first]
    store.close()
    reopened = open_store(settings(tmp_path / "store"))
    assert reopened.settle_anchor(second) == first
    assert reopened.settle_anchor(later) == later
    assert reopened.settle_anchor(first) == first
    reopened.close()


def test_a_clock_on_a_store_that_failed_says_so(store):
    store.close()
    with pytest.raises(StoreUnavailable, match="closed"):
        BootClock(store)


def test_the_clocks_of_this_machine_agree_with_its_wall_clock():
    clock = BootClock(source=SystemTime())
    assert abs(clock.now_ms() - time.time() * 1000) < 2_000
    first = clock.now_ms()
    assert clock.now_ms() >= first


def test_a_system_without_a_boot_clock_has_an_anchor_per_process(monkeypatch):
    monkeypatch.delattr(time, "CLOCK_BOOTTIME", raising=False)
    one, two = SystemTime(), SystemTime()
    assert one.boot_id != two.boot_id
    assert abs(BootClock(source=one).now_ms() - time.time() * 1000) < 2_000
