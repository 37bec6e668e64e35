"""Whom a question is about, if not who asks: my child, my colleague."""

from __future__ import annotations

_LINES = frozenset({"a:relation", "a:whose", "a:pet"})
_SIDES = frozenset(f"a:who={side}" for side in "child adult baby toddler teenager pensioner student".split())


def is_person(line: str, side: str) -> bool:
    """Whether a thing of a kind is somebody whom another answer may be for."""
    return line in _LINES or side in _SIDES
