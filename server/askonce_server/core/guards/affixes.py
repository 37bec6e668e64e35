"""Prefixes and suffixes that turn a word around: safe and unsafe, careful and careless, pre- and postpaid."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from askonce_server.core.guards.contrasts import Mention
from askonce_server.core.guards.scan import HYPHEN, SPACE, Scan
from askonce_server.core.guards.spelling import stem

_PREFIXES = ("un", "dis", "non", "in", "im", "ir", "il", "de", "mis", "anti")
NEGATING = frozenset({"non", "un", "anti"})
"""Prefixes that are also written with a hyphen."""
_LEAST_BASE = 4
_NOT_NEGATED = frozenset(
    """
    until under uncle union unit united unite universe university unless unique inside into input index
    indeed income inform information intend intent interest interesting internet internal interview invest
    invite involve invoice inbox inch include increase indoor industry infant initial injury insight
    install instant instead institute instruct insure insurance invent inquire incoming inherit inspect
    intense intensive intake import important impress improve image imagine impact imply impose implant
    implement immigrate display discover discuss discount distance distant dismiss disk dispatch dispute
    district distribute discharge dispense dispose disease design desk detail deliver delivery demand
    depend deposit derive describe deserve debit decent define degree deny depart department delay debate
    decide declare decline dedicate default defend defer demean descend deport develop device iron ill
    illness mission mister mist misty missing message none nonsense antique anticipate immense inn inner
    innings disco
    """.split()
)
_STEMS = frozenset(stem(word) for word in _NOT_NEGATED)
_SWAPS = (
    ("over", "under"),
    ("pre", "post"),
    ("intra", "inter"),
    ("micro", "macro"),
    ("hyper", "hypo"),
    ("uni", "multi"),
    ("mono", "poly"),
    ("up", "down"),
    ("in", "out"),
    ("self", "co"),
    ("sub", "super"),
    ("maxi", "mini"),
    ("bi", "semi"),
)
_SWAPPED = {prefix: f"{one}/{other}" for one, other in _SWAPS for prefix in (one, other)}


_NEGATIVE = re.compile(f"({'|'.join(_PREFIXES)})(.{{{_LEAST_BASE},}})")
_SWAPPING = re.compile(f"({'|'.join(sorted(_SWAPPED, key=len, reverse=True))})(.{{{_LEAST_BASE},}})")
_MEMO = 1 << 14


def is_joined(row: Scan, at: int) -> bool:
    """Whether the prefix before a word belongs to it: non-members, non members, un-American."""
    return row.gaps[at] == HYPHEN or (row.words[at - 1] == "non" and row.gaps[at] == SPACE)


def negated(row: Scan) -> Iterator[str]:
    """Yield the stem that is left of each word that a prefix, `-less` or `-free` turns around."""
    for at, word in enumerate(row.words):
        if word in NEGATING:
            if at + 1 < len(row.words) and is_joined(row, at + 1):
                yield stem(row.words[at + 1])
        elif word == "free":
            if at and row.gaps[at] == HYPHEN:
                yield stem(row.words[at - 1])
        else:
            yield from bases(word)


@lru_cache(_MEMO)
def bases(word: str) -> tuple[str, ...]:
    """Return the stems that a word turns around by itself."""
    if word.endswith("less") and len(word) > 7 and word != "wireless":
        return stem(word[:-4]), stem(word[:-4] + "ful")
    found = _NEGATIVE.fullmatch(word)
    if found is None or word in _NOT_NEGATED or stem(word) in _STEMS:
        return ()
    return (stem(found[2]),)


def swapped(row: Scan) -> set[Mention]:
    """Return prefixes that have an opposite, each as a side of the line of its base: over- and underpaid."""
    found = {mention for word in row.words if (mention := swapped_prefix(word))}
    for at in range(1, len(row.words)):
        if row.gaps[at] == HYPHEN and row.words[at - 1] in _SWAPPED and len(row.words[at]) >= _LEAST_BASE:
            found.add(_swap(row.words[at - 1], row.words[at]))
    return found


@lru_cache(_MEMO)
def swapped_prefix(word: str) -> Mention | None:
    """Return the side that a word's prefix takes, or None."""
    found = _SWAPPING.fullmatch(word)
    return _swap(found[1], found[2]) if found else None


def _swap(prefix: str, base: str) -> Mention:
    line = f"x:{_SWAPPED[prefix]}:{stem(base)}"
    return Mention(line, f"{line}={prefix}")
