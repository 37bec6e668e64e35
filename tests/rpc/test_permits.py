"""Bytes in flight: a large call counts for what it takes while it is read."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from askonce_server.rpc.permits import Limits, Permits

KIB, MIB = 1 << 10, 1 << 20


def taken(size, *, of=256 * MIB, calls=10_000):
    """How many calls of a size are taken at once."""
    permits = Permits(Limits(max_in_flight_bytes=of))
    with ExitStack() as held:
        return sum(held.enter_context(permits.bytes_in_flight(size)) for _ in range(calls))


@pytest.mark.parametrize(
    ("size", "calls"), [(64 * KIB, 4096), (64 * KIB + 1, 819), (MIB, 51), (7 * MIB, 7), (8 * MIB, 6)]
)
def test_a_large_call_counts_five_times_and_a_small_one_once(size, calls):
    assert taken(size) == calls


@pytest.mark.parametrize(("size", "calls"), [(MIB, 1), (MIB + 1, 0), (210 * KIB, 1), (64 * KIB, 16)])
def test_a_call_that_fits_by_its_bytes_is_taken_alone(size, calls):
    assert taken(size, of=MIB) == calls


def test_what_was_taken_is_given_back():
    permits = Permits(Limits(max_in_flight_bytes=MIB))
    for _ in range(3):
        with permits.bytes_in_flight(MIB) as first, permits.bytes_in_flight(1) as second:
            assert (first, second) == (True, False)
