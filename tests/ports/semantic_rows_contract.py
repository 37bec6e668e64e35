"""What every EntryStore does with semantic entries; each driver subclasses `SemanticRowsContract`."""

import random
import threading
from dataclasses import replace

import numpy as np
import pytest

from askonce_server.core.entries import EntryKey, Generations, SemanticRow
from askonce_server.core.reasons import Matcher, RefusalReason
from ports.entries import MIB, NOW_MS, body_at, digest, found, key, write

DIM = 8


def unit(seed, dim=DIM):
    """A unit vector of its own, as bytes."""
    numbers = np.random.default_rng(seed).standard_normal(dim)
    return (numbers / np.linalg.norm(numbers)).astype("<f4").tobytes()


def space(name="all", *, scope="acme"):
    return digest("partition", scope, name)


def semantic_key(name, *, scope="acme", partition="all"):
    """A key as the core derives semantic ones: the id follows from partition and text."""
    inside, text = space(partition, scope=scope), digest("text", name)
    scope_key = digest("scope", scope, Matcher.SEMANTIC)
    return EntryKey(Matcher.SEMANTIC, scope_key, text, digest("entry", inside, text), inside)


def told(name, *, vector=None, **changes):
    """A Store under an exact and a semantic key."""
    scope, partition = changes.pop("scope", "acme"), changes.pop("partition", "all")
    row = SemanticRow(unit(sum(name.encode())) if vector is None else vector, b"features of " + name.encode())
    for field in ("text", "group", "features"):
        if field in changes:
            row = row._replace(**{field: changes.pop(field)})
    plain = write(name, scope=scope, matchers=(Matcher.EXACT,), **changes)
    return replace(
        plain, keys=(*plain.keys, semantic_key(name, scope=scope, partition=partition)), semantic=row
    )


def state(store, partition=None):
    with store.read() as view:
        return view.partition(space() if partition is None else partition)


def block(store, *, partition=None, dim=DIM, after=0, limit=1000):
    with store.read() as view:
        return view.vectors(space() if partition is None else partition, dim=dim, after=after, limit=limit)


def sequences(store, **changes):
    return block(store, **changes).sequences.tolist()


def stored(store, *numbers, partition=None):
    with store.read() as view:
        return view.stored_vectors(space() if partition is None else partition, numbers)


