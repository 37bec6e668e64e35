"""What the rows look like on disk: later versions and other processes rely on it."""

from contextlib import contextmanager

import lmdb
import pytest

from askonce_server.core.entries import Generations
from askonce_server.core.reasons import Matcher
from askonce_server.storage.v1.record_pb2 import BodyHeader, EntryRecord, ScopeRecord
from askonce_server.store import open_store
from askonce_server.store.layout import DATABASE_NAMES
from ports.entry_store_contract import NOW_MS, digest, found, write
from ports.store_process import settings


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "store"


@contextmanager
def rows_of(folder):
    """A function `name -> {key: value}` over a closed store."""
    env = lmdb.open(str(folder), max_dbs=32, readonly=True, map_size=1 << 27)
    try:
        with env.begin() as txn:
            yield lambda name: dict(txn.cursor(db=env.open_db(name.encode(), txn=txn, create=False)))
    finally:
        env.close()


def put(folder, *writes):
    store = open_store(settings(folder))
    assert store.put(writes) == [None] * len(writes)
    store.close()


def test_every_database_is_there_from_the_start_and_empty(folder):
    put(folder)
    with rows_of(folder) as rows:
        assert {name: len(rows(name)) for name in DATABASE_NAMES if name != "meta"} == dict.fromkeys(
            set(DATABASE_NAMES) - {"meta"}, 0
        )
        assert rows("meta")[b"schema"] == b"\0\0\0\1"


def test_every_row_begins_with_its_scope(folder):
    given = write("q")
    put(folder, given)
    with rows_of(folder) as rows:
        assert set(rows("entries")) == {k.scope_key + k.entry_id for k in given.keys}
        assert [row[:32] for row in rows("bodies")] == [given.scope_root]
        assert set(rows("scopes")) == {k.scope_key for k in given.keys}
        expire = given.answer.expire_ms.to_bytes(8, "big")
        assert set(rows("expiry")) == {expire + k.scope_key + k.entry_id for k in given.keys}


def test_a_body_can_be_sliced_from_its_row(folder):
    given = write("q", body=b"x" * 3000)
    put(folder, given)
    with rows_of(folder) as rows:
        (value,) = rows("bodies").values()
    size = int.from_bytes(value[:4], "big")
    header = BodyHeader.FromString(value[8 : 8 + size])
    assert value[8 + size :] == given.body.data
    assert (header.schema, header.references, header.content_type) == (1, 2, "application/json")


def test_records_carry_the_schema_and_the_generations(folder):
    name = digest("everything")
    given = write("q", generations=Generations((name,), (bytes(16),)))
    put(folder, given)
    with rows_of(folder) as rows:
        entries = [EntryRecord.FromString(value[4:]) for value in rows("entries").values()]
        scopes = [ScopeRecord.FromString(value[4:]) for value in rows("scopes").values()]
    assert {e.schema for e in entries} == {1}
    assert {e.matcher for e in entries} == {1, 2}
    assert [(s.schema, list(s.generation_names), list(s.generations)) for s in scopes] == [
        (1, [name], [bytes(16)])
    ] * 2


def test_scopes_count_their_entries_and_body_bytes(folder):
    put(
        folder,
        write("a", body=b"1234"),
        write("b", body=b"12345678", rule_id="newer"),
        write("a", body=b"12", matchers=(Matcher.EXACT,)),
    )
    with rows_of(folder) as rows:
        scopes = {row: ScopeRecord.FromString(value[4:]) for row, value in rows("scopes").items()}
    exact, normalized = write("a").keys
    assert (scopes[exact.scope_key].entries, scopes[exact.scope_key].bytes) == (2, 10)
    assert (scopes[normalized.scope_key].entries, scopes[normalized.scope_key].bytes) == (2, 12)
    assert scopes[normalized.scope_key].rule_id == "newer"


def test_replacing_leaves_one_row_of_each_kind(folder):
    put(folder, write("q", expire_ms=NOW_MS + 1), write("q", expire_ms=NOW_MS + 2))
    with rows_of(folder) as rows:
        assert [int.from_bytes(row[:8], "big") for row in rows("expiry")] == [NOW_MS + 2] * 2
        assert [len(rows(name)) for name in ("entries", "bodies", "scopes")] == [2, 1, 2]


def test_removing_leaves_nothing_behind(folder):
    store = open_store(settings(folder))
    store.put([write("q")])
    store.remove(write("q").keys)
    store.close()
    with rows_of(folder) as rows:
        assert [len(rows(n)) for n in ("entries", "bodies", "scopes", "expiry")] == [0, 0, 0, 0]


def test_store_ids_ascend_and_are_never_used_again(folder):
    seen = []
    for _ in range(3):
        store = open_store(settings(folder))
        store.put([write("q")])
        seen.append(found(store, write("q").keys[0])[0].store_id)
        store.remove(write("q").keys)
        store.close()
    assert seen == sorted(set(seen))


def test_an_entry_takes_its_body_and_little_more(folder):
    """Nobody indexes or copies bodies: rows beside the bytes stay under 512 bytes for each entry."""
    writes = [write(f"q-{i}", body=bytes([i]) * 1500, source_request_id="r" * 36) for i in range(50)]
    put(folder, *writes)
    with rows_of(folder) as rows:
        kinds = ("entries", "bodies", "scopes", "expiry")
        total = sum(len(row) + len(value) for name in kinds for row, value in rows(name).items())
    assert total <= 50 * (1500 + 2 * 512)


def test_bodies_that_arrive_in_order_fill_their_pages(folder):
    """Small bodies share pages; in ascending order a page keeps all but one of the rows that fit."""
    put(folder, *[write(f"q-{i}", body=bytes([i % 256]) * 600) for i in range(300)])
    env = lmdb.open(str(folder), max_dbs=32, readonly=True, map_size=1 << 27)
    with env.begin() as txn:
        stat = txn.stat(env.open_db(b"bodies", txn=txn, create=False))
    env.close()
    assert stat["leaf_pages"] <= 300 / 4 + 1


def test_a_value_above_two_kilobytes_takes_whole_pages(folder):
    """What the estimate of a write's cost rests on."""
    put(folder, *[write(f"q-{i}", body=bytes(2100)) for i in range(40)])
    env = lmdb.open(str(folder), max_dbs=32, readonly=True, map_size=1 << 27)
    with env.begin() as txn:
        stat = txn.stat(env.open_db(b"bodies", txn=txn, create=False))
    env.close()
    assert stat["overflow_pages"] == 40
