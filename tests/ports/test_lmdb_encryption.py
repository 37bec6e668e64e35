"""A store with keys: the same store, of which the file shows nothing that anybody said."""

import logging
import random
from zlib import crc32

import lmdb
import pytest
from hypothesis import given
from hypothesis import settings as examples
from hypothesis import strategies as st

from askonce_server.ports import StoreUnavailable
from askonce_server.storage.v1.record_pb2 import VectorRecord
from askonce_server.store import export_store, open_store, reencrypt, verify
from askonce_server.store.keyring import Keyring, key_id
from ports.entries import MIB, NOW_MS, body_at, found, key, write
from ports.entry_store_contract import EntryStoreContract
from ports.finality_contract import FinalityContract
from ports.semantic_rows_contract import (
    SemanticRowsContract,
    block,
    semantic_key,
    state,
    stored,
    told,
    unit,
)
from ports.store_process import settings
from ports.test_lmdb_store import Lmdb
from ports.test_lmdb_verification import change

OLD, NEW, OTHER = (bytes([first]) + bytes(range(31)) for first in (1, 2, 3))
SECRET = b"the treasure lies under the third palm"
QUESTION = "where does the treasure lie?"
FEATURES = b"what the guards keep"


def ring(*keys, encrypts=True):
    return Keyring(keys, encrypts=encrypts)


class Encrypted(Lmdb):
    keys = ring(NEW, OLD)


class TestEncryptedEntryStore(Encrypted, EntryStoreContract):
    pass


class TestEncryptedFinality(Encrypted, FinalityContract):
    pass


class TestEncryptedSemanticRows(Encrypted, SemanticRowsContract):
    pass


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "store"


def at(folder, keys, work):
    """What `work(store)` returns, the store in `folder` being open under `keys`."""
    store = open_store(settings(folder, keys=keys))
    try:
        return work(store)
    finally:
        store.close()


def fill(folder, keys, *writes):
    assert at(folder, keys, lambda store: store.put(writes)) == [None] * len(writes)


def secret(name="q", **changes):
    return told(name, body=SECRET * 40, text=QUESTION, features=FEATURES, group=b"a group", **changes)


def served(folder, keys, name="q"):
    """The body, and the stored vector's row, as a reader under `keys` finds them."""

    def look(store):
        (vector,) = stored(store, state(store).sequence)
        return body_at(store, key(name)), None if vector is None else vector.row

    return at(folder, keys, look)


def findings(folder, keys, *, repair=False):
    return verify(settings(folder, keys=keys), repair=repair)


def rows_of(folder, name):
    env = lmdb.open(str(folder), max_dbs=32, readonly=True, map_size=1 << 27)
    try:
        with env.begin() as txn:
            return dict(txn.cursor(db=env.open_db(name.encode(), txn=txn, create=False)))
    finally:
        env.close()


SAID = [SECRET[:16], QUESTION.encode()[:16], FEATURES, b"a group", unit(sum(b"q"))[:16]]
"""What nobody may find in the file: answer, question, features, group, vector."""


@pytest.mark.parametrize("encrypted", [True, False])
def test_nothing_that_anybody_said_is_in_the_file(folder, encrypted):
    fill(folder, ring(NEW) if encrypted else ring(), secret())
    content = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    assert [text in content for text in SAID] == [not encrypted] * len(SAID)
    assert NEW not in content


def test_what_was_stored_is_read_again(folder):
    fill(folder, ring(NEW), secret())
    assert served(folder, ring(NEW)) == (SECRET * 40, secret().semantic)
    assert at(folder, ring(NEW), block).vectors.tobytes() == secret().semantic.vector


@given(st.binary(max_size=300_000), st.text(max_size=2000))
@examples(max_examples=30, deadline=None)
def test_bodies_and_texts_of_any_size_come_back(tmp_path_factory, body, text):
    place = tmp_path_factory.mktemp("any") / "store"
    fill(place, ring(NEW), told("q", body=body, text=text))
    found_body, row = served(place, ring(NEW))
    assert (found_body, row.text) == (body, text)
    assert findings(place, ring(NEW)) == []


