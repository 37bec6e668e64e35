"""The guards of numbers, dates and units."""

from __future__ import annotations

from collections import Counter

from askonce_server.core.guards.features import GuardFeatures, Tokens
from askonce_server.core.guards.mentions import differ
from askonce_server.core.guards.settings import GuardSettings

_MAX_UNMATCHED = 64
"""Numbers without an equal that are still compared one by one."""
_Triple = tuple[int, ...]


def number(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether a number of one text has no match in the other, or counts another thing there."""
    if differ(asked.counted, stored.counted):
        return True
    left, right = _triples(asked), _triples(stored)
    common = left & right
    mine, theirs = list((left - common).elements()), list((right - common).elements())
    if max(len(mine), len(theirs)) > _MAX_UNMATCHED:
        return True
    for one in list(mine):
        other = next((other for other in theirs if one[0] in other or other[0] in one), None)
        if other:
            mine.remove(one)
            theirs.remove(other)
    return _matter(asked, mine) or _matter(stored, theirs) or (_have_unit(mine) and _have_unit(theirs))


def _triples(one: GuardFeatures) -> Counter[_Triple]:
    return Counter(_split(one.numbers) + _split(one.ones))


def _split(tokens: Tokens) -> list[_Triple]:
    return list(zip(tokens[::3], tokens[1::3], tokens[2::3], strict=True))


def _matter(text: GuardFeatures, unmatched: list[_Triple]) -> bool:
    """Whether one of the unmatched numbers is more than a one that may go unsaid."""
    return not set(unmatched).issubset(_split(text.ones))


def _have_unit(unmatched: list[_Triple]) -> bool:
    return any(exact != bare for exact, _, bare in unmatched)


def date(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether the texts name different days, months, parts of the day, rates, or before and after."""
    return differ(asked.times, stored.times)


def unit(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether the texts name different units or currencies."""
    return differ(asked.units, stored.units)
