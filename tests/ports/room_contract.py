"""How every EntryStore makes room: what it evicts, and what it sweeps."""

from dataclasses import replace

from askonce_server.core.reasons import Matcher, RefusalReason
from ports.entries import MIB, NOW_MS, body_at, fill, found, key, write


class RoomContract:
    def test_a_full_store_evicts_for_what_is_new_and_stays_within_its_limit(self, make_store):
        store = make_store(max_bytes=2 * MIB)
        for i in range(60):
            assert store.put([write(f"q{i}", body=bytes([i]) * 100_000)]) == [None]
            assert store.stats().used_bytes <= 2 * MIB
        stats = store.stats()
        assert stats.limit_bytes == 2 * MIB
        assert stats.used_bytes > 2 * MIB - 400_000
        assert 40 <= stats.evicted <= 55
        assert stats.entries == 2 * (60 - stats.evicted)
        assert body_at(store, key("q59")) == bytes([59]) * 100_000
        assert store.problem() is None

    def test_evicting_removes_all_that_one_store_filed(self, make_store):
        store = make_store(max_bytes=2 * MIB)
        store.put([write("first", body=bytes(100_000))])
        with store.read() as view:
            entry = view.entry(key("first"))
        fill(store, 100_000)
        assert found(store, key("first")) is None
        assert found(store, key("first", matcher=Matcher.NORMALIZED)) is None
        with store.read() as view:
            assert view.body(entry) is None

    def test_replacing_in_a_full_store_evicts_nobody(self, make_store):
        store = make_store(max_bytes=2 * MIB)
        kept = fill(store, 100_000)
        before = store.stats().evicted
        for _ in range(5):
            assert store.put([write(kept[-1], body=b"\x02" * 100_000)]) == [None]
        assert store.stats().evicted == before
        assert [body_at(store, key(name)) for name in kept[:-1]] == [bytes(100_000)] * (len(kept) - 1)
        assert body_at(store, key(kept[-1])) == b"\x02" * 100_000

    def test_what_was_read_is_evicted_after_what_was_not(self, make_store):
        store = make_store(max_bytes=2 * MIB)
        kept = fill(store, 100_000)
        asked = kept[: len(kept) // 2]
        for name in asked:
            assert body_at(store, key(name)) is not None
        for i in range(len(kept) - len(asked)):
            assert store.put([write(f"new-{i}", body=bytes(100_000))]) == [None]
        assert None not in {body_at(store, key(name)) for name in asked[1:]}
        assert found(store, key(kept[-1])) is None

    def test_looking_at_an_entry_without_its_body_is_no_use_of_it(self, make_store):
        store = make_store(max_bytes=2 * MIB)
        kept = fill(store, 100_000)
        with store.read() as view:
            assert view.entry(key(kept[0])) is not None
        while store.stats().evicted < len(kept):
            store.put([write(f"new-{store.stats().writes}", body=bytes(100_000))])
        with store.read() as view:
            assert view.entry(key(kept[0])) is None

    def test_an_answer_that_takes_more_than_half_of_the_store_is_refused_and_evicts_nobody(self, make_store):
        store = make_store(max_bytes=2 * MIB)
        kept = fill(store, 100_000)
        before = store.stats()
        assert store.put([write("huge", body=bytes(MIB + 1))]) == [RefusalReason.STORE_FULL]
        assert store.stats().entries == before.entries
        assert body_at(store, key(kept[0])) == bytes(100_000)

    def test_a_full_store_makes_room_by_removing_what_has_expired(self, make_store):
        store = make_store(max_bytes=2 * MIB)
        old = fill(store, 100_000, expire_ms=NOW_MS + 1_000)
        before = store.stats().evicted
        late = write("another", body=bytes(100_000), store_ms=NOW_MS + 1_000, expire_ms=NOW_MS + 9_000)
        assert store.put([late]) == [None]
        assert body_at(store, key("another")) == bytes(100_000)
        assert [found(store, key(name)) for name in old] == [None] * len(old)
        assert store.stats().evicted == before

    def test_sweeping_removes_what_has_expired_and_nothing_else(self, store):
        store.put([write("old", expire_ms=NOW_MS + 1_000), write("new", expire_ms=NOW_MS + 2_000)])
        old = found(store, key("old"))[0]
        assert store.sweep(NOW_MS + 999).expired == 0
        swept = store.sweep(NOW_MS + 1_000)
        assert (swept.expired, swept.more) == (2, False)
        assert found(store, key("old")) is None
        with store.read() as view:
            assert view.body(old) is None
        assert body_at(store, key("new")) == b"answer to new"
        assert store.stats().entries == 2

    def test_what_may_be_served_stale_is_kept_for_that_long(self, store):
        store.put([replace(write("q", expire_ms=NOW_MS + 1_000), stale_ms=5_000)])
        assert store.sweep(NOW_MS + 5_999).expired == 0
        assert body_at(store, key("q")) == b"answer to q"
        store.put([write("q", expire_ms=NOW_MS + 1_000)])
        assert store.sweep(NOW_MS + 1_000).expired == 2
        assert store.stats().entries == 0

    def test_an_entry_that_was_stored_again_is_not_swept_with_its_old_ttl(self, store):
        store.put([write("q", expire_ms=NOW_MS + 1_000)])
        store.put([write("q", body=b"newer", expire_ms=NOW_MS + 9_000)])
        assert store.sweep(NOW_MS + 1_000).expired == 0
        assert body_at(store, key("q")) == b"newer"

    def test_sweeping_goes_on_until_nothing_is_left(self, store):
        store.put([write(f"q{i}", expire_ms=NOW_MS) for i in range(500)])
        swept = [store.sweep(NOW_MS)]
        while swept[-1].more:
            swept.append(store.sweep(NOW_MS))
        assert sum(one.expired for one in swept) == 1_000
        assert store.stats().entries == 0
