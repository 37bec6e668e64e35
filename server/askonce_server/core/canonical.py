"""One spelling per JSON value: strict parsing, and the canonical form of RFC 8785 (JCS).

`parse` refuses what has no single reading, `encode` what a double cannot hold: numbers are looked at only
where they are written, so that a member which the caller drops costs nothing.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal, InvalidOperation
from itertools import accumulate
from typing import Any

import jiter
import orjson

from askonce_server.core.density import MAX_NODES, MAX_VALUES, is_dense
from askonce_server.core.errors import NotJson, Unrepresentable
from askonce_server.core.parts import JsonValue

MAX_DEPTH = 128
"""Containers inside each other, the root counted as one; scalars add none."""

MAX_INTEGER = 2**53 - 1
"""The greatest integer whose neighbours are doubles too (RFC 7493 section 2.2)."""

_OPTIONS = orjson.OPT_SORT_KEYS | orjson.OPT_STRICT_INTEGER

_BOUND = float(MAX_INTEGER)
# Above the first, every writer spells a fraction without exponent; below the second, ECMAScript has one.
_PLAIN = 1e-3
_WITH_EXPONENT = 1e-6

_BEYOND = Decimal("Infinity")
_CONTAINERS = (dict, list)
_TOO_DEEP = f"more than {MAX_DEPTH} levels of nesting"
_TOO_DENSE = f"more than {MAX_NODES} nodes or {MAX_VALUES} values"
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NOT_BRACKETS = bytes(byte for byte in range(256) if byte not in _STEPS)
_LONE_SURROGATE = re.compile(
    r"\\u[dD][89abAB]..(?!\\u[dD][c-fC-F])"  # the first half of a pair, without its second
    r"|(?<!\\u[dD][89abAB]..)\\u[dD][c-fC-F]"
)
# UTF-8 lead bytes of U+10000 and up, and of the blocks that hold U+E000 to U+FFFF.
_LEADS_ASTRAL = (b"\xf0", b"\xf1", b"\xf2", b"\xf3", b"\xf4")
_LEADS_ABOVE_SURROGATES = (b"\xee", b"\xef")


def canonicalize(raw: bytes) -> bytes:
    """Return the canonical form of the JSON document `raw`.

    Raises NotJson and Unrepresentable, for what `parse` and `encode` name.
    """
    return encode(parse(raw))


def parse(raw: bytes) -> JsonValue:
    """Read one JSON document (RFC 8259) that has exactly one reading.

    Integers up to `MAX_INTEGER` become `int`; all other numbers keep their exact value, most as `Decimal`.

    Raises:
        NotJson: The bytes are not a JSON document.
        Unrepresentable: A key stands twice in one object, a string holds half a surrogate pair, a number is
            NaN or infinite, more than `MAX_DEPTH` containers stand inside each other, or the document is
            dense. One that is too deep or dense may be broken as well; any other broken one is NotJson.
    """
    if is_dense(raw):
        raise Unrepresentable(_TOO_DENSE)
    try:
        tree: JsonValue = jiter.from_json(
            raw,
            catch_duplicate_keys=True,
            float_mode="decimal",
            allow_inf_nan=False,
            cache_mode="keys",  # the cache outlives the request: no text of a prompt may stay in it
        )
    except ValueError:
        return _parse_carefully(raw)
    # Few brackets cannot nest deeply. bytes.count() would take three times as long.
    without_brackets = raw.replace(b"[", b"").replace(b"{", b"")
    if len(raw) - len(without_brackets) > MAX_DEPTH and _is_deep(tree):
        raise Unrepresentable(_TOO_DEEP)
    return tree


def encode(value: JsonValue) -> bytes:
    """Return the canonical form of `value` (RFC 8785) in UTF-8.

    A `float` is no JsonValue: it would be written as Python does, not as the RFC does, and looking for one
    would mean a walk over every value.

    Raises:
        Unrepresentable: A number is integral and beyond `MAX_INTEGER`, is beyond a double or too small for
            one, or a string holds half a surrogate pair.
    """
    try:
        encoded = orjson.dumps(value, default=_number, option=_OPTIONS)
        # orjson sorts keys by code point, RFC 8785 by UTF-16 code unit; they differ only where a surrogate
        # meets a code unit above the surrogates.
        if not encoded.isascii() and _holds_both_sides(encoded) and _has_contested_keys(value):
            return orjson.dumps(_sorted(value), default=_number, option=orjson.OPT_STRICT_INTEGER)
    except orjson.JSONEncodeError as error:
        raise Unrepresentable(str(error.__cause__ or error)) from None
    return encoded


def _number(number: object) -> int | float | orjson.Fragment:
    """Turn a Decimal into what orjson spells as ECMAScript would (RFC 8785 section 3.2.2.3)."""
    if type(number) is not Decimal:
        raise TypeError(f"no JSON value: {type(number).__name__}")
    double = float(number)
    if not abs(double) <= _BOUND:  # every double out there is integral, infinite or NaN
        raise Unrepresentable("a number beyond ±(2^53-1)")
    if double.is_integer():
        if number and not double:
            raise Unrepresentable("a number too small for a double")
        return int(double)
    return double if abs(double) >= _PLAIN else orjson.Fragment(_small(double))


def _small(double: float) -> str:
    shortest = repr(double)
    if abs(double) >= _WITH_EXPONENT:
        return f"{Decimal(shortest):f}"
    digits, _, exponent = shortest.partition("e")
    return f"{digits}e{int(exponent)}"  # Python pads the exponent to two digits


def _holds_both_sides(encoded: bytes) -> bool:
    return any(lead in encoded for lead in _LEADS_ABOVE_SURROGATES) and any(
        lead in encoded for lead in _LEADS_ASTRAL
    )


def _has_contested_keys(value: JsonValue) -> bool:
    """Whether some key holds a character that UTF-16 writes as a surrogate pair."""
    pending: list[Any] = [value]
    while pending:
        container = pending.pop()
        if type(container) is dict:
            if any(not key.isascii() and max(key) > "\uffff" for key in container):
                return True
            pending.extend(item for item in container.values() if type(item) in _CONTAINERS)
        elif type(container) is list:
            pending.extend(item for item in container if type(item) in _CONTAINERS)
    return False


def _sorted(value: JsonValue) -> JsonValue:
    """Copy `value` with every object's keys in the order of their UTF-16 code units."""
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return {key: _sorted(value[key]) for key in keys}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def _is_deep(tree: JsonValue) -> bool:
    level: list[Any] = [[tree]]
    for _ in range(MAX_DEPTH + 1):
        level = [
            item
            for container in level
            for item in (container.values() if type(container) is dict else container)
            if type(item) in _CONTAINERS
        ]
        if not level:
            return False
    return True


