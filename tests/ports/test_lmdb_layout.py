"""What the rows look like on disk: later versions and other processes rely on it."""

import hashlib
from contextlib import contextmanager

import lmdb
import pytest

from askonce_server.core.entries import Generations
from askonce_server.core.reasons import Matcher
from askonce_server.storage.v1.record_pb2 import (
    BodyHeader,
    EntryRecord,
    PartitionRecord,
    ScopeRecord,
    StoreRecord,
    VectorRecord,
)
from askonce_server.store import open_store
from askonce_server.store.costs import write_cost
from askonce_server.store.layout import DATABASE_NAMES
from askonce_server.store.prepared import prepare
from ports.entries import NOW_MS, digest, found, write
from ports.semantic_rows_contract import semantic_key, space, state, told, unit
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
        assert rows("ids") == {k.entry_id: k.scope_key for k in given.keys}
        assert [row[:32] for row in rows("bodies")] == [given.scope_root]
        assert set(rows("scopes")) == {k.scope_key for k in given.keys}
        expire = given.answer.expire_ms.to_bytes(8, "big")
        assert set(rows("expiry")) == {expire + k.scope_key + k.entry_id for k in given.keys}


def test_one_store_s_entries_stand_together(folder):
    given, other = told("q"), write("r")
    put(folder, given, other)
    with rows_of(folder) as rows:
        stores = [StoreRecord.FromString(value[4:]) for value in rows("stores").values()]
    assert [set(store.entries) for store in stores] == [
        {key.prefix + key.entry_id for key in each.keys} for each in (given, other)
    ]
    assert [store.scope_root for store in stores] == [given.scope_root, other.scope_root]


def test_semantic_rows_begin_with_their_partition(folder):
    given = told("q", text="wie spät?", group=b"group")
    store = open_store(settings(folder))
    store.put([given])
    number = state(store).sequence
    store.close()
    semantic = semantic_key("q")
    with rows_of(folder) as rows:
        assert semantic.partition + semantic.entry_id in rows("entries")
        ((row, value),) = rows("vectors").items()
        ((partition, sealed),) = rows("partitions").items()
        entry = EntryRecord.FromString(rows("entries")[semantic.partition + semantic.entry_id][4:])
    assert row == space() + number.to_bytes(8, "big")
    vector, record = int.from_bytes(value[4:8], "big"), int.from_bytes(value[8:12], "big")
    assert value[12 : 12 + vector] == given.semantic.vector
    told_of = VectorRecord.FromString(value[12 + vector :])
    assert len(value) == 12 + vector + record
    assert (told_of.entry_id, told_of.text, told_of.answer_group) == (
        semantic.entry_id,
        "wie spät?",
        b"group",
    )
    assert partition == space()
    counted = PartitionRecord.FromString(sealed[4:])
    assert (counted.sequence, counted.rows, counted.scope_key) == (number, 1, semantic.scope_key)
    assert (entry.sequence, entry.scope_key) == (number, semantic.scope_key)


def test_a_body_can_be_sliced_from_its_row(folder):
    given = write("q", body=b"x" * 3000)
    put(folder, given)
    with rows_of(folder) as rows:
        (value,) = rows("bodies").values()
    size = int.from_bytes(value[:4], "big")
    header = BodyHeader.FromString(value[8 : 8 + size])
    assert value[8 + size :] == given.body.data
    assert (header.schema, header.content_type) == (1, "application/json")
    assert header.content_sha256 == hashlib.sha256(given.body.data).digest()


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
    store.put([write("q"), told("r")])
    store.remove([*write("q").keys, *told("r").keys])
    store.close()
    with rows_of(folder) as rows:
        left = {name: len(rows(name)) for name in DATABASE_NAMES if name != "meta"}
        assert left == dict.fromkeys(left, 0)


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
        kinds = ("entries", "bodies", "stores", "ids", "scopes", "expiry")
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


def test_a_store_takes_little_more_than_its_body_and_its_vector(folder):
    """Of the file, with every row and half-full page: at most 2.4 times the bytes that were to be kept."""
    writes = [
        told(f"q-{i}", vector=unit(i, dim=384), body=bytes([i % 256]) * 1500, source_request_id="r" * 36)
        for i in range(1000)
    ]
    store = open_store(settings(folder))
    before = store.stats().used_bytes
    for i in range(0, 1000, 20):
        store.put(writes[i : i + 20])
    used = store.stats().used_bytes - before
    assert used <= 2.4 * 1000 * (1500 + 1536)
    assert used <= sum(write_cost(prepare(one)) for one in writes)
    store.close()
