"""Small words that turn a question around: modality, time, how many, conditions, directions."""

from __future__ import annotations

from askonce_server.core.guards.contrasts import Mention
from askonce_server.core.guards.function_words import ARTICLES, FILLERS, FUNCTION, PRONOUNS
from askonce_server.core.guards.scan import COMMA, STOP, Scan

_NEAR = 4
"""Words behind a preposition among which the one that it leads to stands."""
_PAST = frozenset("was were did had".split())
_PRESENT = frozenset("is are am do does has have".split())
_ALLOWED = frozenset("can could may might".split())
_DUTIES = {"must": "must", "should": "should"}
_ASKED = frozenset("who whom what which".split())
_OF = frozenset("what which".split())
_DOES = frozenset("do does did".split())
_TIMED = frozenset("who when whos".split())
_LINES = {
    "many": "all=all every everything everyone everybody each|some=some something someone somebody|most=most",
    "often": "always=always|ever=ever|sometimes=sometimes occasionally",
    "only": "only=only solely|also=also",
    "if": "if=if|unless=unless",
}
_SIDES = {
    word: Mention(f"m:{line}", f"m:{line}={side.partition('=')[0]}")
    for line, spelt in _LINES.items()
    for side in spelt.split("|")
    for word in side.partition("=")[2].split()
}
LIMITS = {"only": "only", "except": "except"}
"""Words that limit what is said to a part."""
_DIRECTIONS = {
    **dict.fromkeys(("to", "into", "for"), ("way", "to")),
    "from": ("way", "from"),
    **dict.fromkeys(("on", "over", "above", "onto"), ("height", "above")),
    **dict.fromkeys(("under", "below", "beneath", "underneath"), ("height", "below")),
    **dict.fromkeys(("in", "inside", "within"), ("inside", "in")),
    "outside": ("inside", "out"),
}
_PASSED = ARTICLES | PRONOUNS


def manner(row: Scan) -> set[Mention]:
    """Return what small words say of a text, as sides of lines."""
    found = _opening(row)
    for at, word in enumerate(row.words):
        if word in _SIDES and not (word == "most" and at and row.words[at - 1] == "the"):
            found.add(_SIDES[word])
    return found


def directions(row: Scan, stems: list[str]) -> set[Mention]:
    """Return in which direction things stand or go: to my account, from my account."""
    found: set[Mention] = set()
    for at, word in enumerate(row.words):
        if word in _DIRECTIONS and (place := _object(row, at)):
            line, side = _DIRECTIONS[word]
            found.add(Mention(f"m:{line}:{stems[place]}", f"m:{line}:{stems[place]}={side}"))
    return found


def limits(row: Scan) -> set[str]:
    """Return the words that limit a statement to a part."""
    return {
        LIMITS[word]
        for at, word in enumerate(row.words)
        if word in LIMITS and not (at and row.words[at - 1] == "not")
    }


def is_inverted(row: Scan) -> bool:
    """Whether a question with who, what or which asks for an object: who did the man see."""
    words = row.words
    for at, word in enumerate(words):
        if word in _ASKED:
            ahead = words[at + 1 : at + (3 if word in _OF else 2)]
            verb = next((at + 1 + step for step, one in enumerate(ahead) if one in _DOES), 0)
            if verb and words[verb + 1 : verb + 2] and words[verb + 1] not in PRONOUNS:
                return True
    return False


def is_acting(row: Scan) -> bool:
    """Whether a question with who, what or which asks for a subject: who saw the man."""
    words = row.words
    return not is_inverted(row) and any(
        word in _ASKED and words[at + 1] not in FUNCTION for at, word in enumerate(words[:-1])
    )


def _object(row: Scan, at: int) -> int:
    """Return the place of the word that a preposition leads to, 0 if there is none."""
    for place in range(at + 1, min(at + 1 + _NEAR, len(row.words))):
        if row.gaps[place] >= COMMA:
            break
        if row.words[place] not in _PASSED:
            return place
    return 0


def _opening(row: Scan) -> set[Mention]:
    """Return whether a question asks for what may, must or should be, and for what was, is or will be."""
    found: set[Mention] = set()
    words, opening = row.words, True
    for at, word in enumerate(words[:-1]):
        opening = row.gaps[at] == STOP or (opening and words[at - 1] in FILLERS)
        if not opening:
            continue
        if duty := "may" if word in _ALLOWED else _DUTIES.get(word):
            found.add(Mention("m:duty", f"m:duty={duty}"))
        verb = words[at + 1] if word in _TIMED else ""
        if verb in _PAST:
            found.add(Mention(f"m:{word}", f"m:{word}=past"))
        elif verb in _PRESENT or verb == "will":
            side = "present" if verb in _PRESENT or word == "when" else "future"
            found.add(Mention(f"m:{word}", f"m:{word}={side}"))
        if word == "will" or word in {"was", "were", "did"}:
            found.add(Mention("m:time", f"m:time={'future' if word == 'will' else 'past'}"))
    return found
