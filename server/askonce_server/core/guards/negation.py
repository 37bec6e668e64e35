"""Negation: whether a text turns its statement around, and what may do so without saying not."""

from __future__ import annotations

from dataclasses import dataclass, field

from askonce_server.core.guards.function_words import NEGATIVES
from askonce_server.core.guards.scan import COMMA, Scan
from askonce_server.core.guards.spelling import stem

_PLAIN = NEGATIVES | frozenset(
    """
    without avoid avoids avoiding avoided unable lack lacks lacking
    partly partially almost nearly hardly barely scarcely seldom
    """.split()
)
"""What is partly or almost so is not so."""
_FOREIGN = frozenset(
    "nicht kein keine keinen keinem keiner ohne jamais nunca jamás não senza niet geen не нет без".split()
)
_MARKS = frozenset("不没沒無无非未")
_BARE = frozenset(
    """
    dont doesnt didnt cant couldnt wont wouldnt shouldnt isnt arent wasnt werent hasnt havent hadnt aint
    mustnt neednt
    """.split()
)
_IDIOMS = {
    ("not", "only"),
    ("not", "just"),
    ("no", "problem"),
    ("no", "matter"),
    ("no", "idea"),
    ("not", "sure"),
    ("or", "not"),
    ("or", "no"),
    ("why", "not"),
    ("if", "not"),
}
_ATTITUDES = frozenset(
    """
    know understand remember recall figure find locate sure happy satisfied pleased certain aware
    recognise recognize understood figured finding knowing
    """.split()
)
"""Who does not know how to do a thing asks how to do it."""
_RAISING = frozenset("seem seems think believe appear".split())
"""What does not seem to work does not work."""
_THIN = frozenset("get getting want need have take make give go come try let able possible".split())
_SOFT = frozenset(
    stem(word)
    for word in """
    stop avoid unable fail failed failure refuse refused reject rejected decline declined deny denied
    except problem issue trouble error wrong fault faulty broken break block blocked miss missing lose
    lost forget forgot impossible prevent lack exclude excluding remove cancel free rid disable disallow
    ban banned prohibit forbidden illegal invalid incorrect bad worst unknown unrecognised strange
    suspicious unauthorised pending wait waiting late delay delayed stuck overdue instead rather only
    other against outside skip bypass ignore freeze frozen expire expired stolen dispute fraud fraudulent
    compromised hacked false difficulty difficult hard struggle unhappy less yet unexpected unfamiliar
    mistake
    """.split()
)
"""Stems of words that may stand for a negation: where one does, a lone not is no difference in meaning."""


_ALL = _PLAIN | _BARE | _FOREIGN | _MARKS


def is_negative(word: str) -> bool:
    """Whether a word is a negated auxiliary verb."""
    return word in _BARE or word.endswith("n't")


@dataclass(slots=True)
class Negation:
    """What a text negates."""

    count: int = 0
    places: set[int] = field(default_factory=set)
    """The words that are negated: those next behind a negation that say anything."""


def negation(row: Scan, skip: frozenset[str]) -> Negation:
    """Count what negates, contractions opened, idioms like `not only` left out, and find what is negated.

    `skip` are the words that say nothing themselves.
    """
    found = Negation()
    words = row.words
    for at, word in enumerate(words):
        if word in _ALL or word.endswith("n't"):
            pair = (word, words[at + 1]) if at + 1 < len(words) else (word, "")
            before = (words[at - 1], word) if at else ("", word)
            places = _scope(row, at, skip)
            attitude = bool(places) and places[0] > at and words[places[0]] in _ATTITUDES
            if pair not in _IDIOMS and before not in _IDIOMS and not attitude:
                found.count += 1
                found.places.update(places)
    return found


def _scope(row: Scan, at: int, skip: frozenset[str]) -> list[int]:
    """Return the word next behind a negation, in its clause; the one before it at a clause's end.

    A verb of every topic brings the next word with it: not get a card.
    """
    words, ahead = row.words, []
    for place in range(at + 1, min(at + 8, len(words))):
        if row.gaps[place] >= COMMA:
            break
        if words[place] not in skip and words[place] not in _RAISING:
            ahead.append(place)
            if words[place] not in _THIN or len(ahead) == 2:
                break
    if ahead:
        return ahead
    return [place for place in range(at - 1, max(at - 6, -1), -1) if words[place] not in skip][:1]


def softeners(stems: list[str]) -> set[str]:
    """Return the stems that may stand for a negation."""
    return {word for word in stems if word in _SOFT}
