"""Purges and deletions: what every EntryStore lets go of, and never takes again."""

import random
from dataclasses import replace

import pytest

from askonce_server.core.entries import ZERO_GENERATION, Generations
from askonce_server.core.reasons import Matcher, RefusalReason
from ports.entries import MIB, NOW_MS, body_at, digest, found, key, write
from ports.semantic_rows_contract import semantic_key, space, state, told

DAY_MS = 24 * 3_600_000
CHANGED = [RefusalReason.GENERATION_CHANGED]
EVERYTHING = digest("everything")


def dim(name):
    return digest("generation", name)


def value(number):
    """A generation's value, never used before."""
    return number.to_bytes(16, "big")


def under(made, *names, values=None):
    """The write with its generations: zero unless said."""
    given = tuple(values) if values is not None else (ZERO_GENERATION,) * len(names)
    return replace(made, generations=Generations(tuple(names), given))


def tenant(name, **changes):
    """A Store of a tenant under an exact and a semantic key."""
    return under(told(changes.pop("q", "q"), scope=name, **changes), EVERYTHING, dim(name))


def sweep(store, now_ms=NOW_MS):
    """Sweep until there is nothing left; return how many entries were unreachable."""
    swept = [store.sweep(now_ms)]
    while swept[-1].more:
        swept.append(store.sweep(now_ms))
        assert len(swept) < 10_000
    return sum(one.unreachable for one in swept)


