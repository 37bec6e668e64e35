"""Large partitions are read off the request path, and sketched."""

import time

import numpy as np
import pytest

from askonce_server.index.held import INLINE_ROWS
from askonce_server.ports import PartitionLoading
from index.asking import loaded, named, recall, truth, until
from index.fake_store import (
    DIM,
    EAST,
    NORTH,
    FakeStore,
    clustered_vectors,
    random_vectors,
    sequences_of,
)

MANY = INLINE_ROWS + 1


def test_a_large_partition_is_loaded_off_the_request_path(index, store):
    store.add(random_vectors(MANY, DIM))
    store.held_up.clear()
    began = time.monotonic()
    for _ in range(10):
        with pytest.raises(PartitionLoading):
            recall(index, store)
    assert time.monotonic() - began < 1
    store.held_up.set()
    assert sequences_of(loaded(index, store)) == sequences_of(truth(store, EAST))


def test_a_large_partition_is_loaded_once(index, store):
    store.add(random_vectors(5 * MANY, DIM))
    loaded(index, store)
    blocks = store.blocks_read
    for _ in range(5):
        recall(index, store)
    assert store.blocks_read == blocks <= 5 * MANY // 1024 + 1


def test_each_block_is_read_in_a_view_of_its_own(index, store, monkeypatch):
    store.add(random_vectors(3 * MANY, DIM))
    opened = []
    read = store.read
    monkeypatch.setattr(index._loader, "_read", lambda: opened.append(1) or read())
    loaded(index, store)
    assert len(opened) == 3 * MANY // 1024 + 1
    assert store.views == 0


def test_while_a_large_partition_loads_others_are_served(index, store):
    small = store.add([EAST], partition=b"s" * 32)
    recall(index, store, partition=b"s" * 32)
    store.add(random_vectors(MANY, DIM))
    store.held_up.clear()
    with pytest.raises(PartitionLoading):
        recall(index, store)
    assert sequences_of(recall(index, store, partition=b"s" * 32)) == small
    store.held_up.set()
    loaded(index, store)


def test_what_is_stored_and_removed_while_it_loads_is_right_afterwards(index, store):
    numbers = store.add(random_vectors(4 * MANY, DIM))
    with pytest.raises(PartitionLoading):
        recall(index, store)
    random = np.random.default_rng(0)
    for round_ in range(50):
        store.remove(random.choice(numbers, 20))
        store.add(random_vectors(5, DIM, seed=100 + round_))
    for vector in random_vectors(30, DIM, seed=9):
        assert sequences_of(loaded(index, store, vector)) == sequences_of(truth(store, vector))


def test_many_new_rows_at_once_are_read_off_the_request_path_too(index, store):
    store.add(random_vectors(100, DIM))
    recall(index, store)
    store.add(random_vectors(2 * MANY, DIM, seed=1))
    with pytest.raises(PartitionLoading):
        recall(index, store)
    assert sequences_of(loaded(index, store)) == sequences_of(truth(store, EAST))


def test_a_large_partition_of_which_half_is_dead_is_served_while_it_is_read_anew(index, store):
    numbers = store.add(random_vectors(4 * MANY, DIM))
    loaded(index, store)
    store.remove(numbers[: 2 * MANY + 100])
    store.held_up.clear()
    for _ in range(5):
        assert sequences_of(recall(index, store)) == sequences_of(truth(store, EAST, view=unhindered(store)))
    store.held_up.set()
    until(lambda: index.stats().vectors == 2 * MANY - 100)
    assert sequences_of(recall(index, store)) == sequences_of(truth(store, EAST))


def unhindered(store):
    """A view that is not held up."""
    twin = FakeStore(store.dim)
    twin.parts = store.parts
    return twin.view


def test_a_view_from_before_a_large_partition_was_loaded_is_not_guessed_at(index, store):
    numbers = store.add(random_vectors(MANY, DIM))
    view = store.view
    store.remove(numbers[:5])
    store.add(NORTH)
    loaded(index, store)
    with pytest.raises(PartitionLoading):
        recall(index, store, view=view)
    assert recall(index, store)


def test_a_store_that_went_back_is_read_anew(index, store):
    store.add(random_vectors(MANY + 50, DIM))
    before = dict(store.parts)
    last = store.add(EAST)
    loaded(index, store)
    store.parts = before
    assert last[0] not in sequences_of(loaded(index, store))
    assert sequences_of(loaded(index, store)) == sequences_of(truth(store, EAST))


def test_a_growing_partition_is_sketched_and_sketched_again_off_the_request_path(index, make_index):
    store = FakeStore(64)
    index = make_index(store)
    store.add(clustered_vectors(INLINE_ROWS, 64))
    recall(index, store, random_vectors(1, 64)[0])
    sketched = []
    for round_ in range(12):
        store.add(clustered_vectors(1000, 64, seed=10 + round_))
        for vector in clustered_vectors(5, 64, seed=round_):
            assert named(recall(index, store, vector)) == named(truth(store, vector))
        until(lambda: not index._loader._queued)
        rows = next(iter(index._held.values())).contents.rows
        sketched.append(0 if rows.sketch is None else rows.sketch.count)
        assert not rows.overgrown
    assert sketched == sorted(sketched)
    assert len(set(sketched)) >= 4
