"""A store whose rows do not agree is told so, row by row, and can be mended."""

import random

import lmdb
import pytest

from askonce_server.core.reasons import Matcher
from askonce_server.ports import PartitionState
from askonce_server.store import open_store
from askonce_server.store.layout import body_row
from askonce_server.store.vectors import encode_partition
from ports.entries import NOW_MS, body_at, digest, found, key, write
from ports.semantic_rows_contract import block, semantic_key, space, state, told
from ports.store_process import settings

NEXT = b"next_store_id"


@pytest.fixture
def folder(tmp_path):
    """A store with entries of every kind, closed."""
    store = open_store(settings(tmp_path / "store"))
    store.put(
        [write("plain"), told("a"), told("b"), told("c", partition="other"), write("d", scope="globex")]
    )
    store.remove([key("b")])
    store.put([write("gone")])
    store.delete(key("gone").entry_id, at_ms=NOW_MS)
    store.close()
    return tmp_path / "store"


def change(folder, name, alter):
    """Let `alter(txn, cursor, database)` change one database of a closed store."""
    env = lmdb.open(str(folder), max_dbs=32, map_size=1 << 27)
    with env.begin(write=True) as txn:
        database = env.open_db(name.encode(), txn=txn, create=False)
        with txn.cursor(db=database) as cursor:
            alter(txn, cursor, database)
    env.close()


def delete(row):
    def alter(txn, cursor, database):
        assert cursor.set_key(row) if row is not None else cursor.first()
        cursor.delete()

    return alter


def flip(row=None):
    """Change the last byte of a row's value."""

    def alter(txn, cursor, database):
        assert cursor.set_key(row) if row is not None else cursor.first()
        value = cursor.value()
        txn.put(cursor.key(), value[:-1] + bytes([value[-1] ^ 1]), db=database)

    return alter


def add(row, value=b""):
    return lambda txn, cursor, database: txn.put(row, value, db=database)


def findings(folder):
    store = open_store(settings(folder))
    found = store.verify()
    store.close()
    return found


def mend(folder):
    """Repair, and return whether nothing is left to repair."""
    store = open_store(settings(folder))
    mended = store.verify(repair=True)
    left = store.verify()
    store.close()
    assert mended
    return left == []


def test_a_sound_store_has_no_findings(folder):
    assert findings(folder) == []
    store = open_store(settings(folder))
    assert store.verify(repair=True) == []
    store.close()


SEMANTIC = semantic_key("a")
A_ROW = SEMANTIC.partition + SEMANTIC.entry_id


@pytest.mark.parametrize(
    ("database", "alter", "said"),
    [
        ("entries", flip(A_ROW), "the entry is damaged"),
        ("bodies", flip(), "the body is damaged"),
        ("bodies", delete(None), "the entry's body is gone or damaged"),
        ("vectors", flip(), "the vector is damaged"),
        ("vectors", delete(None), "the entry's vector is gone or damaged"),
        ("vectors", add(space() + bytes(8), b"x"), "the vector is damaged"),
        ("entries", delete(A_ROW), "no entry refers to the vector"),
        ("entries", delete(key("a").scope_key + key("a").entry_id), "the Store lists 2 entries, and has 1"),
        ("stores", delete(None), "the Store's record is missing"),
        ("stores", flip(), "the Store's record is damaged"),
        ("stores", add(bytes(8), b"x"), "the Store has no entry"),
        ("partitions", delete(space()), "the partition's row is missing"),
        ("partitions", flip(space()), "the partition's row is damaged"),
        ("partitions", add(digest("nobody's"), b"x"), "the partition has no vector"),
        ("scopes", delete(None), "the scope's row is missing"),
        ("scopes", flip(), "the scope's row is damaged"),
        ("scopes", add(digest("nobody's"), b"x"), "the scope has no entry"),
        ("expiry", delete(None), "the entry's expiry is missing"),
        ("expiry", add(bytes(72)), "nothing expires then"),
        ("ids", delete(SEMANTIC.entry_id), "the entry is not found by its id"),
        ("ids", flip(SEMANTIC.entry_id), "the entry is not found by its id"),
        ("ids", add(digest("nobody's"), bytes(32)), "no entry has that id"),
        ("tombstones", add(digest("nobody's"), b"x"), "the tombstone is damaged"),
        ("tombstones", add(digest("nobody's"), bytes(8)), "the tombstone's expiry is missing"),
        ("tombstones", delete(None), "nothing expires then"),
        ("meta", delete(NEXT), "a number would be used again"),
    ],
)
def test_a_row_that_disagrees_is_found_and_mended(folder, database, alter, said):
    change(folder, database, alter)
    assert said in {finding.text for finding in findings(folder)}
    assert mend(folder)


