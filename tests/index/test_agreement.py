"""The index agrees with its judge."""

import numpy as np
import pytest

from index.asking import loaded, named, truth
from index.fake_store import (
    FakeStore,
    always,
    clustered_vectors,
    random_vectors,
    unexpired,
)


def agree(make_index, make, *, count, dim, probes, changes):
    """Compare with the judge, while rows are removed and stored, with half of them expired."""
    store = FakeStore(dim)
    rows = make(count, dim, seed=1)
    numbers = store.add(rows[: count // 2]) + store.add(rows[count // 2 :], ttl_ms=0)
    index = make_index(store)
    loaded(index, store, rows[0])
    random = np.random.default_rng(5)
    for at, probe in enumerate(make(probes, dim, seed=2)):
        if at % (probes // changes) == 0:
            store.remove(random.choice(numbers, count // 40))
            numbers += store.add(make(count // 60, dim, seed=100 + at))
        view = store.view
        for alive in (always, unexpired):
            got = named(loaded(index, store, probe, alive=alive, view=view))
            assert got == named(truth(store, probe, alive=alive, view=view))
    return index


@pytest.mark.parametrize("make", [random_vectors, clustered_vectors])
def test_a_small_partition_agrees_with_the_judge_also_after_removals_and_expiry(make_index, make):
    index = agree(make_index, make, count=1000, dim=64, probes=300, changes=10)
    assert index._held.popitem()[1].contents.rows.sketch is None


@pytest.mark.parametrize("make", [random_vectors, clustered_vectors])
def test_a_sketched_partition_agrees_with_the_judge_also_after_removals_and_expiry(make_index, make):
    index = agree(make_index, make, count=10_000, dim=384, probes=40, changes=4)
    assert index._held.popitem()[1].contents.rows.sketch.count >= 10_000


@pytest.mark.thorough
@pytest.mark.parametrize("make", [random_vectors, clustered_vectors])
def test_a_very_large_partition_agrees_with_the_judge(make_index, make):
    index = agree(make_index, make, count=100_000, dim=384, probes=500, changes=20)
    assert index._held.popitem()[1].contents.rows.sketch.count >= 50_000
