"""The order of words, blind to what moves through a sentence freely."""

from __future__ import annotations

from dataclasses import dataclass, field

from askonce_server.core.guards.function_words import (
    ADVERBS,
    ARTICLES,
    AUXILIARIES,
    CONNECTIVES,
    FILLERS,
    HEADS,
    JOINTS,
    NEGATIVES,
    PREPOSITIONS,
    PRONOUNS,
    WH,
)
from askonce_server.core.guards.scan import COMMA, Scan
from askonce_server.core.guards.spelling import stem

_NEAR = 6
"""Words behind a preposition that may still belong to it."""
_OWNERS = frozenset("my your our their".split())
_DROPPED = ARTICLES | AUXILIARIES | FILLERS | ADVERBS | NEGATIVES | _OWNERS
_ENDS = PREPOSITIONS | CONNECTIVES | WH | {"that"}
_PHRASAL = frozenset(
    stem(verb)
    for verb in """
    turn switch put take pick set look fill log sign shut pay give bring get call hand drop throw write check
    send hold cut break clean clear close add start back plug wake point print scale speed slow split sum
    tidy wrap top
    """.split()
)
"""Verbs whose particle may stand before or behind their object."""
_PARTICLES = frozenset("on off up down in out back over away".split())
_SUBJECTS = frozenset("i we he she they".split())
"""Pronouns that are nothing but subjects."""
_PERSONS = {
    word: words.split()[0]
    for words in (
        "i me my mine myself",
        "we us our ours ourselves",
        "you your yours yourself",
        "he him his himself",
        "she her hers herself",
        "they them their theirs themselves",
    )
    for word in words.split()
}
_PARTICIPLES = ("hit", "hurt", "cut", "ed", "en", "wn", "ne", "nt", "id", "ought")


@dataclass(slots=True)
class Order:
    """A text's words in order, in several digests' worth of detail."""

    sequence: list[str] = field(default_factory=list)
    content: list[bool] = field(default_factory=list)
    """Which words of the sequence carry a topic."""
    phrases: list[list[str]] = field(default_factory=list)
    """The words between prepositions, connectives and marks; each may move as a whole."""
    cast: list[list[str]] = field(default_factory=list)
    """The phrases with every pronoun, whose kinds are gone: I, me and my are one."""
    persons: bool = False
    """Whether there is a pronoun."""
    fixed: set[str] = field(default_factory=set)
    """Numbers and letters."""
    passive: bool = False
    """Whether something is done `by` someone."""
    sources: set[str] = field(default_factory=set)
    """Names and kinds of things that `from` leads away from."""
    targets: set[str] = field(default_factory=set)
    """What `to` leads to."""
    lesser: set[str] = field(default_factory=set)
    """What stands behind `than`."""
    greater: set[str] = field(default_factory=set)
    """What stands before `than`."""

    @property
    def people(self) -> list[list[str]]:
        """The cast, all of whom are one."""
        return [
            ["i" if word in _PERSONS and word != "you" else word for word in phrase] for phrase in self.cast
        ]

    def begin(self) -> list[str]:
        """Begin a phrase and return it."""
        phrase: list[str] = []
        self.phrases.append(phrase)
        self.cast.append([])
        return phrase

    def add(self, row: Scan, at: int, word: str, *, topical: bool) -> None:
        """Add a word, which stands at a place of `row` in its own form, to the phrase that was begun last."""
        self.phrases[-1].append(word)
        self.sequence.append(word)
        self.content.append(topical)
        if row.words[at] not in _PERSONS:
            self.cast[-1].append(word)
        if row.kinds[at] == "number" or row.words[at].startswith("letter-"):
            self.fixed.add(word)

    def membership(self) -> list[str]:
        """Return each word with the preposition of its phrase."""
        return [
            f"{phrase[0] if phrase[0] in HEADS else ''}>{word}" for phrase in self.phrases for word in phrase
        ]


