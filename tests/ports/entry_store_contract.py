"""What every EntryStore does; the test module of each driver subclasses `EntryStoreContract`."""

import threading
from dataclasses import replace

import pytest

from askonce_server.core.entries import (
    ZERO_GENERATION,
    EntryKey,
    Generations,
    Usage,
)
from askonce_server.core.reasons import Matcher, RefusalReason
from askonce_server.ports import StoreUnavailable
from ports.entries import MIB, NOW_MS, body_at, digest, found, key, write
from ports.room_contract import RoomContract


class EntryStoreContract(RoomContract):
    @pytest.fixture
    def make_store(self):
        """A function `(max_bytes=…) -> store`; what it made is closed after the test."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, make_store):
        return make_store()

    def test_what_was_stored_is_found_with_everything_that_was_said_of_it(self, store):
        given = write("q")
        assert store.put([given]) == [None]
        for wanted in given.keys:
            entry, body = found(store, wanted)
            assert entry.key == wanted
            assert entry.answer == given.answer
            assert entry.scope_root == given.scope_root
            assert entry.body_bytes == len(given.body.data)
            assert body == given.body

    def test_the_keys_of_one_store_share_one_body(self, store):
        given = write("q")
        store.put([given])
        places = {(e.scope_root, e.store_id) for e, _ in (found(store, k) for k in given.keys)}
        assert len(places) == 1

    def test_what_is_unknown_stays_unknown(self, store):
        given = write("q", usage=None, cost_usd=None, source_request_id="", contains_tool_calls=False)
        store.put([given])
        stored = found(store, given.keys[0])[0].answer
        assert stored.usage is None
        assert stored.cost_usd is None

    def test_a_cost_of_zero_is_not_unknown(self, store):
        given = write("q", usage=Usage(0, 0), cost_usd=0.0)
        store.put([given])
        stored = found(store, given.keys[0])[0].answer
        assert stored.usage == Usage(0, 0)
        assert stored.cost_usd == 0.0

    def test_nothing_is_found_before_anything_was_stored(self, store):
        assert found(store, key("q")) is None
        assert store.stats().entries == 0

    def test_another_scope_finds_nothing(self, store):
        store.put([write("q")])
        assert found(store, key("q", scope="globex")) is None

    def test_another_matcher_finds_nothing(self, store):
        store.put([write("q", matchers=(Matcher.EXACT,))])
        assert found(store, key("q", matcher=Matcher.NORMALIZED)) is None

    def test_an_entry_under_another_fingerprint_is_no_entry(self, store):
        given = write("q")
        store.put([given])
        real = given.keys[0]
        collided = EntryKey(real.matcher, real.scope_key, digest("fingerprint", "other"), real.entry_id)
        assert found(store, collided) is None

    def test_equal_answers_of_two_scopes_are_two_bodies(self, store):
        one, two = write("q", body=b"same"), write("q", scope="globex", body=b"same")
        store.put([one, two])
        entries = [found(store, w.keys[0])[0] for w in (one, two)]
        assert entries[0].scope_root != entries[1].scope_root
        with store.read() as view:
            strayed = entries[0]._replace(scope_root=entries[1].scope_root, store_id=entries[0].store_id)
            assert view.body(strayed) is None

    @pytest.mark.parametrize("size", [0, 1, 1500, 4096, 70_000, MIB])
    def test_a_body_of_any_size_comes_back_unchanged(self, store, size):
        data = bytes(i * 31 % 251 for i in range(min(size, 4096))) * (size // 4096 or 1)
        given = write("q", body=data[:size])
        assert store.put([given]) == [None]
        assert body_at(store, given.keys[0]) == given.body.data

    def test_expired_entries_are_found_since_freshness_is_the_core_s_to_judge(self, store):
        given = write("q", expire_ms=NOW_MS - 1)
        store.put([given])
        assert body_at(store, given.keys[0]) == given.body.data

    def test_a_later_store_replaces_answer_ttl_and_body(self, store):
        store.put([write("q", body=b"old", expire_ms=NOW_MS + 10_000)])
        store.put([write("q", body=b"newer", expire_ms=NOW_MS + 100_000)])
        entry, body = found(store, key("q"))
        assert body.data == b"newer"
        assert entry.answer.expire_ms == NOW_MS + 100_000
        assert store.stats().entries == 2

    def test_a_replaced_body_is_gone(self, store):
        store.put([write("q", body=b"old")])
        old = found(store, key("q"))[0]
        store.put([write("q", body=b"newer")])
        with store.read() as view:
            assert view.body(old) is None

    def test_a_body_stays_while_one_of_its_entries_is_left(self, store):
        both = write("q", body=b"shared")
        store.put([both])
        exact_only = write("q", body=b"exact", matchers=(Matcher.EXACT,))
        store.put([exact_only])
        assert body_at(store, key("q")) == b"exact"
        assert body_at(store, key("q", matcher=Matcher.NORMALIZED)) == b"shared"
        left = found(store, key("q", matcher=Matcher.NORMALIZED))[0]
        store.put([write("q", body=b"normalized", matchers=(Matcher.NORMALIZED,))])
        with store.read() as view:
            assert view.body(left) is None

    def test_replacing_over_and_over_takes_no_more_room(self, store):
        for round_ in range(3):
            store.put([write("q", body=bytes([round_]) * 100_000)])
        before = store.stats().used_bytes
        for round_ in range(50):
            store.put([write("q", body=bytes([round_]) * 100_000)])
        assert store.stats().used_bytes <= before + 64 * 1024
        assert store.stats().entries == 2

    def test_a_key_given_twice_counts_once(self, store):
        given = write("q", matchers=(Matcher.EXACT, Matcher.EXACT))
        assert store.put([given]) == [None]
        assert store.stats().entries == 1
        old = found(store, given.keys[0])[0]
        store.put([write("q", body=b"newer", matchers=(Matcher.EXACT,))])
        with store.read() as view:
            assert view.body(old) is None

    def test_a_batch_gives_one_result_each_in_order(self, store):
        names = (digest("everything"),)
        store.raise_generations({names[0]: b"\x01" * 16}, at_ms=NOW_MS)
        stale = Generations(names, (ZERO_GENERATION,))
        results = store.put([write("a"), write("b", generations=stale), write("c")])
        assert results == [None, RefusalReason.GENERATION_CHANGED, None]
        assert body_at(store, key("a")) == b"answer to a"
        assert found(store, key("b")) is None
        assert body_at(store, key("c")) == b"answer to c"

    def test_of_two_writes_to_one_key_in_a_batch_the_later_wins(self, store):
        assert store.put([write("q", body=b"first"), write("q", body=b"second")]) == [None, None]
        assert body_at(store, key("q")) == b"second"
        assert store.stats().entries == 2

    def test_no_writes_give_no_results(self, store):
        assert store.put([]) == []

    def test_generations_are_zero_until_raised(self, store):
        names = [digest("everything"), digest("tenant", "acme")]
        with store.read() as view:
            assert view.generations(names) == (ZERO_GENERATION, ZERO_GENERATION)
            assert view.generations([]) == ()
        store.raise_generations({names[1]: b"\x07" * 16}, at_ms=NOW_MS)
        with store.read() as view:
            assert view.generations(names) == (ZERO_GENERATION, b"\x07" * 16)

    def test_a_write_under_current_generations_is_stored(self, store):
        name = digest("everything")
        store.raise_generations({name: b"\x01" * 16}, at_ms=NOW_MS)
        assert store.put([write("q", generations=Generations((name,), (b"\x01" * 16,)))]) == [None]
        assert body_at(store, key("q")) == b"answer to q"

    def test_a_write_derived_before_a_raise_is_refused_and_leaves_the_old_entry(self, store):
        name = digest("everything")
        before = Generations((name,), (ZERO_GENERATION,))
        store.put([write("q", body=b"old", generations=before)])
        store.raise_generations({name: b"\x01" * 16}, at_ms=NOW_MS)
        late = write("q", body=b"late", generations=before)
        assert store.put([late]) == [RefusalReason.GENERATION_CHANGED]
        assert body_at(store, key("q")) == b"old"

    def test_a_view_sees_one_moment(self, store):
        store.put([write("q", body=b"old")])
        with store.read() as view:
            entry = view.entry(key("q"))
            later = threading.Thread(target=store.put, args=([write("q", body=b"newer"), write("r")],))
            later.start()
            later.join()
            assert view.body(entry).data == b"old"
            assert view.entry(key("q")) == entry
            assert view.entry(key("r")) is None
        assert body_at(store, key("q")) == b"newer"
        assert body_at(store, key("r")) == b"answer to r"

    def test_what_a_view_kept_is_recalled_until_a_row_changes_if_at_all(self, store):
        store.put([write("q")])
        with store.read() as view:
            view.keep("derived", "found", entry=view.entry(key("q")), size=1)
        assert store.recall("derived") in ("found", None)
        assert store.recall("another") is None
        store.put([write("r")])
        assert store.recall("derived") is None

    def test_what_was_kept_in_an_older_view_is_not_recalled(self, store):
        store.put([write("q")])
        with store.read() as view:
            later = threading.Thread(target=store.put, args=([write("r")],))
            later.start()
            later.join()
            view.keep("derived", "found", entry=view.entry(key("q")), size=1)
        assert store.recall("derived") is None
        with store.read():
            assert store.recall("derived") is None

    def test_a_view_that_ended_says_so(self, store):
        with store.read() as view:
            pass
        with pytest.raises(StoreUnavailable, match="ended"):
            view.entry(key("q"))

    def test_removing_an_entry_removes_its_body_only_with_the_last(self, store):
        given = write("q")
        store.put([given])
        entry = found(store, given.keys[0])[0]
        store.remove(given.keys[:1])
        assert found(store, given.keys[0]) is None
        assert body_at(store, given.keys[1]) == given.body.data
        store.remove(given.keys[1:])
        assert store.stats().entries == 0
        with store.read() as view:
            assert view.body(entry) is None

    def test_what_cannot_be_stored_at_all_is_refused_alone(self, store):
        no_keys = replace(write("a"), keys=())
        short = replace(write("b"), scope_root=b"short")
        uneven = write("c", generations=Generations((digest("everything"),), ()))
        assert store.put([no_keys, write("d"), short, uneven]) == [
            RefusalReason.STORE_FAILED,
            None,
            RefusalReason.STORE_FAILED,
            RefusalReason.STORE_FAILED,
        ]
        assert body_at(store, key("d")) == b"answer to d"

    def test_statistics_count_acknowledged_writes(self, store):
        stale = Generations((digest("everything"),), (b"\x09" * 16,))
        store.put([write("a"), write("b", generations=stale)])
        stats = store.stats()
        assert (stats.commits, stats.writes, stats.entries) == (1, 1, 2)

    def test_entries_are_counted_for_the_rule_that_stored_them(self, store):
        assert store.entries_by_rule() == {}
        store.put([write("a"), write("b"), write("c", scope="other", rule_id="embeddings")])
        assert store.entries_by_rule() == {"chat": 4, "embeddings": 2}
        store.put([write("a")])
        assert store.entries_by_rule() == {"chat": 4, "embeddings": 2}

    def test_many_threads_read_their_own_writes(self, store):
        swapped = []

        def work(thread):
            for i in range(20):
                name = f"{thread}-{i}"
                if (
                    store.put([write(name)]) != [None]
                    or body_at(store, key(name)) != f"answer to {name}".encode()
                ):
                    swapped.append(name)

        threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert swapped == []
        assert store.stats().writes == 160

    def test_a_closed_store_passes_through(self, store):
        store.put([write("q")])
        store.close()
        store.close()
        assert "closed" in store.problem()
        assert store.put([write("r")]) == [RefusalReason.STORE_FAILED]
        with pytest.raises(StoreUnavailable), store.read():
            pass
        with pytest.raises(StoreUnavailable):
            store.stats()
        with pytest.raises(StoreUnavailable):
            store.sweep(NOW_MS)

    def test_a_store_that_works_has_no_problem(self, store):
        store.put([write("q")])
        assert store.problem() is None
