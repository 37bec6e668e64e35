"""A store that cannot be opened says why and how to mend it, and never takes the process down."""

import os
import stat
import subprocess
from contextlib import contextmanager
from pathlib import Path

import lmdb
import pytest

from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import StoreUnavailable
from askonce_server.store import UnavailableStore, folders, open_store
from askonce_server.store.environment import open_environment
from askonce_server.store.folders import file_system
from askonce_server.store.instance import InstanceLock
from faults.data_files import content, filled
from ports.entries import MIB, NOW_MS, body_at, found, key, write
from ports.store_process import body_of, run, settings, start

AS_ROOT = os.geteuid() == 0
needs_root = pytest.mark.skipif(not AS_ROOT, reason="mounting a file system needs root")


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "store"


@contextmanager
def mounted(place, options):
    """A tmpfs at `place`."""
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_folder_and_files_are_for_the_owner_alone(tmp_path):
    folder = tmp_path / "deep" / "store"
    before = os.umask(0)
    try:
        open_store(settings(folder)).close()
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    names = ("data.mdb", "lock.mdb", "askonce.lock", "hits", "departed", "reserve")
    assert modes == dict.fromkeys(names, 0o600)


def test_a_second_instance_is_refused_by_path_and_process(folder):
    store = open_store(settings(folder))
    with pytest.raises(StoreUnavailable, match=rf"{folder} is in use by process {os.getpid()}"):
        open_store(settings(folder))
    other = run("open_and_use", folder, 0)
    assert f"{folder} is in use by process {os.getpid()}" in other.stdout
    assert store.put([write("q")]) == [None]
    store.close()
    open_store(settings(folder)).close()


def test_what_was_stored_is_there_after_reopening(folder):
    filled(folder, 50)
    store = open_store(settings(folder))
    assert [body_at(store, key(f"q-{i}")) for i in range(50)] == [body_of("q", i) for i in range(50)]
    assert store.stats().entries == 100
    assert (store.stats().commits, store.stats().writes) == (0, 0)
    store.close()


def test_workers_of_one_instance_share_the_store(folder):
    supervisor = open_store(settings(folder))
    supervisor.put([write("mine")])
    workers = [start("write_shared", folder, name, 30) for name in ("left", "right")]
    assert [w.stdout.readline() for w in workers] == ["open\n"] * 2
    ended = [w.communicate("go\n", timeout=60) for w in workers]
    assert ended == [("refused []\n", "")] * 2, [w.returncode for w in workers]
    names = [f"{name}-{i}" for name in ("left", "right") for i in range(30)]
    assert [body_at(supervisor, key(n)) for n in names] == [f"answer to {n}".encode() for n in names]
    places = {(e.scope_root, e.store_id) for e, _ in (found(supervisor, key(n)) for n in [*names, "mine"])}
    assert len(places) == 61
    supervisor.close()


def test_a_path_below_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable, match=r"file/store cannot be used: .*Not a directory"):
        open_store(settings(tmp_path / "file" / "store"))


@needs_root
def test_a_read_only_file_system_is_refused(tmp_path):
    with (
        mounted(tmp_path / "disk", "ro"),
        pytest.raises(StoreUnavailable, match=r"cannot be written.*Read-only file system"),
    ):
        open_store(settings(tmp_path / "disk" / "store"))


@pytest.mark.skipif(AS_ROOT, reason="root may write everywhere")
def test_a_folder_of_another_user_is_refused(folder):
    folder.mkdir(mode=0o500)
    with pytest.raises(StoreUnavailable, match=r"cannot be written.*Permission denied"):
        open_store(settings(folder))


@needs_root
def test_a_full_disk_is_refused_and_leaves_nothing_open(tmp_path):
    with mounted(tmp_path / "disk", "size=1m"):
        ballast = tmp_path / "disk" / "ballast"
        with pytest.raises(OSError, match="No space left"):
            ballast.write_bytes(bytes(2 * MIB))
        with pytest.raises(StoreUnavailable, match="no space left for the store at"):
            open_store(settings(tmp_path / "disk" / "store"))
        ballast.unlink()
        open_store(settings(tmp_path / "disk" / "store")).close()


@needs_root
def test_a_disk_with_a_page_or_two_left_never_ends_the_process(tmp_path):
    """LMDB's reader table is a mapped file: were it a hole, touching it on a full disk would be a SIGBUS."""
    with mounted(tmp_path / "disk", "size=1m"):
        outcomes = set()
        for pages in (1, 3, 8, 24, 40):
            place = tmp_path / "disk" / f"store-{pages}"
            (tmp_path / "disk" / "ballast").write_bytes(bytes(MIB - pages * 4096))
            ended = run("open_and_use", place, 0)
            assert ended.returncode == 0, (pages, ended.stderr)
            outcomes.add("opened" if "'wrong': 0" in ended.stdout else "refused")
            assert "no space left" in ended.stdout + ended.stderr
            subprocess.run(["rm", "-r", str(place), str(tmp_path / "disk" / "ballast")], check=True)
        assert outcomes == {"opened", "refused"}


def test_a_network_file_system_is_refused(folder, monkeypatch):
    monkeypatch.setattr(folders, "file_system", lambda path: "nfs4")
    with pytest.raises(StoreUnavailable, match=r"network file system \(nfs4\)"):
        open_store(settings(folder))


