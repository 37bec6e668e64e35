"""`kill -9` while writing: what was acknowledged is there, and is right."""

import random

import lmdb.verify
import pytest

from askonce_server.store import open_store
from ports.entry_store_contract import body_at, key
from ports.store_process import body_of, settings, start


@pytest.mark.parametrize("durability", ["commit", "periodic"])
def test_what_was_acknowledged_survives_kill_9(tmp_path, durability):
    folder, rnd = tmp_path / "store", random.Random(9)
    acknowledged = 0
    for round_ in range(5):
        name = f"round-{round_}"
        writer = start("write_loop", folder, name, durability)
        lines = [writer.stdout.readline() for _ in range(rnd.randrange(5, 60))]
        writer.kill()
        lines += writer.communicate()[0].splitlines(keepends=True)
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
    assert acknowledged > 50
