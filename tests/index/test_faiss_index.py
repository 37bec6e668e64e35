"""What is particular to the index that holds partitions in memory: what it reads, and how it breaks."""

import numpy as np
import pytest

from askonce_server.index.held import INLINE_ROWS
from askonce_server.ports import PartitionLoading, PartitionUnreadable, StoreUnavailable
from index.asking import loaded, named, recall, truth, until
from index.fake_store import (
    DIM,
    EAST,
    NORTH,
    FakeStore,
    between,
    clustered_vectors,
    random_vectors,
    sequences_of,
)
from index.vector_index_contract import VectorIndexContract


class TestFaissVectorIndex(VectorIndexContract):
    """The index keeps the contract."""


# What is read, and when


def test_what_is_held_is_not_read_again(index, store):
    store.add(random_vectors(100, DIM))
    recall(index, store)
    before = store.blocks_read
    for _ in range(20):
        recall(index, store)
    assert store.blocks_read == before


def test_only_what_is_new_is_read(index, store):
    store.add(random_vectors(1000, DIM))
    recall(index, store)
    asked = []
    view = store.view
    store.add(random_vectors(3, DIM, seed=1))
    view = store.view
    vectors = view.vectors
    view.vectors = lambda *args, after, **changes: (
        asked.append(after) or vectors(*args, after=after, **changes)
    )
    recall(index, store, view=view)
    assert asked == [1000]


def test_a_recall_reads_little_more_than_it_returns(index, store):
    store.add(random_vectors(1000, DIM))
    recall(index, store)
    store.rows_read = 0
    recall(index, store)
    assert store.rows_read <= 12


def test_a_dead_row_is_asked_for_once(index, store):
    numbers = store.add([EAST] * 400)
    store.add(random_vectors(1000, DIM))
    recall(index, store)
    store.remove(numbers[50:])
    recall(index, store)
    store.rows_read = 0
    assert sequences_of(recall(index, store)) == numbers[49:39:-1]
    assert store.rows_read <= 60


def test_a_partition_of_which_half_is_dead_is_read_anew(index, store):
    numbers = store.add(random_vectors(1000, DIM))
    recall(index, store)
    store.remove(numbers[:600])
    recall(index, store)
    assert index.stats().vectors == 400


def test_replacing_the_same_rows_for_ever_does_not_grow_the_index(index, store):
    numbers = store.add(random_vectors(100, DIM))
    largest = 0
    for _ in range(1000):
        store.remove(numbers[:10])
        numbers = numbers[10:] + store.add(random_vectors(10, DIM))
        recall(index, store)
        largest = max(largest, index.stats().used_bytes)
    assert index.stats().vectors <= 2 * 100 + 32
    assert largest < 100_000


# Faults


def test_a_broken_partition_is_read_anew(index, store, caplog):
    numbers = store.add([EAST, NORTH])
    recall(index, store)
    (held,) = index._held.values()
    held.contents = "rubbish"
    assert sequences_of(recall(index, store)) == numbers
    assert "read anew" in caplog.text
    assert index.stats().vectors == 2
    assert index.stats().used_bytes == next(iter(index._held.values())).used_bytes


def test_a_store_that_cannot_be_read_is_said_and_later_read(index, store):
    numbers = store.add([EAST, NORTH])
    view = store.view

    def fail(*args, **changes):
        raise StoreUnavailable("gone")

    view.vectors = fail
    with pytest.raises(StoreUnavailable):
        recall(index, store, view=view)
    assert sequences_of(recall(index, store)) == numbers
    view = store.view
    view.stored_vectors = fail
    with pytest.raises(StoreUnavailable):
        recall(index, store, view=view)
    assert sequences_of(recall(index, store)) == numbers


def test_a_load_that_fails_is_tried_again_after_a_pause(index, store, caplog):
    store.add(random_vectors((INLINE_ROWS + 1), DIM))
    view = store.view
    store.broken = True
    with pytest.raises(PartitionLoading):
        recall(index, store, view=view)
    until(lambda: "the store is broken" in caplog.text)
    for _ in range(20):
        with pytest.raises(PartitionUnreadable):
            recall(index, store, view=view)
    assert caplog.text.count("the store is broken") == 1
    store.broken = False
    assert loaded(index, store)


def test_many_dead_copies_of_one_question_do_not_hide_the_live_one(make_index):
    store = FakeStore(64)
    index = make_index(store)
    store.add(clustered_vectors(8000, 64))
    question = random_vectors(1, 64, seed=3)[0]
    copies = store.add(np.repeat([question], 3000, axis=0))
    loaded(index, store, question)
    store.remove(copies[:-1])
    assert sequences_of(recall(index, store, question))[0] == copies[-1]
    assert named(recall(index, store, question)) == named(truth(store, question))
    store.rows_read = 0
    recall(index, store, question)
    assert store.rows_read < 40


def test_a_cosine_is_the_same_wherever_its_vector_stands(index, store):
    store.add(np.repeat([between(0.37)], 101, axis=0))
    assert len({one.similarity for one in recall(index, store, between(0.8), k=101)}) == 1
