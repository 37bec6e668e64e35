"""A store that cannot be opened says why and how to mend it, and never takes the process down."""

import os
import random
import stat
import subprocess
import sys
from contextlib import contextmanager

import lmdb
import pytest

from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import StoreUnavailable
from askonce_server.store import UnavailableStore, open_store
from askonce_server.store import environment as environment_module
from askonce_server.store.damage import DamagedFile, check_structure, read_header
from askonce_server.store.environment import file_system, open_environment
from askonce_server.store.instance import InstanceLock
from ports.entry_store_contract import MIB, NOW_MS, body_at, found, key, write
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


def filled(folder, count=200):
    """A closed store with entries `q-0` …, and the path of its data file."""
    store = open_store(settings(folder))
    for i in range(0, count, 50):
        store.put([write(f"q-{n}", body=body_of("q", n)) for n in range(i, i + 50)])
    store.close()
    return folder / "data.mdb"


def pages_in_use(data_file):
    with data_file.open("rb") as file:
        return 1 + max(int.from_bytes(file.read(4096)[136:144], sys.byteorder) for _ in range(2))


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
    monkeypatch.setattr(environment_module, "file_system", lambda path: "nfs4")
    with pytest.raises(StoreUnavailable, match=r"network file system \(nfs4\)"):
        open_store(settings(folder))


@pytest.mark.skipif(not os.path.exists("/proc/self/mountinfo"), reason="needs Linux")  # noqa: PTH110
def test_the_file_system_under_a_path_is_told():
    assert file_system(environment_module.Path("/proc/self")) == "proc"


def content(data_file):
    """The bytes of the pages in use; the rest of the file is a hole."""
    with data_file.open("rb") as file:
        return file.read(pages_in_use(data_file) * 4096)


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


@pytest.mark.parametrize("content", [b"\0" * 8192, b"garbage" * 5000, b"x", b"\0" * 4096])
def test_a_file_of_garbage_is_refused(folder, content):
    folder.mkdir()
    (folder / "data.mdb").write_bytes(content)
    with pytest.raises(StoreUnavailable, match=rf"{folder} is damaged .*move that folder away"):
        open_store(settings(folder))


def test_an_empty_file_is_a_new_store(folder):
    folder.mkdir()
    (folder / "data.mdb").touch()
    store = open_store(settings(folder))
    assert store.put([write("q")]) == [None]
    store.close()


def test_a_garbled_lock_file_does_not_matter(folder):
    filled(folder, 50)
    (folder / "lock.mdb").write_bytes(b"garbage" * 2000)
    (folder / "askonce.lock").write_bytes(b"{not json")
    store = open_store(settings(folder))
    assert body_at(store, key("q-7")) == body_of("q", 7)
    store.close()


