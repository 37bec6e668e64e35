"""What was read of a vector is used again while its partition has it, and no longer."""

import pytest

from askonce_server.store import StoreSettings, open_store
from askonce_server.store import recent as recent_module
from ports.entries import MIB
from ports.semantic_rows_contract import semantic_key, sequences, space, stored, told


@pytest.fixture
def store(tmp_path):
    opened = open_store(StoreSettings(path=tmp_path / "store", max_bytes=64 * MIB))
    yield opened
    opened.close()


@pytest.fixture
def decoded(monkeypatch):
    """How many vectors were decoded."""
    counted = []
    original = recent_module.Partitions.stored

    def count(self, partition, sequence):
        counted.append(sequence)
        return original(self, partition, sequence)

    monkeypatch.setattr(recent_module.Partitions, "stored", count)
    return counted


def test_a_commit_elsewhere_costs_no_second_decoding(store, decoded):
    store.put([told("a"), told("b")])
    numbers = sequences(store)
    first = stored(store, *numbers)
    for name in ("x", "y", "z"):
        store.put([told(name, partition="other")])
        assert stored(store, *numbers) == first
    assert decoded == numbers


def test_what_was_replaced_is_read_anew_and_the_old_is_gone(store):
    store.put([told("a")])
    (old,) = sequences(store)
    stored(store, old)
    store.put([told("a", start_ms=7)])
    (new,) = sequences(store)
    gone, found = stored(store, old, new)
    assert (gone, found.entry.answer.start_ms) == (None, 7)


def test_what_was_removed_is_gone(store):
    store.put([told("a"), told("b")])
    numbers = sequences(store)
    stored(store, *numbers)
    store.remove([semantic_key("a")])
    assert [one is None for one in stored(store, *numbers)] == [True, False]


def test_what_comes_to_the_partition_costs_no_second_decoding_of_the_rest(store, decoded):
    store.put([told("a"), told("b")])
    numbers = sequences(store)
    first = stored(store, *numbers)
    for round_, name in enumerate(("x", "y", "z"), start=3):
        store.put([told(name)])
        assert stored(store, *numbers) == first
        assert stored(store, *sequences(store))[2:] != [None] * (round_ - 2)
    assert decoded == [*numbers, *sequences(store)[2:]]


def test_what_goes_from_the_partition_costs_no_second_decoding_of_the_rest(store, decoded):
    store.put([told(name) for name in "abcd"])
    numbers = sequences(store)
    first = stored(store, *numbers)
    for gone, name in enumerate("abc", start=1):
        store.remove([semantic_key(name)])
        assert stored(store, *numbers) == [None] * gone + first[gone:]
    assert not set(decoded[4:]) & set(numbers[3:])


def test_what_comes_while_something_goes_hides_nothing(store):
    store.put([told("a"), told("b")])
    old, kept = sequences(store)
    stored(store, old, kept)
    store.put([told("c")])
    store.remove([semantic_key("a")])
    assert [one is None for one in stored(store, old, kept)] == [True, False]


def test_a_view_from_before_sees_what_it_saw(store):
    store.put([told("a"), told("b")])
    numbers = sequences(store)
    with store.read() as before:
        assert before.partition(space()).rows == 2
        store.put([told("c")])
        store.remove([semantic_key("a")])
        later = [*numbers, *sequences(store)[1:]]
        assert [one is None for one in stored(store, *later)] == [True, False, False]
        seen = before.stored_vectors(space(), later)
        assert [one is None for one in seen] == [False, False, True]


def test_a_view_that_shares_rows_with_a_newer_one_does_not_see_its_rows(store):
    store.put([told("a")])
    numbers = sequences(store)
    with store.read() as before:
        before.stored_vectors(space(), numbers)
        store.put([told("b")])
        both = sequences(store)
        assert None not in stored(store, *both)
        assert [one is None for one in before.stored_vectors(space(), both)] == [False, True]


def test_what_is_remembered_is_bounded(store, decoded, monkeypatch):
    monkeypatch.setattr(recent_module, "_MAX_BYTES", 10_000)
    store.put([told(f"q{number}") for number in range(20)])
    numbers = sequences(store)
    for elsewhere in (False, False, True, True):
        if elsewhere:
            store.put([told("elsewhere", partition="other")])
        assert None not in stored(store, *numbers)
        shelves = store._readers.recent._shelves.values()
        assert sum(len(shelf.rows) for shelf in shelves) <= 4
        assert len(store._readers._snapshot.shelves[space()].rows) <= 4
    assert len(decoded) > 60
