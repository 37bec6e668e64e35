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

_NEAR = 6
"""Words behind a preposition that may still belong to it."""
_OWNERS = frozenset("my your our their".split())
_DROPPED = ARTICLES | AUXILIARIES | FILLERS | ADVERBS | NEGATIVES | _OWNERS
_ENDS = PREPOSITIONS | CONNECTIVES | WH | {"that"}
_PARTICIPLES = ("ed", "en", "wn", "ne", "nt", "id", "ought")


@dataclass(slots=True)
class Order:
    """A text's words in order, in several digests' worth of detail."""

    sequence: list[str] = field(default_factory=list)
    content: list[bool] = field(default_factory=list)
    """Which words of the sequence carry a topic."""
    phrases: list[list[str]] = field(default_factory=list)
    """The words between prepositions, connectives and marks; each may move as a whole."""
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

    def membership(self) -> list[str]:
        """Return each word with the preposition of its phrase."""
        return [
            f"{phrase[0] if phrase[0] in HEADS else ''}>{word}" for phrase in self.phrases for word in phrase
        ]


def order(row: Scan, stems: list[str], content: list[bool], known: set[str]) -> Order:
    """Read the order of a row of stems. `content` says which carry a topic; `known` are names and kinds."""
    found = Order()
    phrase: list[str] = []
    for at, word in enumerate(row.words):
        if word == "by" and at and row.words[at - 1].endswith(_PARTICIPLES):
            found.passive = True
            continue
        if at == 0 or _breaks(row, at) or word in HEADS or word in JOINTS or word in WH:
            phrase = []
            found.phrases.append(phrase)
        if word in _DROPPED or word in JOINTS or not stems[at] or word.endswith("n't"):
            continue
        phrase.append(stems[at])
        found.sequence.append(stems[at])
        found.content.append(content[at])
        if word in WH:
            phrase = []
            found.phrases.append(phrase)
    found.phrases = [phrase for phrase in found.phrases if phrase]
    _roles(found, row, stems, content, known)
    return found


def _breaks(row: Scan, at: int) -> bool:
    """Whether a mark ends the phrase before a word; in March 4, 2024 it does not."""
    return row.gaps[at] >= COMMA and not (row.gaps[at] == COMMA and row.kinds[at] == "number")


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
            found.lesser.update(_behind(row, stems, content, at))
            found.greater.update(stems[one] for one in range(max(0, at - 6), at) if content[one])


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
