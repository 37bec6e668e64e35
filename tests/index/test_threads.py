"""Recalls are right whatever other threads do."""

import threading
import time

import numpy as np

from askonce_server.ports import PartitionLoading
from index.asking import named, recall, truth
from index.fake_store import (
    FakeStore,
    clustered_vectors,
    random_vectors,
)


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
        try:
            found = named(recall(self.index, self.store, vector, partition=name, view=view))
        except PartitionLoading:
            time.sleep(0.005)
            return
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
    crowd = Crowd(index, store, names, seconds=2)
    crowd.run(32)
    assert crowd.wrong == []
    assert crowd.checked > 100
    assert index.stats().used_bytes <= 200_000


def test_recalls_are_right_while_large_partitions_are_sketched_and_loaded(make_index):
    store = FakeStore(64)
    names = [bytes([number]) * 32 for number in range(3)]
    for number, name in enumerate(names):
        store.add(clustered_vectors(2500 * (number + 1), 64, seed=number), partition=name)
    index = make_index(store, max_bytes=1_500_000)
    crowd = Crowd(index, store, names, seconds=3)
    crowd.run(16)
    assert crowd.wrong == []
    assert crowd.checked > 100
    assert index.stats().used_bytes <= 1_500_000
