"""Where two JSON documents differ, and how: member by member, in words.

What is said quotes short pieces of both documents: it is for documents that the asker sent itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from itertools import combinations
from typing import Any, NamedTuple

from askonce_server.core.canonical import encode
from askonce_server.core.parts import JsonValue

_ABSENT = object()
_ALIGNED_LEVELS = 4
"""So deep lists are aligned by their items, each of which is written out for it; deeper ones by position."""
_EXCERPT = 40
_BEFORE = 12
"""Characters of an excerpt, and how many of them stand before what differs."""
_NAME = 60
_CLOSELY = 1 << 20
"""Of longer texts, in characters of both, it is only said where they differ: the rest takes seconds."""
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*\Z")


class Found(NamedTuple):
    """One place where two documents differ."""

    path: str
    """Such as `messages[3].content`."""
    description: str
    equal: bool = False
    """Whether it is spelling alone, which no canonical form keeps."""


def differences(first: JsonValue, second: JsonValue, *, path: str = "") -> Iterator[Found]:
    """Yield where `second` differs from `first`, in the order of the first's members.

    Numbers of one value that are spelt differently are named too, as `equal`. Raises Unrepresentable.
    """
    yield from _values(first, second, path, 0)


def _values(first: Any, second: Any, path: str, level: int) -> Iterator[Found]:
    if isinstance(first, dict) and isinstance(second, dict):
        yield from _objects(first, second, path, level)
    elif isinstance(first, list) and isinstance(second, list):
        yield from _lists(first, second, path, level)
    elif isinstance(first, str) and isinstance(second, str):
        if first != second:
            yield Found(path, texts(first, second))
    elif _is_number(first) and _is_number(second):
        yield from _numbers(first, second, path)
    elif type(first) is not type(second) or first != second:
        yield Found(path, f"{_said(first)} ↔ {_said(second)}")


def _objects(first: dict[str, Any], second: dict[str, Any], path: str, level: int) -> Iterator[Found]:
    for name in [*first, *(name for name in second if name not in first)]:
        inner = member(path, name)
        yield from _values(first.get(name, _ABSENT), second.get(name, _ABSENT), inner, level + 1)


def _lists(first: list[Any], second: list[Any], path: str, level: int) -> Iterator[Found]:
    start = 0
    middles = first, second
    if level < _ALIGNED_LEVELS:
        encoded = [encode(item) for item in first], [encode(item) for item in second]
        if encoded[0] != encoded[1] and Counter(encoded[0]) == Counter(encoded[1]):
            yield Found(path, _reordered(path, encoded[0], encoded[1]))
            return
        start, tail = _ends(*encoded)
        middles = first[start : len(first) - tail], second[start : len(second) - tail]
        if len(first) != len(second):
            yield Found(path, f"{len(first)} items ↔ {len(second)} items")
    for at in range(max(map(len, middles))):
        mine, others = (middle[at] if at < len(middle) else _ABSENT for middle in middles)
        yield from _values(mine, others, f"{path}[{start + at}]", level + 1)


def _reordered(path: str, first: Sequence[bytes], second: Sequence[bytes]) -> str:
    at = next(at for at, (mine, others) in enumerate(zip(first, second, strict=True)) if mine != others)
    kind = path.rpartition(".")[2] or "items"
    return f"the {kind} are the same in another order, from [{at}] on"


def _ends(first: Sequence[bytes], second: Sequence[bytes]) -> tuple[int, int]:
    """Return how many items at the start, and how many at the end, are the same."""
    shorter = min(len(first), len(second))
    start = next((at for at in range(shorter) if first[at] != second[at]), shorter)
    tail = next((at for at in range(shorter - start) if first[-1 - at] != second[-1 - at]), shorter - start)
    return start, tail


def _numbers(first: int | Decimal, second: int | Decimal, path: str) -> Iterator[Found]:
    if encode(first) != encode(second):
        yield Found(path, f"{first} ↔ {second}")
    elif str(first) != str(second):
        yield Found(path, f"{first} ↔ {second}: the same number, spelt differently", equal=True)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def texts(first: str, second: str) -> str:
    """Return how two texts that are not equal differ: by their characters alone, or by what they say."""
    at = _first_difference(first, second)
    close = len(first) + len(second) <= _CLOSELY
    for count in (1, 2, 3) if close and _reduced(first, _ALL) == _reduced(second, _ALL) else ():
        for names in combinations(_FORMS, count):
            if _reduced(first, names) == _reduced(second, names):
                only = " and ".join(names)
                if names == ("Unicode form",):
                    only += f" ({_form(first)} ↔ {_form(second)})"
                return f"differs only in {only}, first at character {at}"
    return f"differs at character {at}: {excerpt(first, at)} ↔ {excerpt(second, at)}"


def _without_white_space(text: str) -> str:
    return "".join(text.split())  # ten times as fast as to look at every character


def _composed(text: str) -> str:
    return unicodedata.normalize("NFC", text)


_FORMS = {"Unicode form": _composed, "white space": _without_white_space, "case": str.casefold}


_ALL = tuple(_FORMS)


def _reduced(text: str, names: Sequence[str]) -> str:
    for name in names:
        text = _FORMS[name](text)
    return _composed(text) if "Unicode form" in names else text  # folding case may take a form apart


def _form(text: str) -> str:
    names = [name for name in ("NFC", "NFD") if unicodedata.is_normalized(name, text)]
    return names[0] if names else "mixed"


def _first_difference(first: str, second: str) -> int:
    """Return the first position at which two texts differ, counted from 0. Halves, since slices are fast."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[low:middle] == second[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def excerpt(text: str, at: int = 0) -> str:
    """Return a short piece of `text` around position `at` in quotes; an ellipsis is what is left out."""
    start = max(at - _BEFORE, 0)
    piece = text[start : start + _EXCERPT]
    before = "…" if start else ""
    after = "…" if start + _EXCERPT < len(text) else ""
    return f'"{before}{_printable(piece)}{after}"'


def _printable(text: str) -> str:
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode("ascii") for sign in text
    )


def member(path: str, name: str) -> str:
    """Return the path of the member `name` of what is at `path`."""
    if not _PLAIN_NAME.match(name) or len(name) > _NAME:
        return f"{path}[{excerpt(name)}]"
    return f"{path}.{name}" if path else name


def _said(value: Any) -> str:
    """Return a short word for a value."""
    if value is _ABSENT:
        return "absent"
    if isinstance(value, str):
        return excerpt(value)
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        role = value.get("role")
        return f"a turn of {excerpt(role)}" if isinstance(role, str) else "an object"
    if isinstance(value, bool):
        return str(value).lower()
    return "null" if value is None else str(value)[:_EXCERPT]