class SemanticRowsContract:
    @pytest.fixture
    def make_store(self):
        """A function `(max_bytes=…) -> store`; what it made is closed after the test."""
        raise NotImplementedError

    @pytest.fixture
    def store(self, make_store):
        return make_store()

    def test_a_semantic_entry_is_found_by_its_key_and_shares_the_body(self, store):
        given = told("q")
        assert store.put([given]) == [None]
        entry, body = found(store, given.keys[1])
        assert entry.key == given.keys[1]
        assert entry.answer == given.answer
        assert body == given.body
        assert found(store, given.keys[0])[0].store_id == entry.store_id

    def test_what_was_told_of_the_text_comes_back_with_the_entry(self, store):
        given = told("q", text="wie spät ist es?", group=b"g" * 8)
        store.put([given])
        (number,) = sequences(store)
        (one,) = stored(store, number)
        assert one.row == given.semantic
        assert one.entry == found(store, given.keys[1])[0]

    def test_an_unknown_partition_is_empty(self, store):
        assert state(store) == (0, 0)
        empty = block(store)
        assert empty.sequences.shape == (0,)
        assert empty.vectors.shape == (0, DIM)
        assert stored(store, 1) == [None]

    def test_vectors_come_by_ascending_sequence_and_unchanged(self, store):
        names = [f"q{i}" for i in range(20)]
        for i, name in enumerate(names):
            store.put([told(name, vector=unit(i))])
        seen = block(store)
        assert seen.sequences.dtype == np.int64
        assert seen.vectors.dtype == np.float32
        assert seen.vectors.flags["C_CONTIGUOUS"]
        assert np.all(np.diff(seen.sequences) > 0)
        assert seen.vectors.tobytes() == b"".join(unit(i) for i in range(20))
        assert state(store) == (seen.sequences[-1], 20)

    def test_a_block_goes_on_where_the_last_one_ended(self, store):
        store.put([told(f"q{i}") for i in range(10)])
        whole = sequences(store)
        parts, after = [], 0
        while True:
            some = block(store, after=after, limit=4).sequences.tolist()
            parts.append(len(some))
            if not some:
                break
            assert some == [number for number in whole if number > after][:4]
            after = some[-1]
        assert parts == [4, 4, 2, 0]

    def test_a_block_ends_with_the_newest(self, store):
        store.put([told("a"), told("b")])
        assert sequences(store, after=state(store).sequence) == []

    def test_vectors_of_another_size_are_left_out(self, store):
        store.put([told("a"), told("b", vector=unit(1, dim=4)), told("c")])
        assert len(sequences(store)) == 2
        assert len(sequences(store, dim=4)) == 1
        assert sequences(store, limit=2) == sequences(store)
        assert state(store).rows == 3

    def test_partitions_do_not_see_each_other(self, store):
        store.put([told("q"), told("q", partition="other"), told("q", scope="globex")])
        everywhere = [space(), space("other"), space(scope="globex")]
        assert [state(store, partition).rows for partition in everywhere] == [1, 1, 1]
        numbers = [sequences(store, partition=partition) for partition in everywhere]
        assert len({number for some in numbers for number in some}) == 3
        for partition, mine in zip(everywhere, numbers, strict=True):
            others = [number for some in numbers for number in some if number not in mine]
            assert stored(store, *others, partition=partition) == [None, None]

    def test_one_store_may_file_under_several_partitions(self, store):
        given = told("q")
        both = replace(given, keys=(*given.keys, semantic_key("q", partition="other")))
        assert store.put([both]) == [None]
        assert state(store).rows == state(store, space("other")).rows == 1
        assert body_at(store, both.keys[2]) == both.body.data

    def test_replacing_an_entry_replaces_its_vector_under_a_new_sequence(self, store):
        store.put([told("a"), told("q", vector=unit(1)), told("b")])
        before = state(store)
        old = sequences(store)[1]
        store.put([told("q", vector=unit(2), body=b"newer")])
        after = state(store)
        assert after.rows == before.rows == 3
        assert after.sequence > before.sequence
        assert stored(store, old) == [None]
        assert old not in sequences(store)
        (one,) = stored(store, after.sequence)
        assert one.row.vector == unit(2)
        assert block(store).vectors[-1].tobytes() == unit(2)

    def test_removing_an_entry_removes_its_vector(self, store):
        store.put([told("a"), told("b")])
        first, second = sequences(store)
        store.remove([semantic_key("b")])
        assert state(store) == (second, 1)
        assert sequences(store) == [first]
        assert stored(store, first, second)[1] is None
        assert body_at(store, key("b")) == b"answer to b"

    def test_the_last_vector_takes_the_partition_with_it_and_no_sequence_comes_again(self, store):
        store.put([told("a")])
        before = state(store)
        store.remove([semantic_key("a")])
        assert state(store) == (0, 0)
        store.put([told("a")])
        assert state(store).rows == 1
        assert state(store).sequence > before.sequence

    def test_a_body_goes_with_its_last_entry_also_when_that_is_a_semantic_one(self, store):
        given = told("q")
        store.put([given])
        entry = found(store, given.keys[0])[0]
        store.remove(given.keys[:1])
        assert body_at(store, given.keys[1]) == given.body.data
        store.remove(given.keys[1:])
        assert store.stats().entries == 0
        with store.read() as view:
            assert view.body(entry) is None

    def test_vectors_are_evicted_with_their_store(self, make_store):
        store = make_store(max_bytes=2 * MIB)
        for i in range(60):
            assert store.put([told(f"q{i}", body=bytes(100_000))]) == [None]
        evicted = store.stats().evicted
        assert evicted > 30
        assert state(store).rows == len(sequences(store)) == 60 - evicted
        assert state(store).sequence == sequences(store)[-1]
        assert body_at(store, semantic_key("q59")) == bytes(100_000)
        assert body_at(store, semantic_key("q0")) is None

    def test_sweeping_removes_vectors_with_their_entries(self, store):
        store.put([told("old", expire_ms=NOW_MS + 1_000), told("new", expire_ms=NOW_MS + 2_000)])
        assert store.sweep(NOW_MS + 1_000).expired == 2
        assert state(store).rows == len(sequences(store)) == 1
        assert store.sweep(NOW_MS + 2_000).expired == 2
        assert state(store) == (0, 0)

    def test_replacing_over_and_over_takes_no_more_room(self, store):
        for round_ in range(3):
            store.put([told(f"q{i}", vector=unit(round_, dim=384)) for i in range(10)])
        before = store.stats().used_bytes
        for round_ in range(50):
            store.put([told(f"q{i}", vector=unit(round_, dim=384)) for i in range(10)])
        assert store.stats().used_bytes <= before + 64 * 1024
        assert state(store).rows == 10

    def test_a_view_sees_one_moment(self, store):
        store.put([told("a"), told("b")])
        with store.read() as view:
            before = view.partition(space())
            numbers = [before.sequence]
            row = view.stored_vectors(space(), numbers)
            change = threading.Thread(
                target=lambda: (store.put([told("c"), told("b", vector=unit(9))]), store.remove([key("a")]))
            )
            change.start()
            change.join()
            assert view.partition(space()) == before
            assert view.vectors(space(), dim=DIM, limit=9).sequences.tolist()[-1] == before.sequence
            assert view.stored_vectors(space(), numbers) == row
        assert state(store).rows == 3
        assert stored(store, *numbers) == [None]

    def test_a_write_under_raised_generations_leaves_nothing(self, store):
        name = digest("everything")
        store.raise_generations({name: b"\x01" * 16}, at_ms=NOW_MS)
        late = replace(told("q"), generations=Generations((name,), (bytes(16),)))
        assert store.put([late]) == [RefusalReason.GENERATION_CHANGED]
        assert state(store) == (0, 0)

    @pytest.mark.parametrize(
        "vector",
        [
            b"",
            b"\x00\x00\x80\x3f\x00",
            bytes(16),
            np.array([1, np.nan], "<f4").tobytes(),
            np.array([np.inf, 1], "<f4").tobytes(),
        ],
        ids=["empty", "not float32", "zero", "nan", "infinite"],
    )
    def test_a_vector_that_is_none_is_refused_alone_and_said(self, store, vector, caplog):
        assert store.put([told("bad", vector=vector), told("good")]) == [RefusalReason.STORE_FAILED, None]
        assert found(store, key("bad")) is None
        assert state(store).rows == 1
        assert "cannot be stored" in caplog.text
        assert "vector" in caplog.text

    def test_a_semantic_key_without_a_vector_is_refused(self, store, caplog):
        assert store.put([replace(told("q"), semantic=None)]) == [RefusalReason.STORE_FAILED]
        assert found(store, key("q")) is None
        assert "needs a vector" in caplog.text

    def test_a_partition_belongs_to_semantic_keys_alone(self, store):
        given = told("q")
        strayed = replace(given, keys=(given.keys[0]._replace(partition=space()),))
        without = replace(given, keys=(given.keys[1]._replace(partition=b""),))
        assert store.put([strayed, without]) == [RefusalReason.STORE_FAILED] * 2

    def test_a_vector_given_without_a_semantic_key_is_not_kept(self, store):
        given = told("q")
        assert store.put([replace(given, keys=given.keys[:1])]) == [None]
        assert state(store) == (0, 0)

    def test_a_random_history_agrees_with_a_model(self, store):
        rnd, model = random.Random(3), {}
        for step in range(300):
            name, partition = f"q{rnd.randrange(12)}", rnd.choice(["all", "other"])
            if rnd.random() < 0.65:
                vector = unit(step)
                assert store.put([told(name, partition=partition, vector=vector)]) == [None]
                model[partition, name] = vector
            else:
                store.remove([semantic_key(name, partition=partition)])
                model.pop((partition, name), None)
            for each in ("all", "other"):
                expected = sorted(v for (p, _), v in model.items() if p == each)
                seen = block(store, partition=space(each))
                assert sorted(v.tobytes() for v in seen.vectors) == expected
                assert state(store, space(each)).rows == len(expected)