def test_a_hit_is_remembered_in_memory_and_given_again(folder):
    def look(store):
        with store.read() as view:
            entry = view.entry(key("q"))
            first, again = view.body(entry), view.body(entry)
            view.keep("memo", "derived", entry=entry, size=10)
        with store.read() as view:
            later = view.body(entry)
        return first.data == SECRET * 40, again is first, later is first, store.recall("memo")

    fill(folder, ring(NEW), secret())
    assert at(folder, ring(NEW), look) == (True, True, True, "derived")


# Changed and moved


@pytest.mark.parametrize("name", ["bodies", "vectors"])
def test_each_changed_byte_makes_a_row_absent(folder, name):
    fill(folder, ring(NEW), secret())
    ((row, value),) = rows_of(folder, name).items()
    rnd = random.Random(5)
    for where in {0, 5, 12, 20, len(value) - 1, *rnd.sample(range(len(value)), 20)}:
        changed = bytearray(value)
        changed[where] ^= 1 << rnd.randrange(8)
        change(folder, name, lambda txn, cursor, db, now=bytes(changed): txn.put(row, now, db=db))
        body, vector = served(folder, ring(NEW))
        assert (body if name == "bodies" else vector) is None, where
        assert {finding.mendable for finding in findings(folder, ring(NEW))} == {True}
    change(folder, name, lambda txn, cursor, db: txn.put(row, value, db=db))
    assert findings(folder, ring(NEW)) == []


def moved_body(value, row):
    """The value of a body's row with the checksum that it needs at `row`."""
    head = value[8 : 8 + int.from_bytes(value[:4], "big")]
    return value[:4] + crc32(head, crc32(row)).to_bytes(4, "big") + value[8:]


def moved_vector(value, row):
    """The value of a vector's row with the checksum that it needs at `row`."""
    return crc32(value[4:], crc32(row)).to_bytes(4, "big") + value[4:]


def test_rows_that_change_places_are_not_served_even_with_checksums_that_fit(folder):
    """Of one tenant and of two: whoever can write the file cannot show one of them another's answer."""
    fill(folder, ring(NEW), secret(), secret("r"), secret("s", scope="globex"))
    for name, moved in (("bodies", moved_body), ("vectors", moved_vector)):
        before = rows_of(folder, name)
        places = list(before)
        for taken, place in zip(places, places[1:] + places[:1], strict=True):
            value = moved(before[taken], place)
            change(folder, name, lambda txn, cursor, db, row=place, now=value: txn.put(row, now, db=db))
    keys = [key("q"), key("r"), key("s", scope="globex")]
    assert at(folder, ring(NEW), lambda store: [body_at(store, one) for one in keys]) == [None] * 3
    assert at(folder, ring(NEW), lambda store: stored(store, *range(1, 4))) == [None] * 3
    said = [finding.text for finding in findings(folder, ring(NEW))]
    assert said.count("the body is damaged") == 3


# Keys that come and go


def test_a_new_first_key_writes_and_the_old_one_still_reads(folder):
    fill(folder, ring(OLD), secret("old"))
    fill(folder, ring(NEW, OLD), secret("new", partition="other"))
    both = ring(NEW, OLD)
    assert (
        at(folder, both, lambda store: [body_at(store, key(n)) for n in ("old", "new")]) == [SECRET * 40] * 2
    )
    content = (folder / "data.mdb").read_bytes()
    assert key_id(OLD) in content
    assert key_id(NEW) in content
    assert at(folder, ring(NEW), lambda store: body_at(store, key("new"))) == SECRET * 40


