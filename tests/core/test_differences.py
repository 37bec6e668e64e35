"""Where two documents differ is named, and only there."""

from __future__ import annotations

import unicodedata
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.canonical import encode
from askonce_server.core.differences import differences, excerpt, texts

SCALARS = st.none() | st.booleans() | st.integers(-9, 9) | st.sampled_from([Decimal("1.0"), Decimal("0.5")])
SCALARS |= st.text("ab \u00e9\u0301e", max_size=4)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=12,
)


@given(TREES, TREES)
def test_a_difference_is_named_exactly_where_canonical_forms_differ(first, second):
    named = [one for one in differences(first, second) if not one.equal]
    assert bool(named) is (encode(first) != encode(second))


@given(TREES)
def test_nothing_differs_from_itself(tree):
    assert list(differences(tree, tree)) == []


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ("a b", "a  b", "differs only in white space, first at character 2"),
        ("café", "cafe\u0301", "differs only in Unicode form (NFC ↔ NFD), first at character 3"),
        ("Straße", "STRASSE", "differs only in case, first at character 1"),
        ("A b", "a  b", "differs only in white space and case, first at character 0"),
        ("É x", "e\u0301  X", "differs only in Unicode form and white space and case, first at character 0"),
        ("abc", "abd", 'differs at character 2: "abc" ↔ "abd"'),
        ("a" * 50 + "x" + "a" * 50, "a" * 50 + "y", "differs at character 50: "),
    ],
)
def test_how_two_texts_differ_is_said_in_words(first, second, says):
    assert texts(first, second).startswith(says)


@given(st.text(min_size=1, max_size=200), st.integers(0, 300))
def test_an_excerpt_is_short_and_printable(text, at):
    piece = excerpt(text, at)
    assert piece.isprintable()
    assert len(piece) <= 40 * 10 + 4


@given(st.text("aA\u00e9\u0301 ", max_size=6), st.text("aA\u00e9\u0301 ", max_size=6))
def test_unicode_form_alone_is_only_said_where_the_composed_texts_are_equal(first, second):
    if first != second:
        only = texts(first, second).startswith("differs only in Unicode form (")
        same = unicodedata.normalize("NFC", first) == unicodedata.normalize("NFC", second)
        assert only is same
