"""The guard of word order."""

from __future__ import annotations

from askonce_server.core.guards.features import MASK, GuardFeatures, place
from askonce_server.core.guards.settings import LONG_TEXT, GuardSettings

_MAX_WORDS = 16
"""Content words among which two neighbours that traded places are looked for."""
_MAX_PLACES = 32


def order(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether the same words stand in another order, or the sides of from, to and than are swapped.

    Phrases may move as a whole, and two neighbours may trade places unless both are names: a virtual
    disposable card. Active and passive voice turn the order around.
    """
    if asked.bag == stored.bag:
        same = asked.sequence == stored.sequence or asked.phrases == stored.phrases
        if asked.passive != stored.passive:
            return same
        if not same and (asked.inverted != stored.inverted or not _may_move(asked, stored)):
            return True
    acted = (asked.inverted and stored.acting) or (asked.acting and stored.inverted)
    if acted and asked.words == stored.words:
        return True
    return _recast(asked, stored) or _crossed(asked, stored) or _compared(asked, stored)


def _may_move(asked: GuardFeatures, stored: GuardFeatures) -> bool:
    if (
        (asked.heads, asked.denied) != (stored.heads, stored.denied)
        or asked.length > LONG_TEXT
        or len(asked.words) > _MAX_WORDS
    ):
        return False
    difference = (asked.shape - stored.shape) & MASK
    steps = [(place(at) - place(at + 1)) & MASK for at in range(min(asked.length, _MAX_PLACES))]
    fixed = set(asked.fixed).union(*asked.names)
    gaps = {
        (one - other) & MASK
        for one in asked.words
        for other in asked.words
        if one != other and not (one in fixed and other in fixed)
    }
    return any(gap * step & MASK == difference for gap in gaps for step in steps)


def _recast(asked: GuardFeatures, stored: GuardFeatures) -> bool:
    """Whether people trade places, I, me and my being one: can my landlord evict me, can I evict him."""
    if not asked.roles or not stored.roles or asked.passive != stored.passive:
        return False
    return any(
        asked.roles[at] == stored.roles[at]
        and not set(asked.roles[at + 1 : at + 3]) & set(stored.roles[at + 1 : at + 3])
        for at in (0, 3)
    )


def _crossed(asked: GuardFeatures, stored: GuardFeatures) -> bool:
    """Whether what one text leads away from is what the other leads to."""
    left = set(asked.sources).intersection(stored.targets).difference(stored.sources, asked.targets)
    right = set(stored.sources).intersection(asked.targets).difference(asked.sources, stored.targets)
    return bool(left or right)


def _compared(asked: GuardFeatures, stored: GuardFeatures) -> bool:
    """Whether the sides of `than` are swapped."""
    if asked.lesser == stored.lesser:
        return False
    return not set(asked.lesser).isdisjoint(stored.greater) and not set(stored.lesser).isdisjoint(
        asked.greater
    )
