"""Numbers: which have a single reading, and how each spelling of one is written."""

from __future__ import annotations

import pytest

from askonce_server.core.canonical import canonicalize
from askonce_server.core.errors import Unrepresentable

BEYOND = [
    "9007199254740992",
    "-9007199254740992",
    "9007199254740993",
    "9007199254740992.0",
    "9007199254740991.5",  # rounds to 2^53
    "90071992547409920e-1",
    "9.007199254740992E+15",
    "9.007199254740993e15",
    "1e16",
    "10000000000000000.5",
    "18446744073709551615",
    "18446744073709551616",
    "1e23",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "1e309",
    "1e999",
    "-1e999",
    "1e400000",
    "1e999999999999999999",
    "1e1000000000000000000",
    "1e99999999999999999999",
    "9" * 4_300,
    "9" * 4_301,
    "-" + "9" * 5_000,
]


@pytest.mark.parametrize("literal", BEYOND, ids=lambda literal: literal[:30])
def test_integral_values_beyond_53_bits_are_refused_however_spelt(literal: str):
    for raw in (literal, f"[0.5,{literal}]", f'{{"a":{{"b":{literal}}}}}'):
        with pytest.raises(Unrepresentable):
            canonicalize(raw.encode())


@pytest.mark.parametrize(
    "literal", ["1e-324", "-1e-400", "2.4e-324", "1e-400000", "0.1e-99999999999999999999"]
)
def test_numbers_too_small_for_a_double_are_refused_rather_than_zero(literal: str):
    with pytest.raises(Unrepresentable):
        canonicalize(literal.encode())


@pytest.mark.parametrize(
    ("spellings", "want"),
    [
        (["1", "1.0", "1e0", "1E+0", "10e-1", "0.1e1", "1.000e-000", "100" + "0" * 5_000 + "e-5002"], "1"),
        (["0", "-0", "0.0", "-0.0", "0e5", "0E-999", "-0e999", "0e99999999999999999999"], "0"),
        (["0." + "0" * 5_000 + "1e5001", "1." + "0" * 5_000], "1"),
        (
            ["9007199254740991", "9007199254740991.0", "9.007199254740991e15", "9007199254740991.4"],
            "9007199254740991",
        ),
        (["-9007199254740991", "-90071992547409910e-1"], "-9007199254740991"),
        (["4503599627370495.5", "45035996273704955e-1"], "4503599627370495.5"),
        (["0.2", "0.20", "2e-1", "20E-2", "0.200000000000000011"], "0.2"),
        (["0.2000001"], "0.2000001"),
        (["0.001", "1e-3"], "0.001"),
        (["0.00099", "9.9e-4"], "0.00099"),
        (["0.0001", "1e-4"], "0.0001"),
        (["0.00001", "1e-5"], "0.00001"),
        (["0.0000123", "1.23e-5"], "0.0000123"),
        (["0.000001", "1e-6", "1E-06"], "0.000001"),
        (["-0.0000015", "-1.5e-6"], "-0.0000015"),
        (["0.0000001", "1e-7"], "1e-7"),
        (["0.000000999", "9.99e-7"], "9.99e-7"),
        (["-1.25e-10"], "-1.25e-10"),
        (["1e-100", "0.1e-99"], "1e-100"),
        (["5e-324", "4.9e-324", "3e-324"], "5e-324"),
        (["2.2250738585072014e-308"], "2.2250738585072014e-308"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_every_spelling_of_a_number_is_written_as_ecmascript_does(spellings: list[str], want: str):
    for literal in spellings:
        assert canonicalize(f"[{literal}]".encode()) == f"[{want}]".encode(), literal
