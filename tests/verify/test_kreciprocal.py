"""A candidate is accepted where what is asked and the candidate are among each other's nearest."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.ports import Case, OverBudget, StoreUnavailable, TooFewNeighbors, VerifierFailed
from askonce_server.verify import KReciprocalVerifier
from verify.cases import at_angle, case, near, stored

VERIFIER = KReciprocalVerifier()


def soon():
    return time.monotonic() + 30


def verdict(one):
    return VERIFIER.verify(one, deadline=soon())


def test_it_accepts_what_is_nearer_than_the_third_neighbour_of_the_candidate():
    rows = [stored(1, 0), stored(2, -10), stored(3, -20), stored(4, -30), stored(5, -31)]
    assert verdict(case(29, rows))
    assert not verdict(case(31, rows))


def test_the_third_neighbour_itself_is_near_enough():
    rows = [stored(1, 0), stored(2, -10), stored(3, -20), stored(4, -30)]
    assert verdict(case(30, rows))


def test_a_denser_neighbourhood_wants_a_nearer_question():
    dense = [stored(1, 0), stored(2, -1), stored(3, -2), stored(4, -3)]
    assert not verdict(case(5, dense))
    assert verdict(case(2.9, dense))


def test_a_candidate_behind_three_others_is_refused():
    rows = [stored(1, 0), stored(2, 50), stored(3, 51), stored(4, 52)]
    assert not verdict(case(30, rows))  # the three stand 20 to 22 degrees away, the candidate 30
    assert verdict(case(22, rows))


def test_fewer_than_three_others_are_too_few():
    rows = [stored(1, 0), stored(2, -10), stored(3, -20)]
    with pytest.raises(TooFewNeighbors, match="2 other entries are near the candidate; 3 are needed"):
        verdict(case(1, rows))
    assert KReciprocalVerifier(k=2).verify(case(1, rows), deadline=soon())


def test_entries_with_the_answer_of_the_candidate_are_no_neighbours_of_it():
    own = [stored(1, 0, store_id=7), *(stored(10 + at, at / 10, store_id=7) for at in range(3))]
    with pytest.raises(TooFewNeighbors, match="0 other"):
        verdict(case(1, own))
    rows = [*own, stored(2, -10), stored(3, -20), stored(4, -30)]
    assert verdict(case(29, rows))


def test_the_same_number_of_a_body_in_another_scope_is_another_answer():
    rows = [
        stored(1, 0, store_id=7),
        *(stored(10 + at, -1 - at, store_id=7, scope_root=b"o" * 32) for at in range(3)),
    ]
    assert not verdict(case(29, rows))


def test_entries_with_the_answer_of_the_candidate_do_not_push_it_back():
    nearer = [stored(10 + at, 20 + at, store_id=1) for at in range(5)]
    rows = [stored(1, 0), *nearer, stored(2, -30), stored(3, -31), stored(4, -32)]
    assert verdict(case(25, rows))


def test_others_are_found_behind_many_keys_of_one_answer():
    rows = [stored(100 + at, at / 100, store_id=100) for at in range(60)]
    rows += [stored(1, -10), stored(2, -20), stored(3, -30)]
    assert verdict(case(29, rows))
    assert not verdict(case(31, rows))


def test_an_answer_with_more_keys_than_are_looked_at_is_not_judged():
    asked = []
    rows = [stored(100 + at, at / 1000, store_id=100) for at in range(2000)]
    rows += [stored(1, -10), stored(2, -20), stored(3, -30)]

    def around(vector, size):
        asked.append(size)
        return near(vector, rows, size)

    with pytest.raises(TooFewNeighbors):
        verdict(replace(case(5, rows, candidate=5), around=around))
    assert max(asked) < 500


def test_a_store_that_is_gone_is_a_failure_and_no_verdict():
    def around(vector, size):
        raise StoreUnavailable("disk of acme")

    one = replace(case(1, [stored(1, 0)]), around=around)
    with pytest.raises(VerifierFailed, match=r"^no neighbours can be recalled: StoreUnavailable$"):
        verdict(one)


def test_a_deadline_that_has_passed_costs_no_recall():
    def around(vector, size):
        raise AssertionError("recalled")

    one = replace(case(1, [stored(1, 0)]), around=around)
    with pytest.raises(OverBudget):
        VERIFIER.verify(one, deadline=time.monotonic() - 1)


@given(
    asked=st.floats(-90, 90),
    angles=st.lists(st.floats(-90, 90), min_size=4, max_size=10),
    stores=st.lists(st.integers(0, 3), min_size=10, max_size=10),
)
def test_it_decides_as_its_definition_says(asked, angles, stores):
    rows = [stored(at, angle, store_id=stores[at]) for at, angle in enumerate(angles)]
    one: Case = case(asked, rows)
    candidate = one.candidate
    others = sorted(
        (
            float(similarity)
            for row, similarity in (
                (other, near(candidate.row.vector, [other], 1)[0].similarity) for other in rows
            )
            if row[0].store_id != candidate.entry.store_id
        ),
        reverse=True,
    )
    before = [
        row
        for row in rows
        if row[0].store_id != candidate.entry.store_id
        and near(at_angle(asked), [row], 1)[0].similarity > candidate.similarity
    ]
    try:
        said = verdict(one)
    except TooFewNeighbors:
        said = None
    if len(before) >= 3:
        assert said is False
    elif len(others) < 3:
        assert said is None
    else:
        assert said is (candidate.similarity >= others[2])