@pytest.mark.parametrize("keys", [ring(OTHER), ring(OTHER, encrypts=False)], ids=["other", "off"])
def test_without_its_key_a_row_reads_as_absent_and_stays(folder, keys, caplog):
    fill(folder, ring(OLD), secret())
    before = rows_of(folder, "bodies"), rows_of(folder, "vectors")
    with caplog.at_level(logging.WARNING):
        assert served(folder, keys) == (None, None)
        assert at(folder, keys, lambda store: [body_at(store, key("q")) for _ in range(3)]) == [None] * 3
        assert at(folder, keys, block).sequences.tolist() == []
    said = [record.getMessage() for record in caplog.records if "a row is encrypted" in record.getMessage()]
    missing = f"encrypted under key {key_id(OLD).hex()}, which is not among store.encryption.keys"
    assert said == [f"a row is {missing}, and reads as absent: add that key behind the first"]
    assert (rows_of(folder, "bodies"), rows_of(folder, "vectors")) == before
    assert served(folder, ring(OLD)) == (SECRET * 40, secret().semantic)


def test_verify_names_a_missing_key_and_repair_leaves_its_rows_alone(folder):
    fill(folder, ring(OLD), secret(), secret("r"))
    fill(folder, ring(NEW, OLD), write("sound"))
    for repair in (False, True):
        for keys in (ring(NEW), ring()):
            expected = 4 if len(keys) else 5
            texts = [finding.text for finding in findings(folder, keys, repair=repair)]
            assert len(texts) == expected
            assert all(text.startswith("key missing: encrypted under key ") for text in texts)
    assert served(folder, ring(NEW, OLD))[0] == SECRET * 40
    assert findings(folder, ring(NEW, OLD)) == []


def test_repair_mends_what_is_damaged_beside_rows_whose_key_is_missing(folder):
    fill(folder, ring(OLD), secret())
    change(folder, "scopes", lambda txn, cursor, db: cursor.first() and cursor.delete())
    before = rows_of(folder, "scopes")
    said = findings(folder, ring(NEW), repair=True)
    assert [finding.mendable for finding in said] == [True, False, False]
    assert len(rows_of(folder, "scopes")) == len(before) + 1
    assert findings(folder, ring(OLD)) == []


def test_a_row_whose_key_is_missing_can_be_replaced_deleted_and_expires(folder):
    fill(folder, ring(OLD), secret(), secret("gone"), secret("late", expire_ms=NOW_MS + 1))

    def work(store):
        store.put([write("q", body=b"new")])
        store.delete(key("gone").entry_id, at_ms=NOW_MS)
        store.sweep(NOW_MS + 2)
        return body_at(store, key("q")), store.stats().entries, store.verify()

    body, entries, left = at(folder, ring(NEW), work)
    assert (body, entries) == (b"new", 3)
    assert {finding.mendable for finding in left} == {False}


def test_an_encrypted_store_is_not_opened_without_any_key(folder):
    fill(folder, ring(OLD), secret())
    with pytest.raises(
        StoreUnavailable, match=r"is encrypted, and no key is given: name its keys in store\.enc"
    ):
        open_store(settings(folder))
    assert served(folder, ring(OLD))[0] == SECRET * 40


# Turning on and off


def test_a_plain_store_that_is_encrypted_from_now_on_keeps_its_rows(folder):
    fill(folder, ring(), secret("plain"))
    fill(folder, ring(NEW), write("new", body=b"under the key"))
    assert at(folder, ring(NEW), lambda store: body_at(store, key("plain"))) == SECRET * 40
    assert b"under the key" not in (folder / "data.mdb").read_bytes()
    assert findings(folder, ring(NEW)) == []


def test_keys_that_only_read_leave_what_is_written_plain(folder):
    fill(folder, ring(OLD), secret("old"))
    off = ring(OLD, encrypts=False)
    fill(folder, off, write("new", body=b"in plain again"))
    assert at(folder, off, lambda store: [body_at(store, key(n)) for n in ("old", "new")]) == [
        SECRET * 40,
        b"in plain again",
    ]
    assert b"in plain again" in (folder / "data.mdb").read_bytes()


def rewritten(folder, keys):
    result = reencrypt(settings(folder, keys=keys), lambda *_: None)
    return result.written, result.kept, result.locked, result.damaged


