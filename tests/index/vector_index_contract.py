"""What every VectorIndex does; the test module of each adapter subclasses `VectorIndexContract`.

The fixtures `store` and `index` are the module's.
"""

import numpy as np
import pytest

from askonce_server.ports import IndexStats
from index.fake_store import (
    DIM,
    EAST,
    NORTH,
    PARTITION,
    always,
    between,
    random_vectors,
    sequences_of,
    unexpired,
)

OTHER = b"o" * 32


class VectorIndexContract:
    def recall(self, index, store, vector, *, k=10, alive=always, partition=PARTITION, view=None):
        return index.recall(view or store.view, partition, vector, k=k, alive=alive)

    def test_an_empty_partition_has_no_neighbours(self, index, store):
        assert self.recall(index, store, EAST) == []

    def test_the_nearest_come_first_with_their_cosines(self, index, store):
        far, near, middle = store.add([between(0.1), between(0.9), between(0.5)])
        found = self.recall(index, store, EAST)
        assert sequences_of(found) == [near, middle, far]
        wanted = [float(np.dot(EAST.astype(float), between(share))) for share in (0.9, 0.5, 0.1)]
        assert [one.similarity for one in found] == pytest.approx(wanted, abs=1e-7)
        assert found[0].row.vector == between(0.9).tobytes()

    def test_no_more_than_k_are_returned(self, index, store):
        store.add(random_vectors(50, DIM))
        assert [len(self.recall(index, store, EAST, k=k)) for k in (0, 1, 10, 49, 50, 51)] == [
            0,
            1,
            10,
            49,
            50,
            50,
        ]

    def test_an_identical_vector_has_the_cosine_one(self, index, store):
        vectors = random_vectors(200, DIM, seed=3)
        numbers = store.add(vectors)
        for number, vector in zip(numbers, vectors, strict=True):
            first = self.recall(index, store, vector, k=1)[0]
            assert first.entry.store_id == number
            assert 1 - 1e-6 <= first.similarity <= 1

    def test_an_opposite_vector_has_the_cosine_minus_one(self, index, store):
        store.add(-EAST)
        assert [one.similarity for one in self.recall(index, store, EAST)] == [-1]

    def test_of_equally_near_ones_the_newest_is_first(self, index, store):
        numbers = store.add([NORTH, EAST, NORTH, EAST, NORTH, EAST, EAST])
        want = [numbers[place] for place in (6, 5, 3, 1, 4, 2, 0)]
        assert sequences_of(self.recall(index, store, EAST)) == want
        assert sequences_of(self.recall(index, store, EAST, k=2)) == want[:2]

    def test_many_equal_vectors_are_told_by_their_age_alone(self, index, store):
        same = random_vectors(1, DIM, seed=7)[0]
        numbers = store.add(np.repeat([same], 300, axis=0))
        assert sequences_of(self.recall(index, store, same)) == numbers[:-11:-1]

    def test_what_is_not_alive_is_passed_over(self, index, store):
        store.add([EAST] * 100, ttl_ms=0)
        live = store.add([between(share) for share in (0.2, 0.4, 0.6)])
        assert sequences_of(self.recall(index, store, EAST, alive=unexpired)) == live[::-1]
        assert len(self.recall(index, store, EAST)) == 10

    def test_what_was_removed_is_not_found_from_that_moment(self, index, store):
        first, second = store.add([EAST, between(0.9)])
        assert sequences_of(self.recall(index, store, EAST)) == [first, second]
        store.remove([first])
        assert sequences_of(self.recall(index, store, EAST)) == [second]
        store.remove([second])
        assert self.recall(index, store, EAST) == []

    def test_what_was_stored_is_found_from_that_moment(self, index, store):
        for round_ in range(40):
            number = store.add(random_vectors(1, DIM, seed=round_))[0]
            newest = store.view.vectors(PARTITION, dim=DIM, after=number - 1, limit=1).vectors[0]
            assert sequences_of(self.recall(index, store, newest, k=1)) == [number]

    def test_a_view_never_shows_what_is_newer_than_it(self, index, store):
        old = store.add([between(0.5)])
        view = store.view
        new = store.add([EAST])
        assert sequences_of(self.recall(index, store, EAST)) == new + old
        assert sequences_of(self.recall(index, store, EAST, view=view)) == old

    def test_a_view_shows_what_was_removed_after_it_began(self, index, store):
        first, second = store.add([EAST, NORTH])
        view = store.view
        store.remove([first])
        assert sequences_of(self.recall(index, store, EAST)) == [second]
        assert sequences_of(self.recall(index, store, EAST, view=view)) == [first, second]
        assert sequences_of(self.recall(index, store, EAST)) == [second]

    def test_a_view_from_before_the_first_recall_is_served_from_what_it_shows(self, index, store):
        first = store.add([EAST])
        views = [store.view]
        for _ in range(3):
            store.remove(store.add([between(0.9)]))
            views.append(store.view)
        store.remove(first)
        last = store.add([NORTH])
        assert sequences_of(self.recall(index, store, EAST)) == last
        for view in views:
            assert sequences_of(self.recall(index, store, EAST, view=view)) == first

    def test_partitions_know_nothing_of_each_other(self, index, store):
        here = store.add([NORTH])
        there = store.add([EAST], partition=OTHER)
        assert sequences_of(self.recall(index, store, EAST)) == here
        assert sequences_of(self.recall(index, store, EAST, partition=OTHER)) == there

    def test_vectors_of_another_size_are_not_seen(self, index, store):
        store.add([EAST])
        assert self.recall(index, store, np.ones(1, np.float32)) == []

    def test_a_vector_may_be_read_only_or_part_of_another_array(self, index, store):
        number = store.add([EAST])
        strided = np.zeros((DIM, 2), np.float32)
        strided[:, 0] = EAST
        assert sequences_of(self.recall(index, store, strided[:, 0])) == number
        assert sequences_of(self.recall(index, store, np.frombuffer(EAST.tobytes(), np.float32))) == number

    def test_a_partition_that_comes_back_after_it_was_emptied_holds_only_what_is_new(self, index, store):
        store.remove(store.add([EAST] * 5))
        assert self.recall(index, store, EAST) == []
        new = store.add([NORTH])
        assert sequences_of(self.recall(index, store, EAST)) == new

    def test_it_counts(self, index, store):
        store.add([EAST, NORTH])
        self.recall(index, store, EAST)
        stats = index.stats()
        assert isinstance(stats, IndexStats)
        assert 0 <= stats.used_bytes <= stats.limit_bytes

    def test_after_forgetting_it_is_an_index_of_another_store(self, index, store):
        store.add([between(0.9), between(0.5)])
        assert len(self.recall(index, store, EAST)) == 2
        index.forget()
        assert index.stats().vectors == 0
        other = type(store)()
        assert self.recall(index, other, EAST) == []
        (near,) = other.add([between(0.7)])
        assert sequences_of(self.recall(index, other, EAST)) == [near]
        assert index.stats().used_bytes <= index.stats().limit_bytes
