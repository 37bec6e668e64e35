"""What a worker kept of the rows is not given again once another's purge was acknowledged, not for a moment.

Here nothing lies between the acknowledgement and the look but one number in shared memory.
"""

import mmap
from contextlib import closing, contextmanager

import pytest

from askonce_server.store import open_store
from ports.entry_store_contract import key, write
from ports.finality_contract import dim
from ports.store_process import ROUND, settings, start

ROUNDS = 1_000


@contextmanager
def shared_number(path):
    """A number that another process writes; yields how to read it."""
    path.write_bytes(bytes(ROUND.size))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), ROUND.size) as memory:
        yield lambda: ROUND.unpack_from(memory)[0]


def look(store):
    """Return the round that the generation is in, and keep it with the view."""
    with store.read() as view:
        (value,) = view.generations([dim("acme")])
        number = int.from_bytes(value, "big")
        view.keep("round", number, entry=view.entry(key("q")), size=1)
    return number


@pytest.mark.parametrize("durability", ["commit", "periodic"])
def test_nothing_outlives_another_workers_purge(tmp_path, durability):
    place = tmp_path / "store"
    with shared_number(tmp_path / "round") as acknowledged, closing(open_store(settings(place))) as store:
        store.put([write("q")])
        again = anew = 0
        with start("raise_over_and_over", place, tmp_path / "round", ROUNDS, durability) as other:
            try:
                before = 0
                while before < ROUNDS:
                    before = acknowledged()
                    kept = store.recall("round")
                    again, anew = again + (kept is not None), anew + (kept is None)
                    assert (look(store) if kept is None else kept) >= before
                    assert other.poll() in (None, 0)
            finally:
                other.kill()
    assert again > 0, "what was kept is given again while no row changes"
    assert anew > 1, "and looked at anew after a purge"
