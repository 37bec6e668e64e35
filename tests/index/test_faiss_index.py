import threading
import time

import numpy as np
import pytest

from askonce_server.index import FaissVectorIndex, NumpyVectorIndex
from askonce_server.index.held import INLINE_ROWS
from askonce_server.ports import PartitionLoading, StoreUnavailable
from index.fake_store import (
    PARTITION,
    FakeStore,
    always,
    clustered_vectors,
    random_vectors,
    sequences_of,
    unexpired,
)
from index.vector_index_contract import DIM, EAST, NORTH, VectorIndexContract, between

MIB = 1 << 20
MANY = INLINE_ROWS + 1


@pytest.fixture
def make_index():
    made = []

    def make(store, *, max_bytes=64 * MIB):
        made.append(FaissVectorIndex(store.read, max_bytes=max_bytes))
        return made[-1]

    yield make
    for index in made:
        index.close()


@pytest.fixture
def store():
    return FakeStore(DIM)


@pytest.fixture
def index(make_index, store):
    return make_index(store)


class TestFaissVectorIndex(VectorIndexContract):
    @pytest.fixture
    def make_index(self, make_index):
        return make_index


def recall(index, store, vector=EAST, *, k=10, alive=always, partition=PARTITION, view=None):
    return index.recall(view or store.view, partition, vector, k=k, alive=alive)


def loaded(index, store, vector=EAST, *, seconds=20, **changes):
    """What is recalled once the partition is loaded."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return recall(index, store, vector, **changes)
        except PartitionLoading:
            assert time.monotonic() < deadline, "it never was loaded"
            time.sleep(0.005)


def until(true, *, seconds=20):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def truth(store, vector, *, k=10, alive=always, view=None, partition=PARTITION):
    return NumpyVectorIndex().recall(view or store.view, partition, vector, k=k, alive=alive)


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


# Large partitions


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


# Memory


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


def test_a_partition_larger_than_the_memory_is_never_held_and_said_once(make_index, store, caplog):
    store.add(random_vectors(20 * INLINE_ROWS, DIM))
    index = make_index(store, max_bytes=MIB)

    def refused():
        with pytest.raises(PartitionLoading):
            recall(index, store)
        return "index.max_bytes" in caplog.text

    until(refused)
    until(lambda: not index._loader._queued)
    read = store.blocks_read
    for _ in range(10):
        assert refused()
    time.sleep(0.05)
    assert store.blocks_read == read
    assert caplog.text.count("index.max_bytes") == 1
    assert index.stats().used_bytes <= MIB


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
    store.add(random_vectors(MANY, DIM))
    view = store.view
    store.broken = True
    with pytest.raises(PartitionLoading):
        recall(index, store, view=view)
    until(lambda: "the store is broken" in caplog.text)
    for _ in range(20):
        with pytest.raises(PartitionLoading):
            recall(index, store, view=view)
    assert caplog.text.count("the store is broken") == 1
    store.broken = False
    assert loaded(index, store)


# Threads


class Crowd:
    """Threads that recall from a few partitions, and one that changes these, for some seconds."""

    def __init__(self, index, store, names, *, seconds):
        self.index, self.store, self.names = index, store, names
        self.wrong, self.checked = [], 0
        self._end = time.monotonic() + seconds

    def run(self, threads):
        work = [threading.Thread(target=self._guarded, args=(self.ask, seed)) for seed in range(threads)]
        work.append(threading.Thread(target=self._guarded, args=(self.change, 99)))
        for thread in work:
            thread.start()
        for thread in work:
            thread.join(60)

    def _guarded(self, act, seed):
        random = np.random.default_rng(seed)
        mine = {name: [] for name in self.names}
        try:
            while time.monotonic() < self._end:
                name = self.names[random.integers(len(self.names))]
                act(name, random, mine[name])
        except BaseException as fault:
            self.wrong.append(fault)

    def ask(self, name, random, _):
        vector = random_vectors(1, self.store.dim, seed=int(random.integers(1 << 30)))[0]
        view = self.store.view
        found = named(recall(self.index, self.store, vector, partition=name, view=view))
        if found != named(truth(self.store, vector, partition=name, view=view)):
            self.wrong.append((name, found))
        self.checked += 1

    def change(self, name, random, mine):
        mine += self.store.add(clustered_vectors(int(random.integers(1, 20)), self.store.dim), partition=name)
        if len(mine) > 100:
            self.store.remove(mine[:80], partition=name)
            del mine[:80]
        time.sleep(0.001)


def test_recalls_are_right_while_others_store_remove_and_evict(make_index):
    store = FakeStore(16)
    names = [bytes([number]) * 32 for number in range(6)]
    for number, name in enumerate(names):
        store.add(clustered_vectors(300 * (number + 1), 16, seed=number), partition=name)
    index = make_index(store, max_bytes=200_000)
    crowd = Crowd(index, store, names, seconds=4)
    crowd.run(32)
    assert crowd.wrong == []
    assert crowd.checked > 100
    assert index.stats().used_bytes <= 200_000


# Agreement with the judge


@pytest.mark.parametrize("make", [random_vectors, clustered_vectors])
def test_it_agrees_with_the_judge_also_after_removals_and_expiry(make_index, make):
    dim, count = 64, 1000
    store = FakeStore(dim)
    rows = make(count, dim, seed=1)
    numbers = store.add(rows[: count // 2]) + store.add(rows[count // 2 :], ttl_ms=0)
    index = make_index(store)
    probes = make(300, dim, seed=2)
    for at, probe in enumerate(probes):
        if at % 30 == 0:
            store.remove(np.random.default_rng(at).choice(numbers, 30))
            numbers += store.add(make(20, dim, seed=100 + at))
        view = store.view
        for alive in (always, unexpired):
            got = named(recall(index, store, probe, alive=alive, view=view))
            assert got == named(truth(store, probe, alive=alive, view=view))


def named(neighbors):
    return [(one.entry.store_id, one.similarity) for one in neighbors]


def test_a_cosine_is_the_same_wherever_its_vector_stands(index, store):
    store.add(np.repeat([between(0.37)], 101, axis=0))
    assert len({one.similarity for one in recall(index, store, between(0.8), k=101)}) == 1