def test_a_file_that_was_cut_short_is_refused_before_it_is_mapped(folder):
    """A mapped page beyond the end of its file would end the process with SIGBUS."""
    data_file = filled(folder)
    pages = pages_in_use(data_file)
    for kept in (pages - 1, pages // 2, 3):
        os.truncate(data_file, kept * 4096)
        with pytest.raises(
            StoreUnavailable, match=rf"it has {kept * 4096} bytes of {pages * 4096}: it was cut"
        ):
            open_store(settings(folder))


def test_a_file_that_lost_only_unused_pages_is_opened(folder):
    data_file = filled(folder)
    os.truncate(data_file, pages_in_use(data_file) * 4096)
    store = open_store(settings(folder))
    assert body_at(store, key("q-7")) == body_of("q", 7)
    store.close()


def test_a_lost_first_page_is_refused(folder):
    data_file = filled(folder)
    for page in (0, 1):
        whole = content(data_file)
        with data_file.open("r+b") as file:
            file.seek(page * 4096)
            file.write(bytes(4096))
        with pytest.raises(StoreUnavailable, match="is damaged"):
            open_store(settings(folder))
        data_file.write_bytes(whole)


def test_a_first_page_from_an_earlier_time_is_refused(folder):
    """Going on from there would hand out pages that are in use."""
    data_file = filled(folder, 50)
    early = content(data_file)[:8192]
    filled(folder, 200)
    metas = content(data_file)[:8192]
    newest = max((0, 1), key=lambda page: int.from_bytes(metas[page * 4096 :][144:152], sys.byteorder))
    with data_file.open("r+b") as file:
        file.seek(newest * 4096)
        file.write(early[newest * 4096 : (newest + 1) * 4096])
    with pytest.raises(StoreUnavailable, match="do not follow each other"):
        open_store(settings(folder))


def flip(data_file, where, bit=1):
    with data_file.open("r+b") as file:
        file.seek(where)
        old = file.read(1)[0]
        file.seek(where)
        file.write(bytes([old ^ bit]))


def test_a_flipped_bit_in_a_body_makes_it_absent(folder):
    store = open_store(settings(folder))
    store.put([write("q", body=b"0123456789" * 1000), write("other")])
    store.close()
    data_file = folder / "data.mdb"
    where = content(data_file).index(b"0123456789" * 300)
    flip(data_file, where + 1234)
    store = open_store(settings(folder))
    with store.read() as view:
        entry = view.entry(key("q"))
        assert entry is not None
        assert view.body(entry) is None
    assert body_at(store, key("other")) == b"answer to other"
    assert store.put([write("q", body=b"again")]) == [None]
    assert body_at(store, key("q")) == b"again"
    store.close()


@pytest.mark.parametrize("what", ["record", "header"])
def test_a_flipped_bit_in_a_record_makes_it_absent(folder, what):
    """Without a seal a flipped store id would serve another answer of the same scope, hash and all."""
    store = open_store(settings(folder))
    given = write("q", rule_id="find-me", body=b"body" * 10)
    store.put([replace_type(given), write("other")])
    store.close()
    data_file = folder / "data.mdb"
    needle = {"record": b"find-me", "header": b"text/find-this"}[what]
    raw, where = content(data_file), -1
    while (where := raw.find(needle, where + 1)) >= 0:
        flip(data_file, where)
    store = open_store(settings(folder))
    assert found(store, key("q")) is None
    assert body_at(store, key("other")) == b"answer to other"
    assert store.put([write("q", body=b"again")]) == [None]
    assert body_at(store, key("q")) == b"again"
    store.close()


def replace_type(given):
    return type(given)(
        given.scope_root,
        given.generations,
        given.keys,
        given.answer,
        type(given.body)(given.body.data, "text/find-this"),
    )


def test_damage_anywhere_never_ends_the_process_nor_gives_a_wrong_body(folder, tmp_path):
    """Bits, headers and whole pages at random; the other process tells how it went, or dies."""
    whole = content(filled(folder))
    pages = len(whole) // 4096
    rnd = random.Random(20)
    places = []
    for number in range(12):
        data = bytearray(whole)
        for _ in range(40):
            page = rnd.randrange(2, pages) * 4096
            kind = number % 4
            if kind == 0:
                data[page + rnd.randrange(4096)] ^= 1 << rnd.randrange(8)
            elif kind == 1:
                data[page + rnd.randrange(32)] ^= 1 << rnd.randrange(8)
            elif kind == 2:
                data[page : page + 4096] = rnd.randbytes(4096)
            else:
                data[page : page + 4096] = bytes(4096)
        place = tmp_path / f"damaged-{number}"
        place.mkdir()
        (place / "data.mdb").write_bytes(data)
        places.append(place)
    ended = run("open_each", 200, *places)
    assert ended.returncode == 0, ended.stderr
    outcomes = ended.stdout.splitlines()
    assert len(outcomes) == 12
    assert all("'wrong': 0" in text or "is damaged" in text for text in outcomes), outcomes
    assert any("is damaged" in text for text in outcomes)


def test_a_large_file_is_checked_in_full_only_when_it_is_suspect(folder):
    store = open_store(settings(folder))
    for i in range(40):
        store.put([write(f"large-{i}", body=bytes([i]) * MIB)])
    store.put([write("q", rule_id="find-me")])
    store.close()
    data_file = folder / "data.mdb"
    page = content(data_file).rindex(b"find-me") // 4096 * 4096
    flip(data_file, page + 10, bit=0x40)  # the page's kind
    header = read_header(data_file)
    check_structure(data_file, header, suspect=False)
    with pytest.raises(DamagedFile, match="is damaged"):
        check_structure(data_file, header, suspect=True)


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
