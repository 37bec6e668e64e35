"""The guards of what, whom and which kind of answer a text is about."""

from __future__ import annotations

from askonce_server.core.guards.features import GuardFeatures
from askonce_server.core.guards.mentions import differ
from askonce_server.core.guards.settings import GuardSettings


def entity(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether each text has a name that the other does not know."""
    return _has_unknown(asked, stored) and _has_unknown(stored, asked)


def _has_unknown(one: GuardFeatures, other: GuardFeatures) -> bool:
    if not one.names:
        return False
    known = {*other.words, *other.rough, *other.alternatives, *other.answers}
    return any(known.isdisjoint(name) for name in one.names)


def alternative(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether the texts name different things of one kind."""
    return differ(asked.alternatives, stored.alternatives)


def person(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether only one text is about somebody else."""
    return asked.person != stored.person


def question(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether the texts ask for different kinds of answers, or small words turn one around."""
    if differ(asked.questions, stored.questions) or differ(asked.manner, stored.manner):
        return True
    turned = asked.words == stored.words and differ(asked.directions, stored.directions)
    return turned or _limited(asked, stored)


def _limited(asked: GuardFeatures, stored: GuardFeatures) -> bool:
    """Whether the same is said of all and of a part."""
    if asked.limits[1:] == stored.limits[1:]:
        return False
    return (asked.limits or (asked.bag,))[0] == (stored.limits or (stored.bag,))[0]


def detail(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether what is written just so differs: marks, case, words that a text is about, unseen characters."""
    return (
        asked.marks != stored.marks
        or asked.unseen != stored.unseen
        or differ(asked.cases, stored.cases)
        or bool(asked.just_so and stored.just_so and asked.just_so != stored.just_so)
    )
