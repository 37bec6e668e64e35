"""A damaged file is refused or read as absent; it never ends the process nor gives a wrong answer."""

import os
import random
import sys

import pytest

from askonce_server.ports import StoreUnavailable
from askonce_server.store import open_store
from askonce_server.store.damage import DamagedFile, check_structure, read_header
from faults.data_files import content, filled, pages_in_use
from ports.entries import MIB, body_at, found, key, write
from ports.store_process import body_of, run, settings


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "store"


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
