"""How every store keeps labels, and the groups of answers."""

from __future__ import annotations

import pytest

from askonce_server.core.entries import Generations
from askonce_server.core.labels import Judgement, Label
from askonce_server.core.proposed import Method
from askonce_server.ports import MOST_LABELS, StoreUnavailable
from ports.entries import NOW_MS, digest
from ports.semantic_rows_contract import semantic_key, space, told

NAME, VALUE = digest("generation", "acme"), bytes(16)


def label(number, **changes):
    fields = {
        "label_id": number.to_bytes(16, "big"),
        "at_ms": NOW_MS + number % 1000,
        "rule_id": "near",
        "method": Method.EXPLORE,
        "judgement": Judgement.RIGHT,
        "scope_key": digest("scope", "acme"),
        "generations": Generations((NAME,), (VALUE,)),
        "partition": space(),
        "entry_id": digest("entry", str(number)),
        "similarity": 0.5 + number % 1000 / 1e6,
        "guard": "",
        "ticket": b"ticket",
        "source": "",
    }
    return Label(**(fields | changes))


def groups(store):
    with store.read() as view:
        sequences = view.vectors(space(), dim=8, limit=100).sequences
        return {
            one.entry.key: one.row.group
            for one in view.stored_vectors(space(), [int(sequence) for sequence in sequences])
            if one is not None
        }


class LabelsContract:
    """Labels count once, in their order, for as long as their scope is there."""

    @pytest.fixture
    def store(self, make_store):
        return make_store()

    def test_labels_come_back_in_order_with_all_they_say(self, store):
        kept = [
            label(1),
            label(2, judgement=Judgement.WRONG, method=Method.AUDIT, ticket=b""),
            label(3, judgement=Judgement.STALE, method=Method.FEEDBACK, source="user", guard="number"),
        ]
        store.file_labels(kept[:2], {})
        store.file_labels(kept[2:], {})
        page = store.labels(0, limit=10)
        assert page.labels == kept
        assert store.labels(page.last, limit=10) == ([], page.last, page.rewritten)

    def test_pages_follow_each_other(self, store):
        kept = [label(number) for number in range(7)]
        store.file_labels(kept, {})
        found, after = [], 0
        while page := store.labels(after, limit=3).labels:
            found += page
            after = store.labels(after, limit=3).last
        assert found == kept

    def test_a_label_that_is_given_twice_counts_once(self, store):
        store.file_labels([label(1)], {})
        store.file_labels([label(1, judgement=Judgement.WRONG), label(2), label(2)], {})
        assert store.labels(0, limit=10).labels == [label(1), label(2)]

    def test_a_label_of_a_scope_that_was_purged_meanwhile_is_left_out(self, store):
        store.raise_generations({NAME: b"v" * 16}, at_ms=NOW_MS)
        current = label(2, generations=Generations((NAME,), (b"v" * 16,)))
        store.file_labels([label(1), current], {})
        assert store.labels(0, limit=10).labels == [current]

    def test_a_purge_takes_the_labels_of_its_scope_and_says_so(self, store):
        other = label(2, generations=Generations((digest("generation", "umbrella"),), (VALUE,)))
        store.put([told("a", generations=Generations((NAME,), (VALUE,)))])
        store.file_labels([label(1), other], {})
        before = store.labels(0, limit=10).rewritten
        store.raise_generations({NAME: b"v" * 16}, at_ms=NOW_MS)
        for _ in range(6):
            store.sweep(NOW_MS)
        page = store.labels(0, limit=10)
        assert page.labels == [other]
        assert page.rewritten != before
        store.file_labels([label(1, generations=Generations((NAME,), (b"v" * 16,)))], {})
        assert len(store.labels(0, limit=10).labels) == 2, "its id is free again"

    def test_the_oldest_go_when_there_are_too_many(self, store):
        store.file_labels([label(number) for number in range(MOST_LABELS + 3)], {})
        page = store.labels(0, limit=2 * MOST_LABELS)
        after = page.last
        assert (len(page.labels), page.labels[0]) == (MOST_LABELS, label(3))
        store.file_labels([label(0)], {})
        assert store.labels(after, limit=10).labels == [label(0)], "what was forgotten is new"

    def test_an_entry_is_given_its_group_and_nothing_else_changes(self, store):
        store.put([told("a"), told("b")])
        store.file_labels([], {semantic_key("a"): b"g" * 16})
        assert groups(store) == {semantic_key("a"): b"g" * 16, semantic_key("b"): b""}
        with store.read() as view:
            assert view.body(view.entry(semantic_key("a"))) == told("a").body
            assert view.partition(space()).rows == 2
        store.file_labels([], {semantic_key("a"): b"h" * 16, semantic_key("b"): b"h" * 16})
        assert set(groups(store).values()) == {b"h" * 16}

    def test_the_group_of_what_is_gone_is_left_out(self, store):
        store.put([told("a")])
        store.remove([semantic_key("a")])
        store.file_labels([label(1)], {semantic_key("a"): b"g" * 16, semantic_key("never"): b"g" * 16})
        assert groups(store) == {}
        assert store.labels(0, limit=10).labels == [label(1)]

    def test_a_view_sees_the_groups_of_its_time(self, store):
        store.put([told("a")])
        with store.read() as view:
            sequence = view.partition(space()).sequence
            (before,) = view.stored_vectors(space(), [sequence])
            store.file_labels([], {semantic_key("a"): b"g" * 16})
            (after,) = view.stored_vectors(space(), [sequence])
            assert before.row.group == after.row.group == b""

    def test_a_closed_store_keeps_nothing(self, make_store):
        store = make_store()
        store.close()
        for act in (lambda: store.labels(0, limit=1), lambda: store.file_labels([label(1)], {})):
            with pytest.raises(StoreUnavailable):
                act()