class FinalityContract:
    @pytest.fixture
    def make_store(self):
        raise NotImplementedError

    @pytest.fixture
    def store(self, make_store):
        return make_store()

    def test_a_purge_makes_reachable_entries_unreachable_and_sweeping_removes_them(self, store):
        store.put([tenant("acme"), tenant("acme", q="r", partition="other"), tenant("globex")])
        lost = found(store, semantic_key("q"))[0]
        store.raise_generations({dim("acme"): value(1)}, at_ms=NOW_MS)
        assert store.stats().unreachable == 4
        assert sweep(store) == 4
        stats = store.stats()
        assert (stats.unreachable, stats.entries) == (0, 2)
        assert state(store) == state(store, space("other")) == (0, 0)
        with store.read() as view:
            assert view.body(lost) is None
        assert body_at(store, semantic_key("q", scope="globex")) == b"answer to q"

    def test_sweeping_a_purge_leaves_what_was_filed_after_it(self, store):
        store.put([tenant("acme")])
        store.raise_generations({dim("acme"): value(1)}, at_ms=NOW_MS)
        scope = digest("scope", "new")
        fresh = [key("q")._replace(scope_key=scope, entry_id=digest("new"))]
        later = replace(write("q", body=b"new"), keys=tuple(fresh))
        assert store.put([under(later, EVERYTHING, dim("acme"), values=(bytes(16), value(1)))]) == [None]
        assert sweep(store) == 2
        assert body_at(store, fresh[0]) == b"new"

    def test_a_raise_of_anything_else_leaves_all(self, store):
        store.put([tenant("acme")])
        store.raise_generations({dim("globex"): value(1)}, at_ms=NOW_MS)
        assert store.stats().unreachable == 0
        assert sweep(store) == 0
        assert body_at(store, semantic_key("q")) == b"answer to q"

    def test_many_purges_are_swept_though_they_come_while_it_sweeps(self, store):
        store.put([tenant(f"t{i}", q=f"q{n}") for i in range(10) for n in range(30)])
        removed = 0
        for i in range(10):
            store.raise_generations({dim(f"t{i}"): value(i + 1)}, at_ms=NOW_MS)
            removed += store.sweep(NOW_MS).unreachable
        assert removed + sweep(store) == 600
        assert store.stats().entries == 0

    def test_what_a_purge_reaches_is_counted_before_and_is_what_it_takes(self, store):
        store.put([tenant("acme", body=b"12345"), tenant("acme", q="r", body=b"1"), tenant("globex")])
        reach = store.reach([dim("acme")])
        assert (reach.scopes, reach.entries, reach.body_bytes) == (2, 4, 12)
        assert store.reach([EVERYTHING]).entries == 6
        assert store.reach([dim("acme"), dim("globex")]).entries == 6
        assert store.reach([dim("nobody")]) == (0, 0, 0)
        assert store.reach([]) == (0, 0, 0)
        assert store.reach([EVERYTHING], within=[dim("acme")]) == reach
        assert store.reach([EVERYTHING], within=[dim("acme"), dim("globex")]) == (0, 0, 0)
        assert store.stats().unreachable == 0
        store.raise_generations({dim("acme"): value(1)}, at_ms=NOW_MS)
        assert store.stats().unreachable == reach.entries
        assert store.reach([dim("acme")]) == (0, 0, 0)
        assert store.reach([EVERYTHING]).entries == 2

    def test_a_write_by_descriptor_is_refused_unless_its_request_began_after_the_last_raise(self, store):
        store.raise_generations({dim("acme"): value(1)}, at_ms=NOW_MS)
        values = (ZERO_GENERATION, value(1))
        for start_ms, expected in ((NOW_MS - 1, CHANGED), (NOW_MS, CHANGED), (NOW_MS + 1, [None])):
            late = under(write("q", start_ms=start_ms), EVERYTHING, dim("acme"), values=values)
            assert store.put([replace(late, by_descriptor=True)]) == expected
        unsaid = replace(late, by_descriptor=True, began_ms=NOW_MS - 3_600_000)
        assert store.put([unsaid]) == CHANGED
        other = under(write("q", start_ms=NOW_MS - 1), EVERYTHING, dim("globex"))
        assert store.put([replace(other, by_descriptor=True)]) == [None]

    def test_a_write_by_token_is_judged_by_the_values_it_carries(self, store):
        store.raise_generations({EVERYTHING: value(1)}, at_ms=NOW_MS)
        given = write("q", start_ms=NOW_MS - 1)
        assert store.put([under(given, EVERYTHING, values=(value(1),))]) == [None]
        assert store.put([under(given, EVERYTHING)]) == CHANGED

    def test_an_entry_is_found_by_its_id_alone(self, store):
        given = told("q")
        store.put([given])
        for each in given.keys:
            with store.read() as view:
                assert view.find(each.entry_id) == view.entry(each)
                assert view.find(each.entry_id).key == each
        with store.read() as view:
            assert view.find(digest("nobody's")) is None
        store.remove(given.keys)
        with store.read() as view:
            assert view.find(given.keys[0].entry_id) is None

    def test_deleting_an_entry_deletes_the_others_of_its_store(self, store):
        given = told("q")
        store.put([given, told("other")])
        entry = found(store, given.keys[0])[0]
        deleted = store.delete(given.keys[1].entry_id, at_ms=NOW_MS)
        assert sorted(deleted) == sorted(given.keys)
        assert found(store, given.keys[0]) is None
        assert found(store, given.keys[1]) is None
        with store.read() as view:
            assert view.body(entry) is None
        assert state(store).rows == 1
        assert body_at(store, semantic_key("other")) == b"answer to other"

    def test_entries_of_another_store_stay(self, store):
        store.put([write("q", body=b"both")])
        store.put([write("q", body=b"newer", matchers=(Matcher.EXACT,))])
        left = key("q", matcher=Matcher.NORMALIZED)
        assert store.delete(left.entry_id, at_ms=NOW_MS) == [left]
        assert found(store, left) is None
        assert body_at(store, key("q")) == b"newer"

    def test_a_deleted_entry_cannot_come_back_by_an_older_request(self, store):
        given = told("q")
        store.put([given])
        store.delete(given.keys[0].entry_id, at_ms=NOW_MS)
        for each in given.keys:
            alone = replace(given, keys=(each,))
            older = alone.answer._replace(start_ms=NOW_MS)
            assert store.put([replace(alone, answer=older)]) == CHANGED
            unsaid = alone.answer._replace(start_ms=NOW_MS + 1)
            assert store.put([replace(alone, answer=unsaid, began_ms=NOW_MS - 5)]) == CHANGED
        assert state(store) == (0, 0)
        newer = given.answer._replace(start_ms=NOW_MS + 1)
        assert store.put([replace(given, answer=newer)]) == [None]
        assert body_at(store, given.keys[1]) == given.body.data

    def test_deleting_what_is_not_there_yet_is_final_too(self, store):
        given = write("q", start_ms=NOW_MS - 1)
        assert store.delete(given.keys[1].entry_id, at_ms=NOW_MS) == []
        assert store.put([given]) == CHANGED
        assert store.put([write("r", start_ms=NOW_MS - 1)]) == [None]

    def test_deleting_twice_counts_from_the_second(self, store):
        given = write("q", start_ms=NOW_MS + 5)
        store.put([given])
        store.delete(given.keys[0].entry_id, at_ms=NOW_MS)
        store.delete(given.keys[0].entry_id, at_ms=NOW_MS + 5)
        assert store.put([given]) == CHANGED
        assert store.sweep(NOW_MS + DAY_MS).expired == 1  # the normalized one, which was buried once

    def test_what_a_deletion_left_goes_after_a_day(self, store):
        given = write("q", start_ms=NOW_MS - 1, expire_ms=NOW_MS + 3 * DAY_MS)
        store.put([given])
        store.delete(given.keys[0].entry_id, at_ms=NOW_MS)
        assert store.sweep(NOW_MS + DAY_MS - 1).expired == 0
        assert store.put([given]) == CHANGED
        assert store.sweep(NOW_MS + DAY_MS).expired == 2
        assert store.put([given]) == [None]
        assert store.sweep(NOW_MS + DAY_MS).expired == 0

    def test_a_random_history_of_purges_and_deletions_agrees_with_a_model(self, make_store):
        store, rnd, clock = make_store(max_bytes=64 * MIB), random.Random(17), NOW_MS
        current, model = {}, {}
        for step in range(250):
            clock += 1
            name, q = f"t{rnd.randrange(4)}", f"q{rnd.randrange(8)}"
            roll = rnd.random()
            if roll < 0.6:
                old = rnd.random() < 0.2 and name in current
                at = ZERO_GENERATION if old else current.get(name, ZERO_GENERATION)
                asked = told(q, scope=name + at.hex(), body=str(step).encode(), start_ms=clock)
                made = under(asked, dim(name), values=(at,))
                assert store.put([made]) == (CHANGED if old else [None])
                if not old:
                    model[made.keys] = name, str(step).encode()
            elif roll < 0.8 and model:
                keys = rnd.choice(list(model))
                assert sorted(store.delete(keys[rnd.randrange(2)].entry_id, at_ms=clock)) == sorted(keys)
                del model[keys]
            elif roll < 0.9:
                reached = sum(2 for owner, _ in model.values() if owner == name)
                assert store.reach([dim(name)]).entries == reached
                current[name] = value(step + 1)
                store.raise_generations({dim(name): current[name]}, at_ms=clock)
                model = {keys: held for keys, held in model.items() if held[0] != name}
                assert store.stats().entries - store.stats().unreachable == 2 * len(model)
            else:
                store.sweep(NOW_MS)
            for keys, (_, body) in model.items():
                assert body_at(store, keys[rnd.randrange(2)]) == body
        sweep(store)
        assert store.stats().entries == 2 * len(model)