def _parse_carefully(raw: bytes) -> JsonValue:
    """Read what jiter refused, to tell whether it is no JSON, has no single reading, or is merely unusual.

    jiter names its errors only by text and stops at the first; the standard library reads on past all that
    is refused for its meaning, and says where the syntax breaks.
    """
    text = _decode(raw)
    if _bracket_depth(raw) > MAX_DEPTH:  # before the standard library recurses
        raise Unrepresentable(_TOO_DEEP)
    flaws: list[str] = []

    def unique(pairs: list[tuple[str, JsonValue]]) -> JsonValue:
        members = dict(pairs)
        if len(members) != len(pairs):
            flaws.append("an object holds a key twice")
        return members

    def constant(_name: str) -> None:
        flaws.append("a number that is NaN or infinite")

    decoder = json.JSONDecoder(
        object_pairs_hook=unique, parse_int=_integer, parse_float=_fraction, parse_constant=constant
    )
    try:
        tree: JsonValue = decoder.decode(text)
    except json.JSONDecodeError as error:
        problem = error.msg.removesuffix(" at")  # where, is said apart
        raise NotJson(len(text[: error.pos].encode()), problem) from None
    if _LONE_SURROGATE.search(text.replace(r"\\", "  ")):
        flaws.append("a string holds half a surrogate pair")
    if flaws:
        raise Unrepresentable(flaws[0])
    return tree


def _decode(raw: bytes) -> str:
    try:
        text = raw.decode()
    except UnicodeDecodeError as error:
        raise NotJson(error.start, "invalid UTF-8") from None
    if text.startswith("\ufeff"):
        raise NotJson(0, "a byte order mark")
    return text


def _bracket_depth(raw: bytes) -> int:
    """Return the greatest depth of containers: exact up to the first break of the syntax, if there is one."""
    unescaped = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    outside_strings = b"".join(unescaped.split(b'"')[::2])
    brackets = outside_strings.translate(None, _NOT_BRACKETS)
    return max(accumulate(map(_STEPS.__getitem__, brackets)), default=0)


def _integer(literal: str) -> JsonValue:
    # Python refuses to convert 4,300 digits and more, and does it in quadratic time.
    return int(literal) if len(literal) < 20 else Decimal(literal)


def _fraction(literal: str) -> JsonValue:
    try:
        return Decimal(literal)
    except InvalidOperation:  # an exponent of more than 18 digits: zero stays zero, all else leaves a double
        mantissa = literal.lower().partition("e")[0]
        return _BEYOND if mantissa.strip("-0.") else Decimal(0)
