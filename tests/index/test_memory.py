"""What the index holds stays within its bound."""

import threading

import numpy as np
import pytest

from askonce_server.index.held import INLINE_ROWS
from askonce_server.index.rows import least_bytes
from askonce_server.ports import PartitionLoading, PartitionTooLarge
from index.asking import MIB, loaded, named, recall, truth, until
from index.fake_store import (
    DIM,
    EAST,
    PARTITION,
    FakeStore,
    clustered_vectors,
    random_vectors,
    sequences_of,
)

MANY = INLINE_ROWS + 1


def test_the_partitions_asked_last_stay_and_the_bound_holds(make_index):
    store = FakeStore(64)
    names = [bytes([number]) * 32 for number in range(20)]
    for number, name in enumerate(names):
        store.add(random_vectors(500, 64, seed=number), partition=name)
    index = make_index(store, max_bytes=MIB)
    east = np.eye(64, dtype=np.float32)[0]
    for name in names:
        recall(index, store, east, partition=name)
        recall(index, store, east, partition=names[0])
        stats = index.stats()
        assert stats.used_bytes <= stats.limit_bytes == MIB
    assert 5 <= index.stats().partitions <= 8
    read = store.blocks_read
    recall(index, store, east, partition=names[0])
    recall(index, store, east, partition=names[-1])
    assert store.blocks_read == read
    recall(index, store, east, partition=names[1])
    assert store.blocks_read > read


def test_what_is_counted_is_what_the_arrays_take(index, store):
    store.add(random_vectors(1000, DIM))
    recall(index, store)
    least = 1000 * (8 + 4 * DIM)
    assert least <= index.stats().used_bytes <= least + 4096


def test_a_thousand_tenants_with_one_prompt_are_light_and_each_finds_its_own(make_index):
    store = FakeStore(384)
    vector = random_vectors(1, 384)[0]
    names = [number.to_bytes(32, "big") for number in range(1000)]
    own = {name: store.add(vector, partition=name) for name in names}
    index = make_index(store, max_bytes=8 * MIB)
    assert all(sequences_of(recall(index, store, vector, partition=name)) == own[name] for name in names)
    stats = index.stats()
    assert (stats.partitions, stats.vectors) == (1000, 1000)
    assert stats.used_bytes < 4 * MIB
    assert threading.active_count() == 1 or "askonce-index" not in {one.name for one in threading.enumerate()}


def test_a_partition_larger_than_the_memory_is_refused_by_name_and_never_read(make_index, store, caplog):
    store.add(random_vectors(20 * INLINE_ROWS, DIM))
    small = store.add(EAST, partition=b"s" * 32)
    index = make_index(store, max_bytes=MIB)
    recall(index, store, partition=b"s" * 32)
    read = store.blocks_read
    for _ in range(10):
        with pytest.raises(PartitionTooLarge):
            recall(index, store)
        assert sequences_of(recall(index, store, partition=b"s" * 32)) == small
    assert store.blocks_read == read
    assert caplog.text.count("index.max_bytes is 1048576") == 1
    assert PARTITION.hex()[:7] in caplog.text


def test_a_partition_that_is_found_too_large_while_it_is_read_is_refused_from_then_on(make_index, caplog):
    store = FakeStore(64)
    store.add(random_vectors(5000, 64))
    least = least_bytes(5000, 64)
    index = make_index(store, max_bytes=least + 1000)

    def refused():
        try:
            recall(index, store, np.eye(64, dtype=np.float32)[0])
        except PartitionTooLarge:
            return True
        except PartitionLoading:
            return False
        raise AssertionError("it does not fit")

    until(refused)
    until(lambda: not index._loader._queued)
    read = store.blocks_read
    assert all(refused() for _ in range(10))
    assert store.blocks_read == read > 0
    assert caplog.text.count("index.max_bytes") == 1
    assert index.stats().used_bytes <= least + 1000


def test_a_partition_that_shrinks_until_it_fits_is_served(make_index, store):
    numbers = store.add(random_vectors(20 * INLINE_ROWS, DIM))
    index = make_index(store, max_bytes=MIB)
    with pytest.raises(PartitionTooLarge):
        recall(index, store)
    store.remove(numbers[: 15 * INLINE_ROWS])
    index._held.popitem()[1].load_after = 0.0  # as after ten minutes
    assert sequences_of(loaded(index, store)) == sequences_of(truth(store, EAST))


def test_a_partition_that_fits_but_once_is_let_go_of_while_it_is_read_anew(make_index):
    store = FakeStore(64)
    store.add(clustered_vectors(8000, 64))
    probe = random_vectors(1, 64)[0]
    index = make_index(store, max_bytes=least_bytes(16_000, 64))
    loaded(index, store, probe)
    for round_ in range(3):
        store.add(clustered_vectors(1500, 64, seed=round_))
        assert named(loaded(index, store, probe)) == named(truth(store, probe))
        until(lambda: not index._loader._queued)
        assert named(loaded(index, store, probe)) == named(truth(store, probe))
        assert index.stats().used_bytes <= index.stats().limit_bytes


def test_a_small_partition_larger_than_the_memory_is_still_served(make_index, store):
    store.add(random_vectors(INLINE_ROWS, DIM))
    index = make_index(store, max_bytes=1024)
    for _ in range(3):
        assert sequences_of(recall(index, store)) == sequences_of(truth(store, EAST))
    assert index.stats().vectors == 0


def test_what_is_closed_holds_nothing_and_has_no_thread(make_index, store):
    store.add(random_vectors(2 * MANY, DIM))
    index = make_index(store)
    loaded(index, store)
    assert "askonce-index" in {one.name for one in threading.enumerate()}
    index.close()
    assert "askonce-index" not in {one.name for one in threading.enumerate()}
    assert index.stats().used_bytes == 0