def order(row: Scan, stems: list[str], content: list[bool], *, known: set[str], moments: set[int]) -> Order:
    """Read the order of a row of stems.

    `content` says which carry a topic; `known` are names and kinds; at `moments` a time begins or has ended.
    """
    found = Order()
    phrase: list[str] = []
    moved = set(particles(row).values())
    for at, word in enumerate(row.words):
        if at in moved:
            continue
        if word == "by" and at and row.words[at - 1].endswith(_PARTICIPLES):
            found.passive = True
            continue
        begins = at == 0 or _breaks(row, at) or word in HEADS or word in JOINTS or word in WH
        if begins or ((at in moments or _is_subject(row, at)) and not _is_begun(phrase)):
            phrase = found.begin()
        if word in _PERSONS:
            found.persons = True
            found.cast[-1].append(_PERSONS[word])
        if word in _DROPPED or word in JOINTS or not stems[at] or word.endswith("n't"):
            continue
        found.add(row, at, stems[at], topical=content[at])
        if word in WH:
            phrase = found.begin()
    found.phrases = [phrase for phrase in found.phrases if phrase]
    _roles(found, row, stems, content, known)
    return found


def particles(row: Scan) -> dict[int, int]:
    """Return where each verb has its particle: behind it or at the end of its clause, turn the light off."""
    found = {}
    for at, word in enumerate(row.words):
        if stem(word) not in _PHRASAL or (at and row.words[at - 1] in ARTICLES):
            continue
        for place in range(at + 1, min(at + _NEAR, len(row.words))):
            if row.gaps[place] >= COMMA:
                break
            last = place + 1 == len(row.words) or row.gaps[place + 1] >= COMMA
            if row.words[place] in _PARTICLES and (last or place == at + 1):
                found[at] = place
                break
    return found


def _is_begun(phrase: list[str]) -> bool:
    """Whether a phrase has a preposition or the like, and nothing yet that belongs to it: after I left."""
    return len(phrase) == 1 and phrase[0] in HEADS


def _is_subject(row: Scan, at: int) -> bool:
    """Whether a word begins a clause: how do I report that I lost it."""
    word = row.words[at]
    return word in _SUBJECTS or (word == "you" and at > 0 and row.words[at - 1] in AUXILIARIES)


def _breaks(row: Scan, at: int) -> bool:
    """Whether a mark ends the phrase before a word; in March 4, 2024 it does not."""
    listed = row.kinds[at] == "number" or row.words[at].startswith("letter-")
    return row.gaps[at] >= COMMA and not (row.gaps[at] == COMMA and listed)


def _roles(found: Order, row: Scan, stems: list[str], content: list[bool], known: set[str]) -> None:
    words = row.words
    for at, word in enumerate(words):
        if word == "from":
            found.sources.update(known.intersection(_behind(row, stems, content, at)))
        elif word in {"to", "into"} and _leads_to_thing(row, content, at):
            targets = known.intersection(_behind(row, stems, content, at))
            found.targets.update(targets)
            if at and targets and stems[at - 1] in known:
                found.sources.add(stems[at - 1])
        elif word == "than":
            found.lesser.update(_behind(row, stems, content, _last_head(words, at)))
            found.greater.update(stems[one] for one in range(max(0, at - 6), at) if content[one])


def _last_head(words: list[str], at: int) -> int:
    """Return the last of the prepositions that stand in a row from a place on: than in, than to."""
    while at + 1 < len(words) and words[at + 1] in PREPOSITIONS:
        at += 1
    return at


def _leads_to_thing(row: Scan, content: list[bool], at: int) -> bool:
    """Tell `to` a place or thing from `to` do something with it."""
    for place in range(at + 1, min(at + _NEAR, len(row.words))):
        if content[place] or row.words[place] not in ARTICLES | PRONOUNS:
            return content[place]
    return False


def _behind(row: Scan, stems: list[str], content: list[bool], at: int) -> list[str]:
    """Return the content words behind a preposition, up to the next one."""
    found = []
    for place in range(at + 1, min(at + _NEAR, len(stems))):
        if row.gaps[place] >= COMMA or row.words[place] in _ENDS:
            break
        if content[place]:
            found.append(stems[place])
    return found
