"""What was read of a vector is used again while its rows are the same bytes, and no longer."""

import pytest

from askonce_server.store import StoreSettings, open_store
from askonce_server.store import recent as recent_module
from askonce_server.store.layout import entry_row, vector_row
from ports.entry_store_contract import MIB
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


def change(store, database, row, changed):
    """Put other bytes in the place of a row."""
    with store._opened.env.begin(write=True, db=getattr(store._opened.databases, database)) as txn:
        value = bytearray(txn.get(row))
        changed(value)
        txn.put(row, bytes(value))


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


def test_an_entry_that_begins_otherwise_is_read_anew(store):
    store.put([told("a", rule_id="one")])
    (number,) = sequences(store)
    (before,) = stored(store, number)
    change(
        store,
        "entries",
        entry_row(semantic_key("a")),
        lambda value: value.__setitem__(slice(0, 4), b"\0" * 4),
    )
    assert (before is None, stored(store, number)) == (False, [None])


@pytest.mark.parametrize("place", [0, 3, 4, 11])
def test_a_vector_that_begins_otherwise_is_read_anew(store, place):
    store.put([told("a")])
    (number,) = sequences(store)
    stored(store, number)

    def flip(value):
        value[place] ^= 1

    change(store, "vectors", vector_row(space(), number), flip)
    assert stored(store, number) == [None]


def test_what_is_remembered_is_bounded(store, decoded, monkeypatch):
    monkeypatch.setattr(recent_module, "_MAX_BYTES", 10_000)
    store.put([told(f"q{number}") for number in range(20)])
    numbers = sequences(store)
    for _ in range(3):
        store.put([told("elsewhere", partition="other")])
        assert None not in stored(store, *numbers)
    assert len(store._readers.recent._known) <= 4
    assert len(decoded) > 20
