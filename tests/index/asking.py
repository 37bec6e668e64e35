"""Asking an index, and its judge, the same."""

import time

from askonce_server.index.exhaustive import exhaustive
from askonce_server.ports import PartitionLoading, PartitionUnreadable
from index.fake_store import EAST, PARTITION, always

MIB = 1 << 20


def recall(index, store, vector=EAST, *, k=10, alive=always, partition=PARTITION, view=None):
    return index.recall(view or store.view, partition, vector, k=k, alive=alive)


def loaded(index, store, vector=EAST, *, seconds=20, **changes):
    """What is recalled once the partition is loaded."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return recall(index, store, vector, **changes)
        except (PartitionLoading, PartitionUnreadable):
            assert time.monotonic() < deadline, "it never was loaded"
            time.sleep(0.005)


def until(true, *, seconds=20):
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def truth(store, vector, *, k=10, alive=always, view=None, partition=PARTITION):
    return exhaustive(view or store.view, partition, vector, k=k, alive=alive)


def named(neighbors):
    return [(one.entry.store_id, one.similarity) for one in neighbors]
