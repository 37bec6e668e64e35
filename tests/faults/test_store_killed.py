"""`kill -9` while writing: what was acknowledged is there, and is right."""

import random

import lmdb.verify
import pytest

from askonce_server.store import open_store
from ports.entries import body_at, found, key
from ports.semantic_rows_contract import block, semantic_key, unit
from ports.store_process import body_of, settings, start


@pytest.mark.parametrize("durability", ["commit", "periodic"])
def test_what_was_acknowledged_survives_kill_9(tmp_path, durability):
    folder, rnd = tmp_path / "store", random.Random(9)
    acknowledged = 0
    for round_ in range(3):
        name = f"round-{round_}"
        writer = start("write_loop", folder, name, durability)
        lines = [writer.stdout.readline() for _ in range(rnd.randrange(5, 60))]
        writer.kill()
        lines += writer.stdout.readlines()  # what was read ahead is lost to `communicate`
        writer.communicate()
        assert lmdb.verify.verify(str(folder)) == []
        store = open_store(settings(folder, durability=durability))
        for line in lines:
            if not line.endswith("\n"):
                continue  # cut off by the kill
            number, size = map(int, line.split())
            for i in range(size):
                assert body_at(store, key(f"{name}-{number}-{i}")) == body_of(name, number)
                acknowledged += 1
        store.close()
    assert acknowledged > 30


class Rounds:
    """What each name may hold: what was acknowledged last, or what was tried after it. None: nothing."""

    def __init__(self):
        self.allowed = {}
        self.checked = 0

    def hear(self, line):
        said, number, *names = line.split()
        for name in dict.fromkeys(names):
            before = self.allowed.setdefault(name, {None})
            if said == "try":  # the round is told only later: it stores, or removes
                self.allowed[name] = before | {int(number), None}
            else:
                self.allowed[name] = {int(number) if said == "kept" else None}

    def check(self, store):
        """Compare every name with what the store has, by key and by vector, and go on from there."""
        vectors = {vector.tobytes(): None for vector in block(store, dim=384).vectors}
        for name, allowed in self.allowed.items():
            both = found(store, semantic_key(name))
            held = None if both is None else int(both[1].data.split(b":")[1])
            assert held in allowed, (name, held, allowed)
            if held is not None:
                assert both[1].data == body_of(name, held)
                vectors.pop(unit(held, dim=384), None)
                self.checked += 1
            self.allowed[name] = {held}
        assert not vectors, "a vector has no entry"


def kill_semantic_writers(folder, count):
    rnd, rounds = random.Random(5), Rounds()
    for number in range(count):
        writer = start("semantic_loop", folder, f"name-{number % 4}")
        lines = [writer.stdout.readline() for _ in range(rnd.randrange(5, 120))]
        writer.kill()
        lines += writer.stdout.readlines()  # what was read ahead is lost to `communicate`
        writer.communicate()
        for line in lines:
            if line.endswith("\n"):  # else it was cut off by the kill
                rounds.hear(line)
        store = open_store(settings(folder))
        assert store.verify() == []
        rounds.check(store)
        store.close()
    return rounds


def test_vectors_and_entries_agree_after_kill_9(tmp_path):
    assert kill_semantic_writers(tmp_path / "store", 4).checked > 20


@pytest.mark.thorough
def test_vectors_and_entries_agree_after_a_hundred_kills(tmp_path, capsys):
    rounds = kill_semantic_writers(tmp_path / "store", 100)
    with capsys.disabled():
        print(f"\n100 rounds of kill -9 among semantic writes: {rounds.checked} entries checked")  # noqa: T201


def test_no_acknowledged_label_is_lost_by_kill_9_or_counted_twice(tmp_path):
    folder, rnd = tmp_path / "store", random.Random(7)
    open_store(settings(folder)).close()
    acknowledged = set()
    for round_ in range(3):
        writers = [start("label_loop", folder, f"{round_}{name}") for name in "ab"]  # two workers
        lines = []
        for writer in writers:
            lines += [writer.stdout.readline() for _ in range(rnd.randrange(5, 60))]
        for writer in writers:
            writer.kill()
            lines += writer.stdout.readlines()
            writer.communicate()
        acknowledged |= {int(line) for line in lines if line.endswith("\n")}
        store = open_store(settings(folder))
        found, after = [], 0
        while page := store.labels(after, limit=1000).labels:
            found += [int.from_bytes(one.label_id, "big") for one in page]
            after = store.labels(after, limit=1000).last
        store.close()
        assert len(found) == len(set(found))
        assert acknowledged <= set(found)
    assert len(acknowledged) > 60
