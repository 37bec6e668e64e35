"""A store is written out as lines and read back: what was served is served again, under its ids and times."""

import io
import json
import random
from dataclasses import replace

import pytest

from askonce_server.core.entries import Body, Generations
from askonce_server.core.keys import KEY_SCHEMA
from askonce_server.core.reasons import Matcher
from askonce_server.ports import StoreUnavailable
from askonce_server.store import (
    Fate,
    NotAnExport,
    Stopped,
    Told,
    export_store,
    import_store,
    lines,
    open_store,
)
from askonce_server.store.environment import open_environment
from askonce_server.store.layout import META_GUARD_KEY, SCHEMA
from ports.entries import NOW_MS, body_at, digest, found, key, write
from ports.semantic_rows_contract import block, sequences, stored, told
from ports.store_process import settings
from ports.test_lmdb_verification import change, delete, flip

RAISED = (digest("generation", "acme"), bytes(15) + b"\1")
"""A generation that was raised, and its value."""


def opened(folder, work=lambda store: None):
    """Do `work` with the store in `folder`, and close it."""
    store = open_store(settings(folder))
    try:
        return work(store)
    finally:
        store.close()


def exported(folder, *, now_ms=NOW_MS):
    """The lines of an export, and what became of the Stores."""
    written = []
    told_of = export_store(settings(folder), written.append, lambda *_: None, now_ms=now_ms)
    return written, told_of


def imported(folder, given, *, now_ms=NOW_MS, strict=False):
    """What became of lines, and the names of those that were left out."""
    named = []
    told_of = Told(lambda _: None, lambda *line: named.append(line))
    source = io.BytesIO(b"".join(given))
    result = import_store(settings(folder), source, told_of, now_ms=now_ms, strict=strict)
    return dict(result.fates), named, result


def raised(name=RAISED[0], value=RAISED[1]):
    return Generations((name,), (value,))


@pytest.fixture
def old(tmp_path):
    return tmp_path / "old"


@pytest.fixture
def new(tmp_path):
    return tmp_path / "new"


KINDS = [
    write("plain"),
    write("unknown", usage=None, cost_usd=None, contains_tool_calls=False, source_request_id=""),
    replace(write("empty", body=b"", stream=True), stale_ms=5000, outline=b"outline"),
    replace(write("bytes", body=bytes(range(256)) * 40), body=Body(bytes(range(256)) * 40, "x/ü")),
    told("near", text="wie spät ist es?", group=b"g" * 8),
    told("else", partition="other", scope="globex"),
]


def test_every_store_comes_back_under_its_ids_with_its_times_its_body_and_its_vector(old, new):
    opened(old, lambda store: store.put(KINDS))
    written, told_of = exported(old)
    assert (told_of.stores, told_of.expired, told_of.purged, told_of.damaged) == (len(KINDS), 0, 0, 0)
    fates, named, result = imported(new, written)
    assert (fates, named, result.whole) == ({Fate.IMPORTED: len(KINDS)}, [], True)

    def check(store):
        for given in KINDS:
            for wanted in given.keys:
                entry, body = found(store, wanted)
                assert (entry.key, entry.answer, body) == (wanted, given.answer, given.body)
                assert entry.scope_root == given.scope_root
        (near,) = stored(store, *sequences(store))
        assert near.row == KINDS[4].semantic
        assert store.verify() == []
        assert store.sweep(NOW_MS + 60_000 + 4999).expired == sum(len(w.keys) for w in KINDS) - 2
        assert found(store, KINDS[2].keys[0]) is not None  # kept as long as it may be served stale

    opened(new, check)


def test_an_outline_goes_with_its_store_and_older_exports_have_none(old, new):
    opened(old, lambda store: store.put([replace(write(name), outline=name.encode()) for name in "ab"]))
    written, _ = exported(old)
    told_of = members(written[2])
    del told_of["outline"]
    written[2] = lines.encode("store", **told_of)
    assert imported(new, written)[0] == {Fate.IMPORTED: 2}

    def outlines(store):
        with store.read() as view:
            return [kept.outline for kept in view.archive.newest(write("a").scope_root, limit=9)]

    assert opened(old, outlines) == [b"b", b"a"]
    assert opened(new, outlines) == [b"", b"a"]


def test_an_export_of_what_was_imported_is_the_same(old, new):
    opened(old, lambda store: store.put(KINDS))
    written, _ = exported(old)
    imported(new, written)
    assert exported(new)[0] == written


def test_the_first_line_says_the_layout_and_the_key_schema_and_the_last_how_many(old):
    opened(old, lambda store: store.put(KINDS))
    written = [json.loads(line) for line in exported(old)[0]]
    first, last = written[0], written[-1]
    assert (first["type"], first["schema"], first["key_schema"]) == ("export", SCHEMA, KEY_SCHEMA)
    assert (first["stores"], last["type"], last["stores"]) == (len(KINDS), "end", len(KINDS))
    assert {line["type"] for line in written[1:-1]} == {"store"}


