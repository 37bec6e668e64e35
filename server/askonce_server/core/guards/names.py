"""Names: what a text capitalizes, mixes with digits, joins with dots or puts between quote marks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from askonce_server.core.guards.calendar import CALENDAR, named_day
from askonce_server.core.guards.contrasts import Found, Mention
from askonce_server.core.guards.function_words import FUNCTION, STARTERS
from askonce_server.core.guards.numerals import MAGNITUDES, ORDINALS, SMALL
from askonce_server.core.guards.scan import GLUED, HYPHEN, JOINED, STOP, Scan
from askonce_server.core.guards.spelling import rough
from askonce_server.core.guards.units import UNITS

_SHOUTED = 0.6
"""Share of words in capitals from which capitals mean nothing."""
_ACRONYM = 5
_LEAST_TITLE = 2
_SURE_TITLE = 3
_SMALL_IN_TITLES = frozenset("a an the of in on to for and or with by at from as is".split())
_ENDINGS = UNITS.keys() | frozenset("am pm st nd rd th k bn mn".split())
_CODE = 3
"""Letters of a word that make a code with the digits beside it."""
_MAX_INITIALS = 6
_NOT_NAMES = (
    FUNCTION
    | CALENDAR
    | SMALL.keys()
    | ORDINALS.keys()
    | MAGNITUDES.keys()
    | UNITS.keys()
    | frozenset("mr mrs ms dr prof sir madam morning afternoon evening am pm".split())
)


@dataclass(slots=True)
class Names:
    """The names of a text."""

    keys: dict[str, list[str | Mention]] = field(default_factory=dict)
    """For the root of each word of a name, what makes it known to another text: the word (`w:`), its rough
    spelling (`r:`), a thing of a kind, and for one form of an acronym the other (`long:`, `short:`)."""
    answers: set[str] = field(default_factory=set)
    """Forms of acronyms that the text has: `short:nyc` for NYC, `long:nyc` for New York City."""


def names(row: Scan, roots: list[str], known: Iterable[Found]) -> Names:
    """Find the names; `known` are the things of a kind that the text names."""
    marked = sorted([at for at in _marked(row) if roots[at]])
    if not marked:
        return Names()
    found = Names({roots[at]: [f"w:{roots[at]}", f"r:{rough(roots[at])}"] for at in marked})
    for one in known:
        if roots[one.start] in found.keys and one.start in marked:
            found.keys[roots[one.start]].append(one.mention)
    for at, short in _initials(row, marked):
        found.keys[roots[at]].append(f"short:{short}")
        found.answers.add(f"long:{short}")
    for at in marked:
        if row.forms[at].isupper() and 1 < len(row.words[at]) <= _MAX_INITIALS:
            found.keys[roots[at]].append(f"long:{row.words[at]}")
            found.answers.add(f"short:{row.words[at]}")
    return found


def _marked(row: Scan) -> set[int]:
    words = [at for at, kind in enumerate(row.kinds) if kind == "word"]
    sure = {at for at in row.quoted if row.kinds[at] == "word" and row.words[at] not in FUNCTION}
    found = {at for at in words if row.words[at].startswith("letter-")}
    if JOINED in row.gaps:
        sure.update(at for at in words if _is_joined(row, at))
    if "number" in row.kinds:
        found.update(at for at in words if _is_code(row, at))
    capital = [at for at in words if not row.forms[at].islower() and row.forms[at] != row.forms[at].lower()]
    if len(capital) > 1 or (capital and row.gaps[capital[0]] != STOP) or _is_mixed(row, capital):
        found.update(_capital(row, words, capital))
    if not found:
        return sure
    return sure | {at for at in found if row.words[at] not in _NOT_NAMES and not named_day(row.words[at])}


def _is_mixed(row: Scan, capital: list[int]) -> bool:
    return any(row.forms[at][1:] != row.forms[at][1:].lower() for at in capital)


def _capital(row: Scan, words: list[int], capital: list[int]) -> Iterator[int]:
    """Yield the words that are capitalized for being names."""
    shouting = sum(row.forms[at].isupper() for at in capital) > _SHOUTED * len(words)
    title = shouting or _is_title(row)
    for at in capital:
        form = row.forms[at]
        inner = form[1:] != form[1:].lower() and not shouting and not (title and len(form) > _ACRONYM)
        if inner or (form[0].isupper() and not title and not _only_starts(row, at)):
            yield at


def _is_title(row: Scan) -> bool:
    """Whether all words are capitalized that a title capitalizes, names or not."""
    later = [at for at, kind in enumerate(row.kinds) if kind == "word" and row.gaps[at] != STOP]
    capital = [at for at in later if row.forms[at][0].isupper() and row.words[at] != "i"]
    if len(capital) < _LEAST_TITLE:
        return False
    if any(not row.forms[at][0].isupper() and row.words[at] not in _SMALL_IN_TITLES for at in later):
        return False
    return len(capital) > _SURE_TITLE or any(row.words[at] in FUNCTION for at in capital)


def _only_starts(row: Scan, at: int) -> bool:
    """Whether a word may be capitalized for standing first."""
    return row.gaps[at] == STOP or (row.words[at] in STARTERS and not row.forms[at].isupper())


def _is_joined(row: Scan, at: int) -> bool:
    """Whether a dot, an underscore or the like makes a word part of a file name or an address."""
    return (at > 0 and row.gaps[at] == JOINED) or (at + 1 < len(row.words) and row.gaps[at + 1] == JOINED)


def _is_code(row: Scan, at: int) -> bool:
    """Whether few letters stand beside digits without a space: P60, B2B, HH-55102."""
    if len(row.words[at]) > _CODE or row.words[at] in _ENDINGS:
        return False
    before = at > 0 and row.gaps[at] == GLUED and row.kinds[at - 1] == "number"
    return before or (
        at + 1 < len(row.words) and row.gaps[at + 1] <= HYPHEN and row.kinds[at + 1] == "number"
    )


def _initials(row: Scan, marked: list[int]) -> list[tuple[int, str]]:
    """Return the initials of each name of several words, for each of its words: New York City, NYC."""
    found: list[tuple[int, str]] = []
    run: list[int] = []
    for at in [*marked, -1]:
        if run and (at < 0 or at - run[-1] > 2 or row.gaps[at] >= STOP):
            if 1 < len(run) <= _MAX_INITIALS:
                short = "".join(row.words[one][0] for one in run)
                found += [(one, short) for one in run]
            run = []
        if at >= 0:
            run.append(at)
    return found
