"""What is kept of a stored text for the guards: numbers that say nothing without the store's key."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from operator import mul
from typing import Any, NamedTuple

from askonce_server.core.guards.contrasts import Mention
from askonce_server.core.guards.manner import LIMITS
from askonce_server.core.guards.order import Order
from askonce_server.core.guards.quantities import Levels
from askonce_server.core.guards.reading import Reading, read
from askonce_server.core.guards.settings import FRAMED_TEXT
from askonce_server.core.guards.spelling import rough

SCHEMA = 4
"""Raised when features of an older version cannot be compared with new ones; word lists are part of it."""
MAX_WORDS = 2048
"""Of a text with more content words only digests are kept, so that none but itself matches."""
RUN = 4
"""Content words in a row that make a piece of a template's frame."""
SAMPLED_FROM = 64
"""Pieces from which on only one of `SAMPLE` is kept."""
SAMPLE = 4
MASK = (1 << 64) - 1
_MIX = 0x9E3779B97F4A7C15
"""The golden ratio in 64 bits (Knuth, The Art of Computer Programming 3, 6.4): odd, without a pattern."""
_MAX_ROUGH = 24
"""Content words of a text of which misspelt ones are looked for."""

_PLACES = [pow(_MIX, at, 1 << 64) for at in range(1, 513)]

Token = Callable[[str], int]
"""Hashes a string under the store's key to an unsigned integer of 64 bits."""
Tokens = tuple[int, ...]


class GuardFeatures(NamedTuple):
    """A text without its text. Every token is an unsigned 64-bit integer; rows are sorted, so order is lost.

    A mention is a token whose upper half says which line of alternatives, the lower half which side of it.
    A named tuple, since one is made of every text and every candidate.
    """

    schema: int = SCHEMA
    length: int = 0
    """Characters."""
    negations: int = 0
    passive: bool = False
    person: bool = False
    inverted: bool = False
    """Whether who or what is asked for is an object."""
    acting: bool = False
    """Whether who or what is asked for is a subject."""
    numbers: Tokens = ()
    """Three tokens each: as said, less exactly, as a bare number."""
    ones: Tokens = ()
    """Like `numbers`: ones that may go unsaid."""
    counted: Tokens = ()
    """Mentions: a counted word, its number."""
    times: Tokens = ()
    """Mentions, as are the next four."""
    units: Tokens = ()
    questions: Tokens = ()
    opposites: Tokens = ()
    alternatives: Tokens = ()
    negated: Tokens = ()
    """What prefixes turn around."""
    denied: Tokens = ()
    """What negations turn around: words, and mentions."""
    softeners: Tokens = ()
    words: Tokens = ()
    """Content words, with repeats."""
    rough: Tokens = ()
    """The content words without numbers, as typing errors leave them; none of a text with many."""
    joins: Tokens = ()
    """The same for each two neighbours written as one word: gift cards, giftcards."""
    marks: Tokens = ()
    """Operators, flags and letters, with repeats."""
    cases: Tokens = ()
    """Mentions: a word, how it is written."""
    just_so: Tokens = ()
    """Of a text about words, those; none or one token."""
    unseen: Tokens = ()
    """Of the characters that nobody sees; none or one token."""
    manner: Tokens = ()
    """Mentions."""
    directions: Tokens = ()
    """Mentions."""
    limits: Tokens = ()
    """The words that limit what is said to a part, if any, behind the digest of the others."""
    fixed: Tokens = ()
    """Numbers and letters, whose order says something."""
    roles: Tokens = ()
    """Of a text with pronouns, digests of its words in any order, in order, and of its phrases.

    Twice: the second time all people but you are one.
    """
    small: Tokens = ()
    """Verbs of every topic; in a text without content words, all that tell it from another such."""
    names: tuple[Tokens, ...] = ()
    """For each name all that makes it known to another text."""
    answers: Tokens = ()
    """Short and long forms of names that the text has."""
    sources: Tokens = ()
    targets: Tokens = ()
    lesser: Tokens = ()
    greater: Tokens = ()
    frame: Tokens = ()
    """Runs of content words of a long text."""
    sampled: bool = False
    """Whether `frame` is a sample."""
    bag: int = 0
    """Of the words, whatever their order."""
    sequence: int = 0
    """Of the words in order."""
    phrases: int = 0
    """Of the phrases, whatever their order."""
    heads: int = 0
    """Of the words, each with the preposition of its phrase."""
    rest: int = 0
    """Of the words that are no content words."""
    shape: int = 0
    """The sum of the words' tokens, each times a power that stands for its place."""


def features(text: str, token: Token) -> GuardFeatures:
    """Return what is kept of `text`. Never raises; linear in its length."""
    return features_of(read(text), token)


