"""Words that exclude each other, found in a text: opposites, things of one kind, units."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from askonce_server.core.guards.lexicon import lines
from askonce_server.core.guards.scan import COMMA
from askonce_server.core.guards.spelling import stem


class Mention(NamedTuple):
    """One side of one line of alternatives, which a text names."""

    line: str
    side: str


class Found(NamedTuple):
    """Where a text names a side."""

    start: int
    end: int
    mention: Mention
    alias: bool = False
    """Whether it is a phrase with other names: United Kingdom, UK."""


class _Phrase(NamedTuple):
    rest: tuple[str, ...]
    mention: Mention
    alias: bool


_PARTICLES = frozenset({"on", "off", "in", "out", "up", "down"})
_LEAVING = frozenset({"off", "out", "down"})
_AFTER = frozenset("for in at when if and or to from again automatically by while during with".split())
_FAR = 6
"""Words that may part a verb from its particle."""
_SHORT_VOWEL = re.compile("[^aeiou]{1,2}[aeiou][^aeiouwxy]")


class Contrasts:
    """Lines of alternatives, ready to be found."""

    def __init__(self, **texts: tuple[str, ...]) -> None:
        """Read word lists by kind, which begins the name of each of their lines."""
        self._single: dict[str, tuple[Mention, ...]] = {}
        self._phrases: dict[str, tuple[_Phrase, ...]] = {}
        for kind, of_kind in texts.items():
            for line in lines(*of_kind):
                self._add(kind, line)

    def _add(self, kind: str, line: str) -> None:
        parts = sides(line)
        name, colon, _ = line.partition(": ")
        named = f"{kind}:{name if colon else parts[0][0] + '|' + parts[1][0]}"
        for part in parts:
            mention = Mention(named, f"{named}={part[0]}")
            for form in (form for word in part for form in _forms(word)):
                self._index(form, mention, alias=len(part) > 1)

    def _index(self, form: str, mention: Mention, *, alias: bool) -> None:
        first, *rest = (stem(word) for word in form.split("_"))
        if rest:
            phrase = _Phrase(tuple(rest), mention, alias)
            self._phrases[first] = (*self._phrases.get(first, ()), phrase)
        elif mention not in self._single.get(first, ()):
            self._single[first] = (*self._single.get(first, ()), mention)

    def find(self, stems: Sequence[str], gaps: Sequence[int]) -> list[Found]:
        """Return what a row of stems names; the words of a phrase name nothing else."""
        found: list[Found] = []
        consumed: set[int] = set()
        for at, word in enumerate(stems):
            for phrase in self._phrases.get(word, ()):
                if end := _match(stems, gaps, at, phrase.rest):
                    found.append(Found(at, end, phrase.mention, phrase.alias))
                    consumed.update(range(at, end))
        for at, word in enumerate(stems):
            if word in self._single and at not in consumed:
                found += [Found(at, at + 1, mention) for mention in self._single[word]]
        return found


def _match(stems: Sequence[str], gaps: Sequence[int], at: int, rest: tuple[str, ...]) -> int:
    """Return where a phrase ends whose first word stands at a place, or 0 if the rest does not follow."""
    end = at + 1 + len(rest)
    if tuple(stems[at + 1 : end]) == rest:
        return end
    parted = len(rest) == 1 and rest[0] in _PARTICLES and _parted(stems, gaps, at, rest[0])
    return at + 1 if parted else 0


def sides(line: str) -> list[list[str]]:
    """Return the sides of a line of a word list, each as its words."""
    _, colon, rest = line.partition(": ")
    return [side.split() for side in (rest if colon else line).split("|")]


def loose_particles(words: Sequence[str], gaps: Sequence[int], heads: frozenset[str]) -> set[Mention]:
    """Return the particles that no noun follows: the gas is on, the gas is off. `heads` begin phrases."""
    return {
        _PAIRS[word]
        for at, word in enumerate(words)
        if word in _PAIRS and at and (at + 1 == len(words) or gaps[at + 1] >= COMMA or words[at + 1] in heads)
    }


_PAIRS = {
    word: Mention(f"p:{one}|{other}", f"p:{one}|{other}={word}")
    for one, other in (("on", "off"), ("in", "out"), ("up", "down"))
    for word in (one, other)
}


def _parted(stems: Sequence[str], gaps: Sequence[int], at: int, particle: str) -> bool:
    """Whether a verb's particle stands behind its object: turn dark mode off."""
    for place in range(at + 2, min(at + 2 + _FAR, len(stems))):
        if gaps[place] >= COMMA:
            return False
        if stems[place] == particle:
            last = place + 1 == len(stems) or gaps[place + 1] >= COMMA
            return last or stems[place + 1] in _AFTER or (particle in _LEAVING and stems[place + 1] != "of")
    return False


def _forms(word: str) -> list[str]:
    if not word.endswith("+"):
        return [word]
    word = word[:-1]
    base = word.removesuffix("e")
    if word.endswith("y"):
        base = word[:-1] + "i"
    elif _SHORT_VOWEL.fullmatch(word):
        base = word + word[-1]
    return [word, base + "er", base + "est"]
