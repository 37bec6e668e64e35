"""Everything the guards see in a text, as plain strings: made, hashed, and forgotten."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from askonce_server.core.guards.affixes import NEGATING, is_joined, negated, swapped
from askonce_server.core.guards.calendar import is_moment, times
from askonce_server.core.guards.contrasts import Contrasts, Found, Mention, loose_particles
from askonce_server.core.guards.function_words import ADVERBS, FUNCTION, GENERIC, HEADS, PRONOUNS, SILENT, WH
from askonce_server.core.guards.lexicon import alternatives
from askonce_server.core.guards.lexicon.actions import ACTIONS
from askonce_server.core.guards.lexicon.qualities import QUALITIES
from askonce_server.core.guards.manner import directions, is_acting, is_inverted, limits, manner
from askonce_server.core.guards.markings import Markings, markings
from askonce_server.core.guards.names import Names, names
from askonce_server.core.guards.negation import is_negative, negation, softeners
from askonce_server.core.guards.order import Order, order, particles
from askonce_server.core.guards.people import is_person
from askonce_server.core.guards.quantities import Quantities, quantities
from askonce_server.core.guards.questions import asks
from askonce_server.core.guards.roots import root, side_root
from askonce_server.core.guards.scan import HYPHEN, SPACE, Scan, scan
from askonce_server.core.guards.spelling import rough, stem

_CONTRASTS = Contrasts(p=(ACTIONS, QUALITIES), a=alternatives.KINDS, u=(alternatives.UNITS,))
_MEMO = 1 << 14
_SWITCHES = frozenset({"turn", "switch"})
_TURNED = {"on": stem("enable"), "off": stem("disable")}
_TELLING = (GENERIC | WH | PRONOUNS) - frozenset(
    "i me my tell say know want like need let ask this that it".split()
)


class Reading(NamedTuple):
    """A text as the guards see it. A named tuple, since one is made for every text."""

    length: int
    quantities: Quantities
    times: set[Mention]
    units: set[Mention]
    questions: set[Mention]
    opposites: set[Mention]
    alternatives: set[Mention]
    negations: int
    denied: set[str | Mention]
    """Words that are negated, as `w:word`, and what opposites they name."""
    softeners: set[str]
    negated: set[str]
    person: bool
    """Whether it is about somebody else than who asks."""
    words: list[str]
    """The roots of the content words, numbers too, in order."""
    plain: list[str]
    """Those of them that are no numbers and no words like now."""
    joins: set[str]
    """Neighbours written as one word, as typing errors leave them."""
    small: list[str]
    """Verbs of every topic; in a text without content words, all that tell it from another such."""
    names: Names
    order: Order
    markings: Markings
    manner: set[Mention]
    directions: set[Mention]
    limits: set[str]
    inverted: bool
    acting: bool


def read(text: str) -> Reading:
    """Read a text, in time linear in its length."""
    row = scan(text)
    stems = [stem(word) for word in row.words]
    _join_negated(row, stems)
    _turn_switches(row, stems)
    counts = quantities(row)
    named_things = _CONTRASTS.find(stems, row.gaps)
    opposed, known, units = (
        [one for one in named_things if one.mention.line.startswith(kind)] for kind in ("p:", "a:", "u:")
    )
    opposed = [one for one in opposed if not _counts_apart(row, counts, one.start)]
    denial = negation(row, SILENT)
    roots = _roots(stems, counts, known)
    content = [
        bool(word) and (at in counts.spelt or (row.kinds[at] != "sign" and is_topical(row.words[at])))
        for at, word in enumerate(roots)
    ]
    words = [word for word, counts_as in zip(roots, content, strict=True) if counts_as]
    things = {roots[one.start] for one in (*known, *units)}
    named = names(row, roots, known)
    return Reading(
        length=len(text),
        quantities=counts,
        times=times(row, counts.months, has_duration=counts.has_duration),
        units={one.mention for one in units},
        questions=asks(row),
        opposites={one.mention for one in opposed}
        | swapped(row)
        | loose_particles(row.words, row.gaps, HEADS),
        alternatives={one.mention for one in known},
        negations=denial.count,
        denied={f"w:{roots[at]}" for at in denial.places}
        | {one.mention for one in opposed if one.start in denial.places},
        softeners=softeners(stems),
        negated={root(base) for base in negated(row)},
        person=any(is_person(one.mention.line, one.mention.side) for one in known),
        words=words,
        plain=[
            word
            for at, word in enumerate(roots)
            if content[at] and at not in counts.spelt and row.words[at] not in ADVERBS
        ],
        joins=_joins(row),
        small=[stem(word) for word in row.words if word in (GENERIC if words else _TELLING)],
        names=named,
        order=order(row, roots, content, known=things | named.keys.keys(), moments=_moments(row, counts)),
        markings=markings(text, row),
        manner=manner(row),
        directions=directions(row, stems),
        limits=limits(row),
        inverted=is_inverted(row),
        acting=is_acting(row),
    )


@lru_cache(_MEMO)
def is_topical(word: str) -> bool:
    """Whether a word carries a topic."""
    return word not in FUNCTION and not is_negative(word)


def _join_negated(row: Scan, stems: list[str]) -> None:
    """Make one word of non-members and nut-free, so that members and nuts are not in it, and of e-mail."""
    for at in range(1, len(stems)):
        before = row.words[at - 1]
        hyphen = row.gaps[at] == HYPHEN
        if before in NEGATING and is_joined(row, at):
            stems[at - 1], stems[at] = f"{before}{stems[at]}", ""
        elif hyphen and (row.words[at] == "free" or len(row.forms[at - 1]) == 1):
            stems[at - 1], stems[at] = f"{stems[at - 1].removeprefix('letter-')}{stems[at]}", ""


def _counts_apart(row: Scan, counts: Quantities, at: int) -> bool:
    """Whether `different` stands behind a number, where it is no opposite: two different machines."""
    return row.words[at] == "different" and any(end == at for _, end in counts.spelt.values())


def _joins(row: Scan) -> set[str]:
    """Return each two content words that stand together as the one word that they may be written as."""
    words = [row.kinds[at] == "word" and is_topical(word) for at, word in enumerate(row.words)]
    return {
        rough(root(stem(row.words[at - 1] + row.words[at])))
        for at in range(1, len(words))
        if words[at] and words[at - 1] and HYPHEN <= row.gaps[at] <= SPACE
    }


def _turn_switches(row: Scan, stems: list[str]) -> None:
    """Read `turn it off` and `switch it off` as `disable it`."""
    for at, place in particles(row).items():
        if stems[at] in _SWITCHES and row.words[place] in _TURNED:
            stems[at] = _TURNED[row.words[place]]


def _moments(row: Scan, counts: Quantities) -> set[int]:
    """Return where a time begins that may move through a sentence, such as next month, and where one ends."""
    found = {end for spelt, end in counts.spelt.values() if spelt.startswith("clock:")}
    for at in range(len(row.words) - 1):
        if is_moment(row.words[at], row.words[at + 1]):
            found.update((at, at + 2))
    return found


def _roots(stems: list[str], counts: Quantities, known: list[Found]) -> list[str]:
    """Write each synonym, each quantity and each phrase in its one way where it begins."""
    roots = [root(word) for word in stems]
    for start, end, mention, alias in known:
        if alias and end > start + 1:
            roots[start:end] = [side_root(mention), *[""] * (end - start - 1)]
    for start, (spelt, end) in counts.spelt.items():
        roots[start:end] = [spelt, *[""] * (end - start - 1)]
    return roots
