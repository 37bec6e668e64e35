"""Keeping counts: what the store cannot take now it takes later, and nobody else is any the worse."""

from __future__ import annotations

from askonce_server.ports import HOUR_MS, StoreUnavailable
from askonce_server.service.call import Call
from askonce_server.service.keeping import CountsKeeper
from askonce_server.service.tallies import Tallies
from askonce_server.store import MemoryEntryStore
from core.builders import NOW, said
from core.cache import Cache, Clock

SERVER = b"server"


class Failing(MemoryEntryStore):
    """A store that takes no counts while it has a fault."""

    fault: Exception | None = None
    tried = 0

    def add_counts(self, server, counted, *, at_ms):
        self.tried += 1
        if self.fault is not None:
            raise self.fault
        super().add_counts(server, counted, at_ms=at_ms)


class Turns:
    def __init__(self):
        self.given_back = False

    def take(self):
        return False

    def give_back(self):
        self.given_back = True


def keeper_of(store, tallies, clock=None, **more):
    return CountsKeeper(tallies, store, clock or Clock(), server=SERVER, **more)


def count(tallies, times):
    for _ in range(times):
        tallies.decided(Cache().lookup(said("hi")), Call())


def decisions(store):
    counted = store.counts_since(0, server=SERVER).counted
    return sum(counts.get("miss.no_entry", 0) for counts in counted.values())


def test_what_cannot_be_kept_is_kept_later(caplog):
    store, tallies = Failing(), Tallies()
    keeper = keeper_of(store, tallies)
    for fault in (StoreUnavailable("full"), RuntimeError("planted"), OSError("disk")):
        count(tallies, 1)
        store.fault = fault
        keeper.keep()
        assert decisions(store) == 0
    store.fault = None
    keeper.keep()
    assert decisions(store) == 3
    assert caplog.messages.count("counts could not be kept") == 2


def test_nothing_is_written_where_nothing_was_counted():
    store, tallies = Failing(), Tallies()
    keeper = keeper_of(store, tallies)
    count(tallies, 1)
    for _ in range(5):
        keeper.keep()
    assert store.tried == 1


def test_whoever_ends_has_everything_kept_whoevers_turn_it_is():
    store, tallies, turns = Failing(), Tallies(), Turns()
    keeper = keeper_of(store, tallies, turns=turns, seconds=0.01)
    keeper.start()
    count(tallies, 4)
    keeper.close()
    assert turns.given_back
    assert (decisions(store), store.tried) == (4, 1)


def test_what_is_asked_since_a_time_has_what_is_not_kept_yet():
    store, tallies, clock = Failing(), Tallies(), Clock()
    keeper = keeper_of(store, tallies, clock)
    count(tallies, 2)
    keeper.keep()
    count(tallies, 3)
    clock.now = NOW + HOUR_MS
    told = keeper.since(NOW)
    assert sum(counts.get("miss.no_entry", 0) for counts in told.counted.values()) == 5
    assert told.since_ms == NOW - NOW % HOUR_MS
    told = keeper.since(NOW + HOUR_MS)
    assert sum(counts.get("miss.no_entry", 0) for counts in told.counted.values()) == 3
    assert told.since_ms == NOW + HOUR_MS - (NOW + HOUR_MS) % HOUR_MS
    assert decisions(store) == 2
