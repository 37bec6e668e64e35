"""A store gives disk back, and is never seen between its old file and its new one."""

import os
import random
import shutil

import lmdb
import pytest

from askonce_server.ports import StoreUnavailable
from askonce_server.store import compact, compacting, open_store, verify
from ports.entries import body_at, write
from ports.semantic_rows_contract import block, told
from ports.store_process import settings
from ports.test_lmdb_export import exported, opened


@pytest.fixture
def folder(tmp_path):
    """A store most of whose pages are free."""
    rng = random.Random(3)
    big = [write(f"big-{n}", body=rng.randbytes(200_000)) for n in range(30)]

    def fill(store):
        store.put([told("a"), write("b")])
        for one in big:
            store.put([one])
        store.remove([key for one in big for key in one.keys])

    opened(tmp_path / "store", fill)
    return tmp_path / "store"


def on_disk(folder):
    return (folder / "data.mdb").stat().st_blocks * 512


def test_free_pages_go_back_to_the_disk_and_everything_else_stays(folder):
    before, was = on_disk(folder), exported(folder)[0]
    sizes = compact(settings(folder))
    assert sizes == (before, on_disk(folder))
    assert (sizes.after < 300_000, sizes.before > 6_000_000) == (True, True)
    assert exported(folder)[0] == was
    assert verify(settings(folder), repair=False) == []
    assert (folder / "data.mdb").stat().st_mode & 0o777 == 0o600

    def check(store):
        assert body_at(store, write("b").keys[0]) == b"answer to b"
        assert len(block(store).sequences) == 1
        assert store.put([write("c")]) == [None]
        return store.stats().entries

    assert opened(folder, check) == 6
    assert sorted(path.name for path in folder.iterdir()) == [
        "askonce.lock",
        "data.mdb",
        "departed",
        "hits",
        "lock.mdb",
        "reserve",
    ]


def test_it_may_be_done_again(folder):
    compact(settings(folder))
    before, after = compact(settings(folder))
    assert before == after


def test_a_store_that_a_server_has_open_is_left_alone(folder):
    store = open_store(settings(folder))
    inode = (folder / "data.mdb").stat().st_ino
    with pytest.raises(StoreUnavailable, match=f"in use by process {os.getpid()}"):
        compact(settings(folder))
    with pytest.raises(StoreUnavailable, match="in use by process"):
        verify(settings(folder), repair=True)
    assert (folder / "data.mdb").stat().st_ino == inode
    assert store.put([write("q")]) == [None]
    store.close()


def test_where_there_is_no_store_none_is_made(tmp_path):
    for work in (compact, lambda where: verify(where, repair=True)):
        with pytest.raises(StoreUnavailable, match="there is no store at"):
            work(settings(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_without_room_for_both_files_nothing_is_begun(folder, monkeypatch):
    usage = shutil.disk_usage(folder)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=1 << 20))
    with pytest.raises(StoreUnavailable, match="MiB left: make room"):
        compact(settings(folder))
    assert opened(folder, lambda store: body_at(store, write("b").keys[0])) == b"answer to b"


class Torn(Exception):
    pass


@pytest.mark.parametrize("moment", ["copying", "before the swap", "after the swap"])
def test_whatever_ends_it_leaves_a_whole_store(folder, monkeypatch, moment):
    was = exported(folder)[0]

    def tear(*_):
        raise Torn

    if moment == "copying":
        left = folder / "compacting"
        left.mkdir()
        (left / "data.mdb").write_bytes(b"half of a copy")
        monkeypatch.setattr(compacting, "_swap", tear)
    elif moment == "before the swap":
        monkeypatch.setattr(compacting, "_swap", tear)
    else:
        swap = compacting._swap
        monkeypatch.setattr(compacting, "_swap", lambda *files: tear(swap(*files)))
    with pytest.raises(Torn):
        compact(settings(folder))
    assert exported(folder)[0] == was
    assert not (folder / "compacting").exists()
    monkeypatch.undo()
    compact(settings(folder))
    assert exported(folder)[0] == was


def test_a_fault_of_the_copy_is_told_and_leaves_the_store(folder, monkeypatch):
    class Full:
        def __init__(self, env):
            self._env = env

        def __getattr__(self, name):
            return getattr(self._env, name)

        def copy(self, *_args, **_kw):
            raise lmdb.DiskError("No space left on device")

    open_existing = compacting.open_existing

    def opening(where):
        held = open_existing(where)
        object.__setattr__(held, "env", Full(held.env))
        return held

    monkeypatch.setattr(compacting, "open_existing", opening)
    with pytest.raises(StoreUnavailable, match="No space left"):
        compact(settings(folder))
    monkeypatch.undo()
    assert opened(folder, lambda store: body_at(store, write("b").keys[0])) == b"answer to b"