def test_a_count_that_is_wrong_is_named_with_both_numbers(folder):
    miscount = encode_partition(space(), PartitionState(2, 7), SEMANTIC.scope_key)
    change(folder, "partitions", add(space(), miscount))
    assert [str(finding) for finding in findings(folder)] == [
        f"partitions {space().hex()}: the partition counts 7 vectors, and has 2"
    ]
    assert mend(folder)
    store = open_store(settings(folder))
    assert state(store).rows == len(block(store).sequences) == 2
    store.close()


def test_a_partition_that_forgot_its_newest_vector_is_found(folder):
    store = open_store(settings(folder))
    newest = state(store)
    store.close()
    behind = encode_partition(space(), newest._replace(sequence=1), SEMANTIC.scope_key)
    change(folder, "partitions", add(space(), behind))
    assert [f.text for f in findings(folder)] == ["the partition's newest vector is not the newest"]
    assert mend(folder)
    store = open_store(settings(folder))
    assert state(store) == newest
    store.close()


def test_repairing_keeps_whatever_can_be_served(folder):
    store = open_store(settings(folder))
    lost = found(store, key("plain"))[0]
    store.close()
    change(folder, "bodies", flip(body_row(lost.scope_root, lost.store_id)))
    for name in ("scopes", "partitions", "ids", "stores"):
        change(folder, name, flip())
    change(folder, "expiry", delete(None))
    assert mend(folder)
    store = open_store(settings(folder))
    kept = [key("a"), semantic_key("a"), semantic_key("b"), key("c"), key("d", scope="globex")]
    kept += [key("d", scope="globex", matcher=Matcher.NORMALIZED), semantic_key("c", partition="other")]
    assert None not in {body_at(store, each) for each in kept}
    assert body_at(store, key("plain")) is None
    assert store.put([told("new")]) == [None]
    store.remove([key("new"), semantic_key("new"), *kept])
    assert store.verify() == []
    assert store.stats().entries == 0
    store.close()


def test_a_damaged_partition_row_is_counted_from_its_vectors(folder):
    store = open_store(settings(folder))
    before = state(store)
    store.close()
    change(folder, "partitions", flip(space()))
    store = open_store(settings(folder))
    assert state(store) == before
    store.put([told("e")])
    assert state(store).rows == before.rows + 1
    store.remove([semantic_key("e"), key("e")])
    assert store.verify() == []
    store.close()


def test_a_damaged_vector_is_left_out_and_its_entry_is_not_recalled(folder):
    change(folder, "vectors", flip())
    store = open_store(settings(folder))
    counted = state(store).rows + state(store, space("other")).rows
    newest = max(state(store).sequence, state(store, space("other")).sequence)
    recalled = 0
    for partition in (space(), space("other")):
        with store.read() as view:
            there = [one for one in view.stored_vectors(partition, range(newest + 1)) if one is not None]
        assert len(there) == len(block(store, partition=partition).sequences)
        recalled += len(there)
    assert recalled == counted - 1
    store.close()


def test_a_random_history_leaves_rows_that_agree(tmp_path):
    store, rnd = open_store(settings(tmp_path / "store")), random.Random(7)
    for _ in range(400):
        name, partition = f"q{rnd.randrange(15)}", rnd.choice(["all", "other"])
        scope = rnd.choice(["acme", "globex"])
        roll = rnd.random()
        if roll < 0.35:
            store.put([told(name, scope=scope, partition=partition, body=bytes(rnd.randrange(5000)))])
        elif roll < 0.7:
            store.put([write(name, scope=scope), told(name, scope=scope, partition=partition)])
        else:
            keys = [semantic_key(name, scope=scope, partition=partition), key(name, scope=scope)]
            store.remove(keys[: rnd.randrange(1, 3)])
    assert store.verify() == []
    assert store.stats().entries > 20
    store.close()
