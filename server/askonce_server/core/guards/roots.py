"""One root for words that may replace each other: kid and child, fee and cost."""

from __future__ import annotations

from functools import lru_cache

from askonce_server.core.guards.calendar import SHORT_NAMES
from askonce_server.core.guards.contrasts import Mention, sides
from askonce_server.core.guards.lexicon import alternatives, lines
from askonce_server.core.guards.lexicon.synonyms import SYNONYMS
from askonce_server.core.guards.spelling import stem

_LOOSE_LINES = ("insurance:",)
"""Lines whose sides are no synonyms outside their own question."""


def _groups() -> dict[str, str]:
    """Map stems to the first word of the first group that has them; groups are disjoint in effect."""
    roots: dict[str, str] = {}
    for line in lines(SYNONYMS):
        _join(roots, line.split())
    for line in lines(*alternatives.KINDS):
        if not line.startswith(_LOOSE_LINES):
            for side in sides(line):
                _join(roots, [side[0], *(word for word in side[1:] if "_" not in word)])
    return roots


def _join(roots: dict[str, str], words: list[str]) -> None:
    stems = [stem(word) for word in words]
    free = [one for one in dict.fromkeys(stems) if one not in roots]
    head = roots.get(stems[0], stems[0]) if stems else ""
    if len(free) > 1 or (free and head in roots.values()):
        roots.update(dict.fromkeys(free, head))


_NOUNS = (
    ("ication", "y"),
    ("ation", ""),
    ("ition", ""),
    ("ment", ""),
    ("wal", "w"),
    ("val", "ve"),
    ("usal", "use"),
    ("iage", "y"),
)
"""Endings of nouns and what is left of the verb: verification, withdrawal, marriage."""
_LEAST_VERB = 3
_MEMO = 1 << 14
_ROOTS = {**_groups(), **{stem(short): stem(name) for short, name in SHORT_NAMES.items()}}


def side_root(mention: Mention) -> str:
    """Return the root of a thing that a phrase names."""
    first = stem(mention.side.rpartition("=")[2])
    return root(first)


@lru_cache(_MEMO)
def root(word: str) -> str:
    """Return the root of a stem: of its group of synonyms, of the verb that a noun comes from, or itself."""
    if word in _ROOTS:
        return _ROOTS[word]
    for ending, verb in _NOUNS:
        if word.endswith(ending) and len(word) - len(ending) >= _LEAST_VERB:
            return root(stem(word[: -len(ending)] + verb))
    return word
