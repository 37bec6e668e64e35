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
    """Whether the texts ask for different kinds of answers."""
    return differ(asked.questions, stored.questions)
