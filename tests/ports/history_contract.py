"""How every store keeps what was counted."""

from __future__ import annotations

import pytest

from askonce_server.ports import HOUR_MS, KEPT_HOURS, Past, StoreUnavailable

NOON = 1_700_000_000_000 // HOUR_MS * HOUR_MS
FIRST, SECOND = b"server one", b"server two"


class HistoryContract:
    """Counts by the hour: taken over once, whoever tells them, and for 30 days."""

    @pytest.fixture
    def store(self, make_store):
        return make_store()

    def test_nothing_was_counted(self, store):
        assert store.counts_since(0, server=FIRST) == Past({}, {}, 0)

    def test_only_what_is_new_is_added(self, store):
        store.add_counts(FIRST, {"chat": {"hit.exact": 3}, "": {"bypass.no_rule": 1}}, at_ms=NOON)
        store.add_counts(FIRST, {"chat": {"hit.exact": 5, "refresh": 1}}, at_ms=NOON + 1)
        counted = {"chat": {"hit.exact": 5, "refresh": 1}, "": {"bypass.no_rule": 1}}
        assert store.counts_since(0, server=FIRST) == Past(counted, counted, NOON)

    def test_the_same_twice_and_a_reading_that_is_late_add_nothing(self, store):
        later, earlier = {"chat": {"hit.exact": 9, "stored": 2}}, {"chat": {"hit.exact": 7}}
        for reading in (earlier, later, later, earlier):
            store.add_counts(FIRST, reading, at_ms=NOON)
        assert store.counts_since(0, server=FIRST).counted == later

    def test_the_next_server_begins_at_nothing(self, store):
        store.add_counts(FIRST, {"chat": {"stored": 3}, "old": {"stored": 1}}, at_ms=NOON)
        store.add_counts(SECOND, {"chat": {"stored": 2}}, at_ms=NOON)
        both = {"chat": {"stored": 5}, "old": {"stored": 1}}
        assert store.counts_since(0, server=SECOND) == Past(both, {"chat": {"stored": 2}}, NOON)
        assert store.counts_since(0, server=FIRST).taken == {}

    def test_hours_are_told_apart(self, store):
        store.add_counts(FIRST, {"chat": {"stored": 1}}, at_ms=NOON)
        store.add_counts(FIRST, {"chat": {"stored": 3}}, at_ms=NOON + HOUR_MS)
        whole = store.counts_since(NOON + HOUR_MS - 1, server=FIRST)
        assert (whole.counted, whole.since_ms) == ({"chat": {"stored": 3}}, NOON)
        last = store.counts_since(NOON + 2 * HOUR_MS - 1, server=FIRST)
        assert (last.counted, last.since_ms) == ({"chat": {"stored": 2}}, NOON + HOUR_MS)
        assert last.taken == {"chat": {"stored": 3}}

    def test_counts_are_kept_for_thirty_days(self, store):
        for hour in range(0, KEPT_HOURS + 50, 10):
            store.add_counts(FIRST, {"chat": {"stored": hour + 1}}, at_ms=NOON + hour * HOUR_MS)
        kept = store.counts_since(0, server=FIRST)
        assert kept.since_ms == NOON + 40 * HOUR_MS
        assert kept.counted == {"chat": {"stored": KEPT_HOURS + 41 - 31}}

    def test_what_was_counted_while_the_clock_was_ahead_is_not_of_hours_to_come(self, store):
        store.add_counts(FIRST, {"chat": {"stored": 1}}, at_ms=NOON)
        store.add_counts(FIRST, {"chat": {"stored": 3}, "far": {"stored": 7}}, at_ms=NOON + 100 * HOUR_MS)
        store.add_counts(SECOND, {"chat": {"stored": 5}}, at_ms=NOON + HOUR_MS)
        told = store.counts_since(NOON + HOUR_MS, server=SECOND)
        assert told == Past(
            {"chat": {"stored": 7}, "far": {"stored": 7}}, {"chat": {"stored": 5}}, NOON + HOUR_MS
        )
        assert store.counts_since(NOON, server=SECOND).counted["chat"] == {"stored": 8}
        assert store.counts_since(NOON + 2 * HOUR_MS, server=SECOND).counted == {}

    def test_counts_may_be_large_and_names_long(self, store):
        counted = {"r" * 64: {"n" * 80: 2**63, **{f"took.hit.{at}": at + 1 for at in range(200)}}}
        store.add_counts(FIRST, counted, at_ms=NOON)
        assert store.counts_since(0, server=FIRST).counted == counted

    def test_a_store_that_is_closed_keeps_none(self, store):
        store.close()
        with pytest.raises(StoreUnavailable):
            store.add_counts(FIRST, {"chat": {"stored": 1}}, at_ms=NOON)
        with pytest.raises(StoreUnavailable):
            store.counts_since(0, server=FIRST)
