"""Numbers in a row of words, however they are written: digits, words, ordinals, fractions, magnitudes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from math import isfinite

from askonce_server.core.guards.scan import COMMA, GLUED, HYPHEN, SPACE, Scan
from askonce_server.core.guards.units import UNITS

_UNITS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_ORDINALS = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth "
    "fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth"
)
SMALL: dict[str, int] = {
    **{word: value for value, word in enumerate(f"{_UNITS} seventeen eighteen nineteen".split())},
    **{word: 10 * value for value, word in enumerate(_TENS.split(), start=2)},
    "fourty": 40,
}
ORDINALS: dict[str, int] = {
    **{word: value for value, word in enumerate(_ORDINALS.split())},
    **{word.removesuffix("y") + "ieth": 10 * value for value, word in enumerate(_TENS.split(), start=2)},
    "thirty-first": 31,
    "hundredth": 100,
    "thousandth": 1000,
}
MAGNITUDES: dict[str, int] = {
    "hundred": 100,
    "thousand": 1000,
    "grand": 1000,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "lakh": 10**5,
    "crore": 10**7,
    "dozen": 12,
}
_SUFFIXES = {"k": 1000, "mn": 10**6, "bn": 10**9, "tn": 10**12, "mio": 10**6}
_TIMES = {"twice": 2, "thrice": 3}
_SOME = frozenset({"several", "multiple", "few"})
"""Words for more than one, which match two and may go unsaid."""
_CJK = {mark: value for value, mark in enumerate("零一二三四五六七八九十")} | {
    "两": 2,
    "兩": 2,
    "百": 100,
    "千": 1000,
}
_ORDINAL_ENDINGS = frozenset({"st", "nd", "rd", "th"})
_NOT_SECOND = frozenset("hand hands home half".split())
_SECOND_AFTER = frozenset("the my your his her our their every on is 's".split())
_DOTS = re.compile(r"\d+(?:\.\d+){2,}")
_MAX_DIGITS = 15
"""A longer row of digits is a name, not a value."""


_NUMBER_WORDS = (
    SMALL.keys() | MAGNITUDES.keys() | ORDINALS.keys() | _TIMES.keys() | _SOME | {"half", "couple", "more"}
)


@dataclass(slots=True)
class Numeral:
    """One number of a text."""

    value: str
    """In one spelling: `1000.5`."""
    start: int
    """Its first word."""
    end: int
    """The word after its last."""
    vague: bool = False
    """Written as a word for one (`one`, `first`, `once`), which texts leave out or replace by an article."""
    some: bool = False
    """Whether it says that there is more than one, and hardly how many: a couple, several."""
    ordinal: bool = False
    name: bool = False
    """Whether it names more than it measures: a version, a phone number."""

    def number(self) -> float:
        """Return the value to reckon with."""
        return float(self.value)


def spell(value: float) -> str:
    """Write a value without a needless fraction."""
    if not isfinite(value):
        return "infinite"
    return str(int(value)) if value == int(value) else format(value, ".10g")


def numerals(row: Scan) -> list[Numeral]:
    """Return the numbers in order."""
    found: list[Numeral] = []
    at, size = 0, len(row.words)
    while at < size:
        if row.kinds[at] == "word" and row.words[at] not in _NUMBER_WORDS:
            at += 1
            continue
        numeral = _at(row, at)
        if numeral is None:
            at += 1
        elif row.words[at - 1 : at] == ["covid"]:
            at += 1  # part of the name
        else:
            found.append(numeral)
            at = max(numeral.end, at + 1)
    return found


def _at(row: Scan, at: int) -> Numeral | None:
    kind, word = row.kinds[at], row.words[at]
    if kind == "number":
        return _digits(row, at)
    if kind == "fraction":
        above, below = map(int, word.split("/"))
        return Numeral(spell(above / below) if below else word, at, at + 1, name=not below)
    if kind == "single" and word in _CJK:
        return _ideographs(row, at)
    return _worded(row, at) if kind == "word" else None


def _worded(row: Scan, at: int) -> Numeral | None:
    word = row.words[at]
    if word in SMALL or word in MAGNITUDES:
        return _spelled(row, at)
    if word in ORDINALS:
        return _ordinal(row, at)
    if row.words[at : at + 3] == ["more", "than", "one"]:
        return Numeral("2", at, at + 3, some=True)
    if word in _SOME:
        return None if row.words[at + 1 : at + 2] == ["choice"] else Numeral("2", at, at + 1, some=True)
    if word in _TIMES:
        return Numeral(str(_TIMES[word]), at, at + 1)
    if word == "couple" and row.words[at - 1 : at] == ["a"] and at + 1 < len(row.words):
        return Numeral("2", at, at + (2 if row.words[at + 1] == "of" else 1), some=True)
    if word == "half" and at + 1 < len(row.words) and row.words[at + 1] in {"a", "an"}:
        size = MAGNITUDES.get(row.words[at + 2], 0) if at + 2 < len(row.words) else 0
        return Numeral(spell(size / 2 or 0.5), at, at + 3 if size else at + 2)
    return None


def _digits(row: Scan, at: int) -> Numeral:
    word = row.words[at]
    if _DOTS.fullmatch(word) or len(word) > _MAX_DIGITS or _is_code(word):
        return Numeral(word, at, at + 1, name=True)
    negative = at and row.words[at - 1] == "minus" and not (at > 1 and row.kinds[at - 2] == "number")
    value, end = -float(word) if negative else float(word), at + 1
    following = row.words[end] if end < len(row.words) else ""
    if following in _ORDINAL_ENDINGS and row.gaps[end] == GLUED:
        return Numeral(spell(value), at, end + 1, ordinal=True)
    if following in _SUFFIXES and row.gaps[end] <= SPACE and (following != "k" or row.gaps[end] == GLUED):
        return Numeral(spell(value * _SUFFIXES[following]), at, end + 1)
    while end < len(row.words) and row.words[end] in MAGNITUDES and row.gaps[end] <= SPACE:
        value, end = value * MAGNITUDES[row.words[end]], end + 1
    if "." in word and word.endswith("0") and end == at + 1 and not _is_measured(row, at, end):
        return Numeral(word, at, end, name=True)
    return _with_fraction(row, Numeral(spell(value), at, end))


def _is_measured(row: Scan, at: int, end: int) -> bool:
    """Whether something beside a number says that it is an amount, not a version like 3.10."""
    beside = row.kinds[max(at - 1, 0) : at] + row.kinds[end : end + 1]
    return "sign" in beside or (row.words[end : end + 1] != [] and row.words[end] in UNITS)


def _is_code(word: str) -> bool:
    """Whether a leading zero makes a row of digits a phone number or a code."""
    return len(word) > 1 and word[0] == "0" and word[1] != "."


def _spelled(row: Scan, at: int) -> Numeral | None:
    """Read number words: two hundred and fifty, twenty-one, one and a half, a dozen."""
    total, part, end, last = 0.0, 0.0, at, -1.0
    words = row.words
    while end < len(words) and (end == at or row.gaps[end] < COMMA):
        word = words[end]
        if word in SMALL:
            value = SMALL[word]
            if end > at and not (part == 0 or (last >= 20 and value < last and (last == 100 or value < 10))):
                break
            part, last = part + value, float(value)
        elif word in MAGNITUDES:
            size = MAGNITUDES[word]
            if size in {12, 100}:
                part, last = max(part, 1) * size, 100.0
            else:
                total, part, last = total + max(part, 1) * size, 0.0, 100.0
        elif word == "and" and last == 100 and end + 1 < len(words) and words[end + 1] in SMALL:
            pass
        elif word in ORDINALS and last >= 20 and ORDINALS[word] < 10 and row.gaps[end] <= HYPHEN:
            return Numeral(spell(total + part + ORDINALS[word]), at, end + 1, ordinal=True)
        else:
            break
        end += 1
    vague = end == at + 1 and words[at] == "one"
    return _with_fraction(row, Numeral(spell(total + part), at, end, vague=vague))


def _with_fraction(row: Scan, numeral: Numeral) -> Numeral:
    """Add what follows as `and a half` or `and 1/2`."""
    words, at = row.words, numeral.end
    if words[at : at + 2] == ["and", "a"] and words[at + 2 : at + 3] == ["half"]:
        return Numeral(spell(numeral.number() + 0.5), numeral.start, at + 3)
    if words[at : at + 1] == ["and"] and row.kinds[at + 1 : at + 2] == ["fraction"]:
        above, below = words[at + 1].split("/")
        if int(below):
            return Numeral(spell(numeral.number() + int(above) / int(below)), numeral.start, at + 2)
    return numeral


def _ordinal(row: Scan, at: int) -> Numeral | None:
    word = row.words[at]
    before = row.words[at - 1] if at else ""
    following = row.words[at + 1] if at + 1 < len(row.words) else ""
    if word == "second" and (before not in _SECOND_AFTER or following in _NOT_SECOND):
        return None
    if word == "third" and following in {"party", "parties"}:
        return None
    return Numeral(str(ORDINALS[word]), at, at + 1, vague=word == "first", ordinal=True)


def _ideographs(row: Scan, at: int) -> Numeral | None:
    """Read a row of Chinese numerals; a lone one is often part of another word."""
    total, part, end = 0, 0, at
    while end < len(row.words) and row.words[end] in _CJK and (end == at or row.gaps[end] == GLUED):
        value = _CJK[row.words[end]]
        if value >= 10:
            total, part = total + max(part, 1) * value, 0
        else:
            part = part * 10 + value
        end += 1
    vague = end == at + 1 and row.words[at] == "一"
    return Numeral(str(total + part), at, end, vague=vague)
