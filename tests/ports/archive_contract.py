"""What every view of a store tells operators besides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from askonce_server.core.fates import Fate, Gone
from askonce_server.core.reasons import RefusalReason
from ports.entries import MIB, NOW_MS, digest, found, key, write
from ports.finality_contract import EVERYTHING, dim, sweep, under, value
from ports.semantic_rows_contract import told

ROOT = digest("root", "acme")


def gone(store, given):
    """What is remembered of each key of a write."""
    with store.read() as view:
        return [view.archive.gone(key, given.scope_root) for key in given.keys]


class ArchiveContract:
    @pytest.fixture
    def make_store(self):
        raise NotImplementedError

    @pytest.fixture
    def store(self, make_store):
        return make_store()

    def test_the_newest_stores_of_a_scope_come_with_their_entries_and_outlines(self, store):
        mine = [replace(write(name), outline=name.encode()) for name in "abc"]
        store.put([*mine, write("d", scope="globex")])
        with store.read() as view:
            kept = view.archive.newest(ROOT, limit=2)
        assert [one.outline for one in kept] == [b"c", b"b"]
        assert [{entry.key for entry in one.entries} for one in kept] == [
            set(mine[2].keys),
            set(mine[1].keys),
        ]

    def test_a_scope_without_stores_has_none(self, store):
        store.put([write("a")])
        with store.read() as view:
            assert view.archive.newest(digest("root", "other"), limit=9) == []
            assert view.archive.newest(b"\xff" * 32, limit=9) == []

    def test_what_was_stored_without_an_outline_is_there_all_the_same(self, store):
        store.put([write("a")])
        with store.read() as view:
            (kept,) = view.archive.newest(ROOT, limit=9)
        assert kept.outline == b""
        assert len(kept.entries) == 2

    def test_an_outline_stays_with_what_is_left_of_its_store(self, store):
        given = replace(told("q"), outline=b"outline")
        store.put([given])
        store.remove(given.keys[:1])
        with store.read() as view:
            (kept,) = view.archive.newest(given.scope_root, limit=9)
        assert (kept.outline, len(kept.entries)) == (b"outline", len(given.keys) - 1)

    def test_when_a_generation_was_raised_last(self, store):
        store.raise_generations({EVERYTHING: value(1)}, at_ms=NOW_MS)
        store.raise_generations({EVERYTHING: value(2)}, at_ms=NOW_MS + 5)
        with store.read() as view:
            assert view.archive.raised_ms([EVERYTHING, dim("x")]) == (NOW_MS + 5, None)

    def test_a_deleted_entry_is_remembered(self, store):
        given = write("q")
        store.put([given])
        store.delete(given.keys[0].entry_id, at_ms=NOW_MS + 1)
        with store.read() as view:
            archive = view.archive
            assert archive.gone(given.keys[1], ROOT) == Gone(Fate.DELETED, NOW_MS + 1)
            assert archive.gone(key("other"), ROOT) is None

    def test_what_expired_and_was_swept_is_remembered_with_the_end_of_its_ttl(self, store):
        given = write("q")
        store.put([given])
        sweep(store, given.remove_ms)
        assert gone(store, given) == [Gone(Fate.EXPIRED, given.answer.expire_ms)] * 2

    def test_what_a_purge_left_is_remembered_under_any_generation(self, store):
        given = under(write("q"), EVERYTHING)
        store.put([given])
        store.raise_generations({EVERYTHING: value(1)}, at_ms=NOW_MS + 5)
        sweep(store, NOW_MS + 9)
        later = [each._replace(scope_key=digest("later"), entry_id=digest("later id")) for each in given.keys]
        assert gone(store, replace(given, keys=tuple(later))) == [Gone(Fate.PURGED, NOW_MS + 9)] * 2

    def test_what_was_evicted_is_remembered(self, make_store):
        store = make_store(max_bytes=2 * MIB)
        writes = [write(f"q{at}", body=bytes(64 << 10)) for at in range(100)]
        store.put(writes)
        left = [found(store, one.keys[0]) is not None for one in writes]
        assert 0 < sum(left) < 100
        told = [gone(store, one) for one in writes]
        assert [one == [Gone(Fate.EVICTED, NOW_MS)] * 2 for one in told] == [not there for there in left]

    def test_a_refusal_is_remembered_with_its_reason(self, store):
        given, other = write("q"), write("q", scope="globex")
        reason = RefusalReason.TRUNCATED
        store.note_refused(given.keys, given.scope_root, reason, at_ms=NOW_MS + 7)
        assert gone(store, given) == [Gone(Fate.REFUSED, NOW_MS + 7, reason)] * 2
        assert gone(store, other) == [None, None]

    def test_what_happened_last_counts(self, store):
        given = told("q")
        store.note_refused(given.keys, given.scope_root, RefusalReason.EMPTY, at_ms=NOW_MS)
        store.put([given])
        store.delete(given.keys[0].entry_id, at_ms=NOW_MS + 3)
        assert set(gone(store, given)) == {Gone(Fate.DELETED, NOW_MS + 3)}
        store.note_refused(given.keys, given.scope_root, RefusalReason.EMPTY, at_ms=NOW_MS + 4)
        assert set(gone(store, given)) == {Gone(Fate.REFUSED, NOW_MS + 4, RefusalReason.EMPTY)}

    def test_what_was_only_replaced_is_not_gone(self, store):
        store.put([write("q"), write("q", body=b"again")])
        assert gone(store, write("q")) == [None, None]

    def test_looking_at_a_body_is_no_use_of_it(self, store):
        store.put([write("q")])
        entry, _ = found(store, key("q"))
        with store.read() as view:
            assert view.archive.holds_body(entry)
            assert not view.archive.holds_body(entry._replace(store_id=entry.store_id + 1))
