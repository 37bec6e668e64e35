"""Hypothesis strategies that several suites share: JSON trees, and other spellings of the same tree."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any, TypeAlias

from hypothesis import strategies as st

JsonTree: TypeAlias = "dict[str, JsonTree] | list[JsonTree] | str | int | Decimal | bool | None"

MAX_INTEGER = 2**53 - 1

# The neighbours of every border of a spelling: controls, escapes, encoded lengths, surrogates.
_EDGES = (
    '\x00\x08\t\n\x0b\f\r\x1f "/\\aA1\x7f\x80\xe9\u07ff\u0800\u20ac\u2028'
    "\ud7ff\ue000\ufb33\ufe0f\uffff\U00010000\U0001f600\U0010ffff"
)
_SHORT_ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "/": "\\/",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
}


def strings() -> st.SearchStrategy[str]:
    """Strings of Unicode scalar values, the awkward ones often."""
    return st.text(st.one_of(st.sampled_from(_EDGES), st.characters(exclude_categories=["Cs"])), max_size=8)


def numbers() -> st.SearchStrategy[int | Decimal]:
    """Numbers that have a canonical form, as parsers give them: integers and decimals."""
    doubles = st.one_of(
        st.floats(-MAX_INTEGER, MAX_INTEGER),
        st.floats(-1e-3, 1e-3),
        st.sampled_from([1e-5, 9.999999999999997e-7, 1e-6, 1e-7, 5e-324, -0.0, 4503599627370495.5]),
    )
    integers = st.one_of(
        st.integers(-MAX_INTEGER, MAX_INTEGER), st.sampled_from([0, MAX_INTEGER, -MAX_INTEGER])
    )
    return st.one_of(integers, doubles.map(lambda double: Decimal(repr(double))))


def json_trees(*, max_leaves: int = 20) -> st.SearchStrategy[Any]:
    """JSON values of up to `max_leaves` scalars that have a canonical form."""
    return st.recursive(
        st.one_of(st.none(), st.booleans(), numbers(), strings()),
        lambda inner: st.one_of(
            st.lists(inner, max_size=5),
            st.dictionaries(strings(), inner, max_size=5),
        ),
        max_leaves=max_leaves,
    )


def respell(draw: Callable[[st.SearchStrategy[Any]], Any], tree: JsonTree) -> bytes:
    """Write `tree` with key order, white space, escapes and number spellings drawn at random."""
    # One seed instead of a draw per character: a document has thousands of choices.
    dice = draw(st.randoms(use_true_random=True, note_method_calls=False))
    return (_space(dice) + _value(dice, tree) + _space(dice)).encode()


@st.composite
def respelled(draw: Callable[[st.SearchStrategy[Any]], Any], tree: JsonTree) -> bytes:
    """Spellings of `tree`, as a strategy."""
    return respell(draw, tree)


def _space(dice: random.Random) -> str:
    return "".join(dice.choices(" \t\n\r", k=dice.choice((0, 0, 0, 1, 2))))


def _value(dice: random.Random, tree: JsonTree) -> str:
    if tree is None:
        return "null"
    if isinstance(tree, bool):
        return "true" if tree else "false"
    if isinstance(tree, str):
        return _string(dice, tree)
    if isinstance(tree, int | Decimal):
        return _number(dice, Decimal(tree))
    if isinstance(tree, list):
        return _container(dice, "[]", [_value(dice, item) for item in tree])
    members = [
        f"{_string(dice, key)}{_space(dice)}:{_space(dice)}{_value(dice, value)}"
        for key, value in tree.items()
    ]
    dice.shuffle(members)
    return _container(dice, "{}", members)


def _container(dice: random.Random, brackets: str, items: list[str]) -> str:
    inner = ",".join(_space(dice) + item + _space(dice) for item in items)
    return brackets[0] + (inner or _space(dice)) + brackets[1]


def _string(dice: random.Random, text: str) -> str:
    return '"' + "".join(_character(dice, character) for character in text) + '"'


def _character(dice: random.Random, character: str) -> str:
    short = _SHORT_ESCAPES.get(character)
    if short and dice.random() < 0.5:
        return short
    if character < " " or character in '"\\' or dice.random() < 0.2:
        units = character.encode("utf-16-be")
        escapes = [f"\\u{int.from_bytes(units[i : i + 2]):04x}" for i in range(0, len(units), 2)]
        return "".join(escape if dice.random() < 0.5 else "\\u" + escape[2:].upper() for escape in escapes)
    return character


def _number(dice: random.Random, number: Decimal) -> str:
    """Spell the same decimal value with its point, its exponent and its zeros elsewhere."""
    sign, coefficient, exponent = number.as_tuple()
    assert isinstance(exponent, int)
    digits = "".join(map(str, coefficient)) + "0" * dice.choice((0, 0, 1, 3))
    exponent -= len(digits) - len(coefficient)
    minus = "-" if sign or (not number and dice.random() < 0.5) else ""
    if exponent == 0 and dice.random() < 0.5:
        return minus + (digits.lstrip("0") or "0")
    point = dice.randint(0, len(digits))
    whole, fraction = digits[:point].lstrip("0") or "0", digits[point:]
    exponent += len(fraction)
    spelt = minus + whole + (f".{fraction}" if fraction else "")
    if exponent == 0 and dice.random() < 0.5:
        return spelt
    mark = dice.choice("eE")
    signs = "-" if exponent < 0 else dice.choice(("", "+"))
    return f"{spelt}{mark}{signs}{'0' * dice.choice((0, 0, 1, 2))}{abs(exponent)}"
