"""What every view of a store tells operators besides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from askonce_server.core.fates import Fate, Gone
from ports.entry_store_contract import NOW_MS, digest, found, key, write
from ports.finality_contract import EVERYTHING, dim, value
from ports.semantic_rows_contract import told

ROOT = digest("root", "acme")


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

    def test_looking_at_a_body_is_no_use_of_it(self, store):
        store.put([write("q")])
        entry, _ = found(store, key("q"))
        with store.read() as view:
            assert view.archive.holds_body(entry)
            assert not view.archive.holds_body(entry._replace(store_id=entry.store_id + 1))