def test_importing_twice_changes_nothing(old, new):
    opened(old, lambda store: store.put(KINDS))
    written, _ = exported(old)
    imported(new, written)
    fates, named, _ = imported(new, written)
    assert fates == {Fate.PRESENT: len(KINDS)}
    assert len(named) == len(KINDS)
    assert opened(new, lambda store: (store.stats().entries, len(block(store).sequences))) == (12, 1)


def test_a_newer_answer_stays_and_an_older_one_is_replaced(old, new):
    opened(old, lambda store: store.put([write("q", body=b"exported")]))
    written, _ = exported(old)
    newer = write("q", body=b"newer", store_ms=NOW_MS + 1, matchers=(Matcher.EXACT,))
    older = write("q", body=b"older", store_ms=NOW_MS - 1, matchers=(Matcher.NORMALIZED,))
    opened(new, lambda store: store.put([newer, older]))
    fates, _, _ = imported(new, written)
    assert fates == {Fate.IMPORTED: 1}
    assert opened(new, lambda store: [body_at(store, key("q", matcher=m)) for m in (1, 2)]) != []
    both = opened(
        new, lambda store: (body_at(store, newer.keys[0]), body_at(store, older.keys[0]), store.verify())
    )
    assert both == (b"newer", b"exported", [])


def test_what_expired_is_neither_exported_nor_imported(old, new):
    opened(old, lambda store: store.put([write("q"), write("r", expire_ms=NOW_MS + 5)]))
    told_of = exported(old, now_ms=NOW_MS + 5)[1]
    assert (told_of.stores, told_of.expired) == (1, 1)
    fates, named, _ = imported(new, exported(old)[0], now_ms=NOW_MS + 5)
    assert fates == {Fate.IMPORTED: 1, Fate.EXPIRED: 1}
    assert [(number, fate) for number, fate, _ in named] == [(3, Fate.EXPIRED)]


def test_an_empty_store_takes_over_the_generations_that_were_raised(old, new):
    def purge_and_fill(store):
        store.put([write("before", scope="older", generations=raised(value=bytes(16)))])
        store.raise_generations(dict([RAISED]), at_ms=NOW_MS - 10)
        store.put([write("after", generations=raised()), write("q", scope="globex")])

    opened(old, purge_and_fill)
    written, told_of = exported(old)
    assert (told_of.stores, told_of.purged) == (2, 1)
    assert [json.loads(line)["type"] for line in written] == ["export", "generation", "store", "store", "end"]
    assert imported(new, written)[0] == {Fate.IMPORTED: 2}

    def check(store):
        with store.read() as view:
            assert view.generations([RAISED[0]]) == (RAISED[1],)
        assert store.put([write("late", generations=raised(value=bytes(16)))]) != [None]

    opened(new, check)
    assert exported(new)[0][1:] == written[1:]


PURGED = write("q", generations=raised(value=bytes(16)))
OTHER = write("r", scope="globex")


def test_into_a_store_with_other_generations_nothing_comes_back_that_was_purged(old, new):
    opened(old, lambda store: store.put([PURGED, OTHER]))
    written, _ = exported(old)
    imported(new, written)
    opened(new, lambda store: store.raise_generations(dict([RAISED]), at_ms=NOW_MS + 1))
    opened(new, lambda store: store.remove(OTHER.keys))
    fates, named, result = imported(new, written)
    assert fates == {Fate.PURGED: 1, Fate.IMPORTED: 1}
    assert [(number, fate) for number, fate, _ in named] == [(2, Fate.PURGED)]
    assert named[0][2] == ", ".join(one.entry_id.hex()[:7] for one in write("q").keys)
    assert result.whole


def test_a_purge_of_an_empty_store_is_not_undone_by_the_generations_of_an_export(old, new):
    def fill(store):
        store.raise_generations(dict([RAISED]), at_ms=NOW_MS - 10)
        store.put([write("q", generations=raised())])

    opened(old, fill)
    purged = bytes(15) + b"\2"
    opened(new, lambda store: store.raise_generations({RAISED[0]: purged}, at_ms=NOW_MS + 1))
    assert imported(new, exported(old)[0])[0] == {Fate.PURGED: 1}
    assert opened(new, lambda store: body_at(store, write("q").keys[0])) is None


def guard_key(folder):
    env = open_environment(settings(folder))
    with env.env.begin() as txn:
        kept = txn.get(META_GUARD_KEY, db=env.databases.meta)
    env.close()
    return kept


