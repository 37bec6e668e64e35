"""Which answers are one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.groups import new_group
from askonce_server.core.keys import semantic_key
from askonce_server.truth.groups import COMPARED, Union, Unions, Word, join
from askonce_server.truth.verdict import Verdict

SAME, DIFFERENT, UNKNOWN = Verdict.SAME, Verdict.DIFFERENT, Verdict.UNKNOWN


def joined(nearest, verdicts):
    return join(nearest, lambda at: verdicts[at], new=b"new")


def test_a_fresh_answer_joins_the_nearest_that_is_the_same():
    assert joined([b"a", b"b", b"c"], [DIFFERENT, SAME, SAME]) == (b"b", False, (b"c",))


@pytest.mark.parametrize("verdicts", [[DIFFERENT, DIFFERENT], [UNKNOWN, DIFFERENT], [UNKNOWN, UNKNOWN]])
def test_what_is_the_same_as_none_begins_a_group(verdicts):
    assert joined([b"a", b"b"], verdicts) == (b"new", True, ())


def test_no_more_than_five_are_compared():
    asked = []
    join([b"a"] * 9, lambda at: asked.append(at) or UNKNOWN, new=b"new")
    assert asked == list(range(COMPARED))


def test_an_entry_without_a_group_cannot_be_joined():
    assert joined([b"", b"b"], [SAME, SAME]) == (b"b", False, ())
    assert joined([b""], [SAME]).new


def test_a_group_is_named_for_its_first_entry_and_its_partition():
    keys = [semantic_key(bytes(32), place * 32, text) for place in (b"p", b"q") for text in ("one", "other")]
    names = {new_group(key.entry_id) for key in keys}
    assert len(names) == 4
    assert {len(name) for name in names} == {16}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=20))
def test_unions_are_an_equivalence_and_read_back(pairs):
    unions = Unions()
    parts = {number: {number} for number in range(10)}
    for one, other in pairs:
        unions.merge(b"%d" % one, b"%d" % other, Word.PERSON)
        whole = parts[one] | parts[other]
        parts.update(dict.fromkeys(whole, whole))
    again = Unions(list(unions))
    for one in range(10):
        assert again.resolve(b"%d" % one) == unions.resolve(b"%d" % one)
        for other in range(10):
            assert (unions.resolve(b"%d" % one) == unions.resolve(b"%d" % other)) == (other in parts[one])


def test_what_is_one_already_is_not_recorded_again():
    unions = Unions([Union(b"a", b"b", Word.JUDGE)])
    assert unions.merge(b"b", b"a", Word.PERSON) is None
    assert unions.merge(b"a", b"c", Word.PERSON) == Union(b"b", b"c", Word.PERSON)
    assert unions.resolve(b"a") == b"c"


def test_entries_of_no_group_are_never_one():
    assert Unions().merge(b"", b"a", Word.PERSON) is None


def test_purged_groups_are_forgotten():
    unions = Unions([Union(b"a", b"b", Word.JUDGE), Union(b"c", b"d", Word.JUDGE)])
    unions.forget(lambda group: group == b"b")
    assert list(unions) == [Union(b"c", b"d", Word.JUDGE)]
    assert unions.resolve(b"a") == b"a"