@pytest.mark.skipif(not os.path.exists("/proc/self/mountinfo"), reason="needs Linux")  # noqa: PTH110
def test_the_file_system_under_a_path_is_told():
    assert file_system(Path("/proc/self")) == "proc"


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        (2, r"layout 2 and this server reads up to 1: a newer version wrote it; run that version"),
        (0, r"layout 0 and this server reads 1: export it with the version that wrote it and import it into"),
    ],
)
def test_a_store_of_another_layout_is_left_alone(folder, layout, said):
    data_file = filled(folder)
    env = lmdb.open(str(folder), max_dbs=32, map_size=1 << 27)
    with env.begin(write=True) as txn:
        txn.put(b"schema", layout.to_bytes(4, "big"), db=env.open_db(b"meta", txn=txn))
    env.close()
    before, size = content(data_file), data_file.stat().st_size
    with pytest.raises(StoreUnavailable, match=said):
        open_store(settings(folder))
    assert (content(data_file), data_file.stat().st_size) == (before, size)


def test_another_programs_file_is_left_alone(folder):
    env = lmdb.open(str(folder), max_dbs=4)
    with env.begin(write=True) as txn:
        txn.put(b"theirs", b"value")
    env.close()
    before = (folder / "data.mdb").read_bytes()
    with pytest.raises(StoreUnavailable, match="another program's LMDB file"):
        open_store(settings(folder))
    assert (folder / "data.mdb").read_bytes() == before


def test_sizes_are_fixed_when_the_store_is_opened(folder):
    """A map that grows breaks the other workers; the first to open fixes the readers of all."""
    wanted = settings(folder, max_bytes=100 * MIB, workers=4, pool=32)
    opened = open_environment(wanted)
    assert opened.env.info()["map_size"] == 125 * MIB + 64 * MIB
    assert opened.env.max_readers() == 64 + 2 * 4 * 32
    opened.close()
    store = open_store(wanted)
    assert store.put([write(f"q-{i}", body=bytes(MIB // 2)) for i in range(100)]) == [None] * 100
    store.close()
    opened = open_environment(wanted)
    assert opened.env.info()["map_size"] == 125 * MIB + 64 * MIB
    opened.close()


def test_a_limit_below_what_is_stored_still_opens(folder):
    store = open_store(settings(folder, max_bytes=128 * MIB))
    for i in range(90):
        assert store.put([write(f"q-{i}", body=bytes(MIB))]) == [None]
    store.close()
    store = open_store(settings(folder, max_bytes=2 * MIB))
    assert len(body_at(store, key("q-80"))) == MIB
    assert store.put([write("r")]) == [None]
    swept = store.sweep(NOW_MS)
    while swept.more:
        swept = store.sweep(NOW_MS)
    stats = store.stats()
    assert stats.used_bytes <= stats.limit_bytes
    assert 85 <= stats.evicted <= 90
    assert body_at(store, key("r")) == b"answer to r"
    assert store.verify() == []
    store.close()


def test_a_store_that_loses_writes_fails_its_self_test(folder):
    with pytest.raises(StoreUnavailable, match="failed its self-test: what was written was not found again"):
        open_store(settings(folder), commit=lambda txn: txn.abort())


def test_a_store_that_cannot_commit_fails_its_self_test_and_can_be_opened_later(folder):
    def fail(txn):
        raise OSError(5, "Input/output error")

    with pytest.raises(StoreUnavailable, match=r"failed its self-test: the disk under the store .* fails"):
        open_store(settings(folder), commit=fail)
    store = open_store(settings(folder))
    assert store.stats().entries == 0
    store.close()


def test_a_store_that_crashes_over_and_over_is_checked_in_full(folder):
    folder.mkdir()
    suspected = []
    for _ in range(4):
        lock = InstanceLock.take(folder, durability="commit")
        suspected.append(lock.suspect)
        os.close(lock._descriptor)  # as the end of the process does
    assert suspected == [False, False, True, False]


def test_an_orderly_end_clears_suspicion(folder):
    folder.mkdir()
    for crash in (True, False, True, True):
        lock = InstanceLock.take(folder, durability="commit")
        assert not lock.suspect
        if crash:
            os.close(lock._descriptor)
        else:
            lock.release()


def test_a_refused_opening_leaves_suspicion_as_it_was(folder):
    folder.mkdir()
    for _ in range(2):
        os.close(InstanceLock.take(folder, durability="commit")._descriptor)
    for _ in range(2):
        lock = InstanceLock.take(folder, durability="commit")
        assert lock.suspect
        lock.give_up()


def test_unsynced_writes_before_a_machine_went_down_are_suspect(folder):
    folder.mkdir()
    os.close(InstanceLock.take(folder, durability="periodic")._descriptor)
    state = folder / "askonce.lock"
    state.write_text(state.read_text().replace('"boot": "', '"boot": "earlier-'))
    lock = InstanceLock.take(folder, durability="periodic")
    assert lock.suspect
    lock.release()


def test_what_stands_in_for_a_store_passes_everything_through():
    store = UnavailableStore("the disk is on fire: buy another")
    assert store.put([write("a"), write("b")]) == [RefusalReason.STORE_FAILED] * 2
    assert store.problem() == "the disk is on fire: buy another"
    with pytest.raises(StoreUnavailable, match="on fire"):
        store.read()
    with pytest.raises(StoreUnavailable, match="on fire"):
        store.stats()
    store.close()