def test_the_key_of_guard_features_goes_with_them_into_a_store_without_vectors(old, new):
    opened(old, lambda store: (store.settle_guard_key(b"k" * 32), store.put([told("q")])))
    opened(new, lambda store: store.settle_guard_key(b"x" * 32))
    imported(new, exported(old)[0])
    assert guard_key(new) == b"k" * 32


def test_a_store_without_vectors_keeps_the_key_to_itself(old):
    opened(old, lambda store: (store.settle_guard_key(b"k" * 32), store.put([write("q")])))
    assert "guard_key" not in json.loads(exported(old)[0][0])


def test_beside_vectors_under_another_key_semantic_entries_are_left_out_and_counted(old, new):
    alone = replace(told("alone"), keys=told("alone").keys[1:])
    opened(old, lambda store: (store.settle_guard_key(b"k" * 32), store.put([told("q"), alone])))
    opened(new, lambda store: (store.settle_guard_key(b"x" * 32), store.put([told("own")])))
    fates, named, result = imported(new, exported(old)[0])
    assert (fates, result.without_semantic) == ({Fate.IMPORTED: 1, Fate.UNGUARDED: 1}, 1)
    assert [number for number, _, _ in named] == [3]
    assert guard_key(new) == b"x" * 32

    def check(store):
        exact, semantic = told("q").keys
        return body_at(store, exact), found(store, semantic), store.verify()

    assert opened(new, check) == (b"answer to q", None, [])


DAMAGES = {
    "garbage": lambda line: b"\xff\x00 not json\n",
    "cut short": lambda line: line[: len(line) // 2] + b"\n",
    "a changed digit": lambda line: line.replace(b'"start_ms":1', b'"start_ms":2'),
    "a changed body": lambda line: line.replace(b'"body":"YW', b'"body":"YX'),
    "another type": lambda line: line.replace(b'"type":"store"', b'"type":"star"'),
    "a list": lambda line: b"[1]\n",
    "no line at all": lambda line: b"\n",
    "a store that is none": lambda line: lines.encode("store", body="YQ=="),
    "numbers as texts": lambda line: lines.encode("store", **{**members(line), "expire_ms": "soon"}),
    "ids that are too short": lambda line: lines.encode("store", **{**members(line), "scope_root": "ab"}),
    "a generation too late": lambda line: lines.encode("generation", name="ab", value="cd", raised_ms=1),
}


def members(line):
    found_in = json.loads(line)
    return {name: value for name, value in found_in.items() if name not in {"type", "sha256"}}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_line_is_named_and_left_out_and_the_rest_is_imported(old, new, damage):
    opened(old, lambda store: store.put([write("a"), write("b"), write("c")]))
    written, _ = exported(old)
    written[2] = DAMAGES[damage](written[2])
    fates, named, result = imported(new, written)
    assert (fates, result.whole) == ({Fate.IMPORTED: 2, Fate.DAMAGED: 1}, False)
    ((number, fate, text),) = named
    assert (number, fate) == (3, Fate.DAMAGED)
    assert text
    assert opened(new, lambda store: [body_at(store, key(name)) is not None for name in "abc"]) == [
        True,
        False,
        True,
    ]


def test_strict_stops_at_the_first_damaged_line_and_keeps_what_stood_before_it(old, new):
    opened(old, lambda store: store.put([write("a"), write("b"), write("c")]))
    written, _ = exported(old)
    written[2] = b"{}\n"
    with pytest.raises(Stopped, match="line 3 is damaged"):
        imported(new, written, strict=True)
    assert opened(new, lambda store: [body_at(store, key(name)) is not None for name in "abc"]) == [
        True,
        False,
        False,
    ]


@pytest.mark.parametrize(
    ("cut", "number", "text"),
    [
        (lambda written: written[:-1], 5, "cut short"),
        (lambda written: [*written[:-1], written[-1][:10]], 5, "not a JSON document"),
        (lambda written: [*written[:2], *written[3:]], 4, "1 lines before it are missing"),
        (lambda written: [*written, written[1]], 6, "wrong place"),
        (lambda written: [*written, *written], 6, "wrong place"),
    ],
)
def test_a_file_that_is_not_whole_says_so(old, new, cut, number, text):
    opened(old, lambda store: store.put([write("a"), write("b"), write("c")]))
    _, named, result = imported(new, cut(exported(old)[0]))
    assert named[0][0] == number
    assert text in named[0][2]
    assert not result.whole


def test_flipping_any_bit_of_an_export_never_files_another_answer(old, tmp_path):
    opened(old, lambda store: store.put([write("a"), told("b")]))
    whole = b"".join(exported(old)[0])
    rng = random.Random(7)
    for round_number in range(40):
        place = tmp_path / f"new-{round_number}"
        at = rng.randrange(len(whole))
        flipped = whole[:at] + bytes([whole[at] ^ (1 << rng.randrange(8))]) + whole[at + 1 :]
        try:
            imported(place, [flipped])
        except NotAnExport:
            continue
        for given in (write("a"), told("b")):
            for wanted in given.keys:
                both = opened(place, lambda store, wanted=wanted: found(store, wanted))
                assert both is None or (both[0].answer, both[1]) == (given.answer, given.body)
        assert opened(place, lambda store: store.stats().entries) <= 4


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (b"", "is empty"),
        (b"{}\n", "not that of an export"),
        (b"%PDF-1.7\n", "not that of an export"),
        (lines.encode("store"), "not that of an export"),
        (lines.encode("export", schema=SCHEMA + 1, key_schema=KEY_SCHEMA), "a newer"),
        (lines.encode("export", schema=SCHEMA, key_schema="askonce/2"), "none would ever be found"),
        (lines.encode("export", schema=SCHEMA, key_schema=KEY_SCHEMA, guard_key="?"), "is none"),
    ],
)
def test_what_is_no_export_is_refused_before_anything_is_touched(new, first, text):
    with pytest.raises(NotAnExport, match=text):
        imported(new, [first])
    assert not new.exists()


