"""The guards of negation and opposites."""

from __future__ import annotations

from askonce_server.core.guards.features import GuardFeatures
from askonce_server.core.guards.mentions import clashes
from askonce_server.core.guards.settings import GuardSettings


def negation(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether one text negates what the other says.

    Not where a prefix does it (not safe, unsafe), and not where another word may stand for the negation
    (does not work, fails to).
    """
    if (asked.negations - stored.negations) % 2 == 0 or reversals(asked, stored):
        return False
    fewer, more = (asked, stored) if asked.negations < stored.negations else (stored, asked)
    if set(fewer.softeners).difference(more.softeners):
        return False
    if not more.denied:
        return True
    return not set(more.denied).difference(fewer.denied).isdisjoint(fewer.words + fewer.small)


def prefix(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether a word stands in one text and turned around by a prefix in the other; a `not` turns it back."""
    turns = reversals(asked, stored)
    return turns > 0 and (turns + asked.negations - stored.negations) % 2 == 1


def polarity(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether opposites stand against each other; a negated one is no opposite: not correct, wrong."""
    return any(
        (one in asked.denied) == (other in stored.denied)
        for one, other in clashes(asked.opposites, stored.opposites)
    )


def reversals(asked: GuardFeatures, stored: GuardFeatures) -> int:
    """Count the words that stand in one text and turned around by a prefix in the other."""
    return len(_turned(asked, stored)) + len(_turned(stored, asked))


def _turned(one: GuardFeatures, other: GuardFeatures) -> set[int]:
    return {*one.words, *one.small}.intersection(other.negated).difference(one.negated, other.words)
