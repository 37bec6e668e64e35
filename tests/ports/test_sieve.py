"""SIEVE against its own description, and what it is for: many answers that nobody asks for twice."""

from itertools import islice

from hypothesis import given, settings
from hypothesis import strategies as st

from askonce_server.store.hits import SLOTS, Hits
from askonce_server.store.sieve import victims


class Queue:
    """SIEVE as published, for objects of one size: a list from the oldest to the newest, and a hand."""

    def __init__(self, capacity):
        self.capacity, self.visited, self.ids, self.hand = capacity, {}, [], None

    def ask(self, name):
        """Whether `name` is there; what is not comes in."""
        if name in self.visited:
            self.visited[name] = True
            return True
        if len(self.ids) == self.capacity:
            self.evict()
        self.ids.append(name)
        self.visited[name] = False
        return False

    def evict(self):
        at = self.ids.index(self.hand) if self.hand in self.visited else 0
        while self.visited[self.ids[at]]:
            self.visited[self.ids[at]] = False
            at = (at + 1) % len(self.ids)
        self.hand = self.ids[at + 1] if at + 1 < len(self.ids) else None
        del self.visited[self.ids.pop(at)]


class Numbered:
    """The same through `victims`, over ids that ascend."""

    def __init__(self, capacity):
        self.capacity, self.id_of, self.hits, self.hand, self.next = capacity, {}, Hits(), 0, 1

    def ask(self, name):
        if name in self.id_of:
            self.hits.mark(self.id_of[name])
            return True
        if len(self.id_of) == self.capacity:
            self.evict()
        self.id_of[name] = self.next
        self.next += 1
        return False

    def evict(self):
        ids = sorted(self.id_of.values())
        gone = next(victims(lambda start: (i for i in ids if i >= start), self.hand, self.hits.take))
        self.hand = min((number for number in ids if number > gone), default=0)
        self.id_of = {name: number for name, number in self.id_of.items() if number != gone}


@given(st.lists(st.integers(0, 12), max_size=200), st.integers(1, 6))
@settings(deadline=None)
def test_it_evicts_what_sieve_evicts(asked, capacity):
    published, ours = Queue(capacity), Numbered(capacity)
    assert [ours.ask(name) for name in asked] == [published.ask(name) for name in asked]
    assert list(ours.id_of) == published.ids


def test_each_victim_is_named_once_though_every_store_was_read():
    hits, ids = Hits(), [3, 5, 9]
    for number in ids:
        hits.mark(number)
    chosen = list(victims(lambda start: (i for i in ids if i >= start), 5, hits.take))
    assert chosen == [5, 9, 3]


def test_an_empty_store_has_no_victims():
    assert list(victims(lambda start: iter(()), 7, lambda _: False)) == []


def test_the_hand_goes_round():
    chosen = list(victims(lambda start: (i for i in (1, 2, 3) if i >= start), 3, lambda _: False))
    assert chosen == [3, 1, 2]


def test_not_all_of_a_large_store_is_looked_at_for_one_victim():
    looked = []

    def take(number):
        looked.append(number)
        return True

    chosen = list(islice(victims(lambda start: iter(range(start, 1_000_000)), 0, take), 3))
    assert len(looked) <= 4096
    assert chosen == [4096, 4097, 4098]


def test_marks_are_shared_through_the_folder_and_outlive_the_process(tmp_path):
    one, other = Hits.shared(tmp_path), Hits.shared(tmp_path)
    one.mark(7)
    one.mark(SLOTS + 8)
    assert [other.take(number) for number in (6, 7, 8)] == [False, True, True]
    assert not one.take(7)
    one.mark(9)
    del one, other
    assert Hits.shared(tmp_path).take(9)
    assert (tmp_path / "hits").stat().st_blocks * 512 >= SLOTS


def test_a_folder_that_takes_no_marks_is_said_and_does_without(tmp_path, caplog):
    hits = Hits.shared(tmp_path / "nowhere")
    hits.mark(7)
    assert hits.take(7)
    assert "not shared between processes" in caplog.text