def test_a_line_that_is_too_long_is_not_kept_in_memory(old, new, monkeypatch):
    opened(old, lambda store: store.put([write("a"), write("b", body=b"x" * 5000), write("c")]))
    written, _ = exported(old)
    monkeypatch.setattr("askonce_server.store.incoming._MAX_LINE_BYTES", 4000)
    fates, named, _ = imported(new, written)
    assert fates == {Fate.IMPORTED: 2, Fate.DAMAGED: 1}
    assert [number for number, _, _ in named] == [3]


def test_what_is_damaged_in_the_store_is_counted_and_not_exported(old):
    opened(old, lambda store: store.put([write("a"), write("b"), told("c"), write("d")]))
    change(old, "bodies", flip())
    change(old, "vectors", flip())
    change(old, "entries", delete(key("b").prefix + key("b").entry_id))
    written, told_of = exported(old)
    assert (told_of.stores, told_of.damaged) == (3, 1)
    kept = {len(json.loads(line)["keys"]) for line in written[1:-1]}
    assert kept == {1, 2}


def test_a_full_store_says_what_it_had_no_room_for(old, new):
    opened(
        old, lambda store: store.put([write("large", body=random.Random(1).randbytes(1_200_000)), write("q")])
    )
    named = []
    source = io.BytesIO(b"".join(exported(old)[0]))
    result = import_store(
        settings(new, max_bytes=1 << 20),
        source,
        Told(lambda _: None, lambda *line: named.append(line)),
        now_ms=NOW_MS,
        strict=False,
    )
    assert (result.fates, result.whole) == ({Fate.FULL: 1, Fate.IMPORTED: 1}, False)
    assert [(number, fate) for number, fate, _ in named] == [(2, Fate.FULL)]


def test_many_stores_are_filed_in_batches_and_told_of_as_they_go(old, new):
    opened(
        old,
        lambda store: [store.put([write(f"q{n}") for n in range(at, at + 100)]) for at in range(0, 700, 100)],
    )
    told_of = []
    export_store(settings(old), lambda line: None, lambda *how: told_of.append(how), now_ms=NOW_MS)
    assert told_of[0] == (0, 700)
    assert told_of[-1] == (700, 700)
    written, _ = exported(old)
    read = []
    import_store(
        settings(new),
        io.BytesIO(b"".join(written)),
        Told(read.append, lambda *_: None),
        now_ms=NOW_MS,
        strict=True,
    )
    assert read == sorted(read)
    assert read[-1] >= sum(map(len, written[:-1]))
    assert opened(new, lambda store: store.stats().entries) == 1400


def test_a_store_that_somebody_has_open_is_named_with_its_holder(old, new):
    store = open_store(settings(old))
    with pytest.raises(StoreUnavailable, match="in use by process"):
        exported(old)
    with pytest.raises(StoreUnavailable, match="in use by process"):
        imported(old, [lines.encode("export", schema=SCHEMA, key_schema=KEY_SCHEMA)])
    store.close()
    with pytest.raises(StoreUnavailable, match="there is no store"):
        exported(new)
    assert not new.exists()


def test_what_was_deleted_stays_away(old, new):
    opened(old, lambda store: store.put([write("a"), write("b")]))
    written, _ = exported(old)
    imported(new, written)
    deleted = opened(new, lambda store: store.delete(write("a").keys[0].entry_id, at_ms=NOW_MS + 1))
    assert set(deleted) == set(write("a").keys)
    fates, named, _ = imported(new, written)
    assert fates == {Fate.PURGED: 1, Fate.PRESENT: 1}
    assert [number for number, fate, _ in named if fate is Fate.PURGED] == [2]
    assert opened(new, lambda store: body_at(store, write("a").keys[0])) is None
