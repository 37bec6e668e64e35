"""The guards of shared words: too few, or all but the ones that matter."""

from __future__ import annotations

from collections import Counter

from askonce_server.core.guards.features import GuardFeatures, Tokens, sample
from askonce_server.core.guards.settings import FRAMED_TEXT, LONG_TEXT, GuardSettings
from askonce_server.core.guards.truth import reversals

_ENOUGH_NUMBERS = 2
_SAME_FRAME = 0.35
"""Share of the runs of words from which two long texts are one template."""
_MAX_SWAPPED = 2
_MAX_SLOT = 3


def strangers(asked: GuardFeatures, stored: GuardFeatures, settings: GuardSettings) -> bool:
    """Whether texts of two content words and more share none: asked first, whatever else differs."""
    return min(len(asked.rough), len(stored.rough)) > 1 and lexical(asked, stored, settings)


def lexical(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether the texts share no content word; texts without any, too few of the others."""
    if not asked.words and not stored.words:
        small, other = set(asked.small), set(stored.small)
        return asked.bag != stored.bag and len(small & other) * 2 < max(len(small | other), 1)
    return set(asked.words).isdisjoint(stored.words) and not _same_thing(asked, stored)


def _same_thing(asked: GuardFeatures, stored: GuardFeatures) -> bool:
    """Whether texts without a common word name one thing in two ways, or misspell it."""
    return (
        not set(asked.rough).isdisjoint(stored.rough)
        or not set(asked.alternatives).isdisjoint(stored.alternatives)
        or not set(asked.opposites).isdisjoint(stored.opposites)
        or not set(stored.answers).isdisjoint(key for name in asked.names for key in name)
        or len(_numbers(asked) & _numbers(stored)) >= _ENOUGH_NUMBERS
    )


def _numbers(one: GuardFeatures) -> set[int]:
    return set(one.numbers[::3])


def swap(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether all is the same but one or two content words of each text.

    What a prefix or a negation turns around (unsafe, not safe, not correct, wrong) is another guard's.
    """
    turned = (asked.negations - stored.negations) % 2 or reversals(asked, stored)
    return asked.rest == stored.rest and not turned and _replaced(asked, stored, _MAX_SWAPPED)


def slot(asked: GuardFeatures, stored: GuardFeatures, _: GuardSettings) -> bool:
    """Whether the texts share most content words and differ in up to three of each."""
    return _replaced(asked, stored, _MAX_SLOT)


def template(asked: GuardFeatures, stored: GuardFeatures, settings: GuardSettings) -> bool:
    """Whether long texts share too few words, or are one template filled in two ways."""
    length = max(asked.length, stored.length)
    if length <= FRAMED_TEXT:
        return False
    mine, theirs, shared = _residue(asked.words, stored.words)
    fewer = min(len(asked.words), len(stored.words))
    if length > LONG_TEXT and (not fewer or shared < settings.min_overlap * fewer):
        return asked.bag != stored.bag
    differ = asked.bag != stored.bag if length > LONG_TEXT else mine > 0 and theirs > 0
    return differ and _one_frame(asked, stored)


def _one_frame(asked: GuardFeatures, stored: GuardFeatures) -> bool:
    """Whether the runs of words that both texts have are many of the fewer ones."""
    left, right = set(asked.frame), set(stored.frame)
    if asked.sampled != stored.sampled:
        left, right = sample(left), sample(right)
    return len(left & right) >= max(1, _SAME_FRAME * min(len(left), len(right)))


def _replaced(asked: GuardFeatures, stored: GuardFeatures, most: int) -> bool:
    """Whether some words of each text are not in the other, but no more than `most`; misspelt ones are."""
    mine, theirs, _ = _residue(asked.rough, stored.rough)
    if mine and theirs:
        joined, parted = _written_as_one(asked, stored), _written_as_one(stored, asked)
        mine, theirs = mine - joined - 2 * parted, theirs - parted - 2 * joined
    return 0 < mine <= most and 0 < theirs <= most and not set(asked.words).isdisjoint(stored.words)


def _written_as_one(one: GuardFeatures, other: GuardFeatures) -> int:
    """Count the words of one text that the other writes as two: giftcards, gift cards."""
    return len(set(one.rough).difference(other.rough).intersection(other.joins))


def _residue(asked: Tokens, stored: Tokens) -> tuple[int, int, int]:
    """Count the words of one text alone, of the other alone, and of both."""
    shared = sum((Counter(asked) & Counter(stored)).values())
    return len(asked) - shared, len(stored) - shared, shared