def test_reencrypting_brings_all_rows_under_the_first_key_and_no_plain_byte_stays(folder):
    fill(folder, ring(), secret("plain"), *(write(f"w{i}", body=bytes([i]) * 9000) for i in range(40)))
    fill(folder, ring(OLD), secret("old", partition="other"))
    assert rewritten(folder, ring(NEW, OLD)) == (44, 0, 0, 0)
    content = (folder / "data.mdb").read_bytes()
    assert not [text for text in SAID if text in content]
    assert key_id(OLD) not in content
    assert findings(folder, ring(NEW)) == []
    names = ["plain", "old", *(f"w{i}" for i in range(40))]
    bodies = at(folder, ring(NEW), lambda store: [body_at(store, key(name)) for name in names])
    assert bodies == [SECRET * 40] * 2 + [bytes([i]) * 9000 for i in range(40)]
    assert rewritten(folder, ring(NEW, OLD)) == (0, 44, 0, 0)


def test_reencrypting_without_encryption_makes_a_store_that_needs_no_key(folder):
    fill(folder, ring(OLD), secret())
    assert rewritten(folder, ring(OLD, encrypts=False)) == (2, 0, 0, 0)
    assert served(folder, ring()) == (SECRET * 40, secret().semantic)
    assert findings(folder, ring()) == []


def test_reencrypting_leaves_what_it_cannot_read(folder):
    fill(folder, ring(OLD), secret())
    fill(folder, ring(NEW), secret("new", partition="other"))
    assert rewritten(folder, ring(OTHER, NEW)) == (2, 0, 2, 0)
    assert served(folder, ring(OLD))[0] == SECRET * 40
    with pytest.raises(StoreUnavailable, match="no key is given"):
        open_store(settings(folder))


def test_a_batch_after_the_other_reaches_every_row(folder, monkeypatch):
    monkeypatch.setattr("askonce_server.store.reencrypting._BATCH_ROWS", 3)
    fill(folder, ring(OLD), *(secret(f"q{i}", partition=str(i)) for i in range(10)))
    told_of = []
    result = reencrypt(settings(folder, keys=ring(NEW, OLD)), lambda done, rows: told_of.append((done, rows)))
    assert (result.written, told_of[-1]) == (20, (20, 20))
    assert len(told_of) == 8
    assert findings(folder, ring(NEW)) == []


# Out


def test_an_export_counts_what_its_keys_do_not_open(folder):
    fill(folder, ring(OLD), secret(), write("plain only"))
    fill(folder, ring(NEW), write("new"))
    written = []
    told_of = export_store(settings(folder, keys=ring(NEW)), written.append, lambda *_: None, now_ms=NOW_MS)
    assert (told_of.stores, told_of.locked, told_of.damaged, told_of.encrypted) == (1, 2, 0, True)
    assert len(written) == 3


def test_what_a_row_costs_is_known_with_keys_too(folder):
    """Room is made by what rows cost: an encrypted store under its limit stays there."""

    def work(store):
        for i in range(400):
            assert store.put([write(f"q{i}", body=random.Random(i).randbytes(20_000))]) == [None]
        return store.stats()

    store = open_store(settings(folder, max_bytes=4 * MIB, keys=ring(NEW)))
    try:
        stats = work(store)
        assert stats.used_bytes <= stats.limit_bytes
        assert stats.evicted > 100
        assert store.verify() == []
        assert found(store, key("q399"))[1].data == random.Random(399).randbytes(20_000)
    finally:
        store.close()


def test_a_vector_is_bound_to_its_entry(folder):
    """The id of the entry stands beside what is encrypted, and cannot be exchanged for another's."""
    fill(folder, ring(NEW), secret(), secret("r"))
    ((row, value), *_) = sorted(rows_of(folder, "vectors").items())
    record = VectorRecord.FromString(value[12:])
    record.entry_id = semantic_key("r").entry_id
    told_as = record.SerializeToString()
    forged = bytes(4) + bytes(4) + len(told_as).to_bytes(4, "big") + told_as
    change(folder, "vectors", lambda txn, cursor, db: txn.put(row, moved_vector(forged, row), db=db))
    assert at(folder, ring(NEW), lambda store: stored(store, 1)) == [None]
    assert len(at(folder, ring(NEW), block).sequences) == 1