def features_of(reading: Reading, token: Token) -> GuardFeatures:
    """Hash what was read."""
    order, counts = reading.order, reading.quantities
    bag = token("bag:" + " ".join(sorted(order.sequence)))
    sequence = token("row:" + " ".join(order.sequence))
    if len(reading.words) > MAX_WORDS:
        return GuardFeatures(
            length=reading.length,
            negations=reading.negations,
            passive=order.passive,
            bag=bag,
            sequence=sequence,
            phrases=sequence,
            unseen=_one(reading.markings.unseen, token),
        )
    words = [token(f"w:{word}") for word in reading.words]
    known = dict(zip(reading.words, words, strict=True))
    runs = _runs(words) if reading.length > FRAMED_TEXT else set()
    many = len(runs) >= SAMPLED_FROM
    other = [word for word, topical in zip(order.sequence, order.content, strict=True) if not topical]
    return GuardFeatures(
        length=reading.length,
        negations=reading.negations,
        passive=order.passive,
        person=reading.person,
        **_details(reading, token),
        numbers=_levels(counts.hard, token),
        ones=_levels(counts.vague, token),
        counted=_mentions(
            [Mention(f"c:{noun}", f"c:{noun}={value}") for noun, value in counts.counted], token
        ),
        times=_mentions(reading.times, token),
        units=_mentions(reading.units, token),
        questions=_mentions(reading.questions, token),
        opposites=_mentions(reading.opposites, token),
        alternatives=_mentions(reading.alternatives, token),
        negated=_hashed(token, "w:", reading.negated),
        denied=_mentions(reading.denied, token),
        softeners=_hashed(token, "w:", reading.softeners),
        words=tuple(sorted(words)),
        rough=_hashed(token, "r:", [rough(word) for word in reading.plain])
        if len(words) <= _MAX_ROUGH
        else (),
        joins=_hashed(token, "r:", reading.joins) if len(words) <= _MAX_ROUGH else (),
        small=_hashed(token, "w:", set(reading.small)),
        names=_names(reading.names.keys.values(), token),
        answers=_hashed(token, "", reading.names.answers),
        sources=_hashed(token, "w:", order.sources),
        targets=_hashed(token, "w:", order.targets),
        lesser=_hashed(token, "w:", order.lesser),
        greater=_hashed(token, "w:", order.greater),
        frame=tuple(sorted(sample(runs) if many else runs)),
        sampled=many,
        phrases=token("set:" + "|".join(sorted(" ".join(phrase) for phrase in order.phrases))),
        heads=token("in:" + " ".join(sorted(order.membership()))),
        rest=token("rest:" + " ".join(sorted(other))),
        shape=_shape([known.get(word) or token(f"w:{word}") for word in order.sequence]),
        bag=bag,
        sequence=sequence,
    )


def _details(reading: Reading, token: Token) -> dict[str, Any]:
    """Return what small words and marks say."""
    marks = reading.markings
    return {
        "inverted": reading.inverted,
        "acting": reading.acting,
        "marks": _hashed(token, "m:", marks.marks),
        "cases": _mentions(marks.cases, token),
        "just_so": _one(marks.material, token),
        "unseen": _one(marks.unseen, token),
        "manner": _mentions(reading.manner, token),
        "directions": _mentions(reading.directions, token),
        "limits": _limits(reading, token),
        "fixed": _hashed(token, "w:", reading.order.fixed),
        "roles": _roles(reading.order, token),
    }


def _one(string: str, token: Token) -> Tokens:
    return (token("just so:" + string),) if string else ()


def _limits(reading: Reading, token: Token) -> Tokens:
    if not reading.limits:
        return ()
    others = sorted(word for word in reading.order.sequence if word not in LIMITS)
    return (token("bag:" + " ".join(others)), *_hashed(token, "l:", reading.limits))


def _roles(order: Order, token: Token) -> Tokens:
    if not order.persons:
        return ()
    return (*_digests(order.cast, token), *_digests(order.people, token))


def _digests(phrases: list[list[str]], token: Token) -> Tokens:
    words = [word for phrase in phrases for word in phrase]
    return (
        token("cast:" + " ".join(sorted(words))),
        token("cast in order:" + " ".join(words)),
        token("cast of phrases:" + "|".join(sorted(" ".join(phrase) for phrase in phrases if phrase))),
    )


def place(at: int) -> int:
    """Return the factor of the word at a place in `shape`."""
    return _PLACES[at] if at < len(_PLACES) else pow(_MIX, at + 1, 1 << 64)


def _hashed(token: Token, space: str, strings: Collection[str]) -> Tokens:
    return tuple(sorted([token(space + string) for string in strings])) if strings else ()


def _mentions(mentions: Collection[str | Mention], token: Token) -> Tokens:
    return tuple(sorted([_either(mention, token) for mention in mentions])) if mentions else ()


def _names(names: Collection[Iterable[str | Mention]], token: Token) -> tuple[Tokens, ...]:
    if not names:
        return ()
    return tuple(sorted([tuple([_either(key, token) for key in keys]) for keys in names]))


def _either(key: str | Mention, token: Token) -> int:
    if isinstance(key, str):
        return token(key)
    return token(key.line) >> 32 << 32 | token(key.side) & 0xFFFFFFFF


def _levels(levels: Collection[Levels], token: Token) -> Tokens:
    if not levels:
        return ()
    triples = sorted([(token(exact), token(wider), token(bare)) for exact, wider, bare in levels])
    return tuple([one for triple in triples for one in triple])


def _shape(tokens: Sequence[int]) -> int:
    if len(tokens) <= len(_PLACES):
        total: int = sum(map(mul, tokens, _PLACES))
        return total & MASK
    return sum(one * place(at) for at, one in enumerate(tokens)) & MASK


def _runs(words: list[int]) -> set[int]:
    """Return the runs of words, each mixed into one number."""
    runs = set()
    for at in range(len(words) - RUN + 1):
        mixed = 0
        for word in words[at : at + RUN]:
            mixed = ((mixed ^ word) * _MIX + (mixed >> 29)) & MASK
        runs.add(mixed)
    return runs


def sample(runs: Iterable[int]) -> set[int]:
    """Return the runs that a sample keeps: equal runs of two texts are both in or both out."""
    return {run for run in runs if (run >> 32) % SAMPLE == 0}
