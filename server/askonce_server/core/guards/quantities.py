"""Numbers with what they count: units, money, times of day, dates in digits."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from askonce_server.core.guards.clock import clocks
from askonce_server.core.guards.function_words import FUNCTION
from askonce_server.core.guards.numerals import Numeral, numerals, spell
from askonce_server.core.guards.scan import COMMA, GLUED, SPACE, Scan
from askonce_server.core.guards.spelling import stem
from askonce_server.core.guards.units import (
    APART,
    BEFORE,
    CURRENCIES,
    DAY,
    DURATIONS,
    MONTHS,
    SECONDS,
    SHORT,
    UNITS,
    WIDER,
)

_ANY_DURATION = DURATIONS - {"second"}


class Levels(NamedTuple):
    """A number as said, and less and less exactly.

    One matches another when the exact form of either is a form of the other: 7 am matches 7 o'clock and 7 but
    not 7 pm, and £50 matches 50 pounds and 50 but not $50.
    """

    exact: str
    wider: str
    bare: str


@dataclass(slots=True)
class Quantities:
    """What a text counts."""

    hard: list[Levels] = field(default_factory=list)
    vague: list[Levels] = field(default_factory=list)
    """Ones, which may go unsaid: one year, a week."""
    counted: list[tuple[str, str]] = field(default_factory=list)
    """The word behind a number, with that number."""
    months: set[int] = field(default_factory=set)
    """Of dates in digits."""
    units: set[str] = field(default_factory=set)
    spelt: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Where a quantity begins: its one spelling, and the word behind it."""
    has_duration: bool = False

    def add(self, levels: Levels, start: int, end: int, *, vague: bool = False) -> None:
        """Note a quantity that spans the words from `start` to `end`."""
        (self.vague if vague else self.hard).append(levels)
        self.spelt[start] = (levels.exact, end)


def quantities(row: Scan) -> Quantities:
    """Find every number of a text."""
    found = Quantities()
    seen = numerals(row)
    covered: set[int] = set()
    for clock in clocks(row, seen):
        wide = f"clock:{clock.minutes}"
        found.add(Levels(wide + clock.half, wide, f"n:{clock.said}"), clock.start, clock.end)
        covered.update(range(clock.start, clock.end))
    if "date" in row.kinds:
        for at, kind in enumerate(row.kinds):
            if kind == "date":
                _date(row, found, at)
    rest = [one for one in seen if one.start not in covered]
    _count(row, found, _measured(row, rest))
    _articles(row, found)
    return found


class _Measured(NamedTuple):
    one: Numeral
    unit: str
    start: int
    end: int


def _measured(row: Scan, numbers: list[Numeral]) -> list[_Measured]:
    """Join each number with its unit; in a range or a choice the last one's unit is that of the first too."""
    measured = [_with_unit(row, one) for one in numbers]
    for at in range(1, len(measured)):
        if measured[at].unit == "m" and measured[at - 1].unit == "hour":
            measured[at] = measured[at]._replace(unit="minute")
    for at in range(len(measured) - 2, -1, -1):
        here, after = measured[at], measured[at + 1]
        between = row.words[here.end : after.start]
        linked = between in (["to"], ["or"]) or (not between and row.gaps[after.start] < SPACE)
        if linked and not here.unit and after.unit:
            measured[at] = here._replace(unit=after.unit)
        elif linked and here.unit in CURRENCIES and not after.unit:
            measured[at + 1] = after._replace(unit=here.unit)
    return measured


def _with_unit(row: Scan, one: Numeral) -> _Measured:
    words, end = row.words, one.end
    if one.name:
        return _Measured(one, "", one.start, end)
    before = words[one.start - 1] if one.start else ""
    prefix = UNITS[before] if before in BEFORE and row.gaps[one.start] <= SPACE else ""
    if end < len(words) and row.gaps[end] <= SPACE:
        after, close = words[end], row.gaps[end] == GLUED
        if after == "m" and prefix and close:
            return _Measured(_scaled(one, 10**6), prefix, one.start - 1, end + 1)
        if after == "per" and words[end + 1 : end + 2] == ["cent"]:
            return _Measured(one, "percent", one.start, end + 2)
        unit = UNITS.get(after, "") if close or after not in SHORT or after in APART else ""
        if (
            unit == "degree"
            and end + 1 < len(words)
            and words[end + 1] in {"c", "f", "celsius", "fahrenheit"}
        ):
            return _Measured(one, UNITS[words[end + 1]], one.start, end + 2)
        if unit and not (one.ordinal and unit not in {"day", "week", "month", "year"}) and not prefix:
            return _Measured(one, "" if one.ordinal else unit, one.start, end if one.ordinal else end + 1)
    return _Measured(one, prefix, one.start - 1 if prefix else one.start, end)


def _scaled(one: Numeral, factor: int) -> Numeral:
    return Numeral(spell(one.number() * factor), one.start, one.end)


def _count(row: Scan, found: Quantities, measured: list[_Measured]) -> None:
    """Note the quantities; neighbours like 1 hour 30 minutes are one."""
    at = 0
    while at < len(measured):
        here = measured[at]
        total, end, following = _seconds(here), here.end, at + 1
        while here.unit in SECONDS and following < len(measured) and _adjoins(row, measured, following):
            total += _seconds(measured[following])
            end, following = measured[following].end, following + 1
        levels = _levels(here, total)
        if end > here.end:
            levels = Levels(*[levels.exact] * 3)
        one = levels.bare == "n:1" and (here.one.vague or not here.one.ordinal)
        found.add(levels, here.start, end, vague=one or here.one.some)
        _note_unit(row, found, here, end)
        at = following


def _adjoins(row: Scan, measured: list[_Measured], at: int) -> bool:
    before, here = measured[at - 1], measured[at]
    between = row.words[before.end : here.start]
    return (
        here.unit in SECONDS
        and before.unit in SECONDS
        and SECONDS[here.unit] < SECONDS[before.unit]
        and between in ([], ["and"])
        and row.gaps[here.start] <= SPACE
    )


def _seconds(here: _Measured) -> float:
    return here.one.number() * SECONDS[here.unit] if here.unit in SECONDS else 0.0


def _levels(here: _Measured, total: float) -> Levels:
    unit, value = here.unit, here.one.value
    bare = f"n:{value}"
    if not unit:
        return Levels(bare, bare, bare)
    if unit in SECONDS:
        exact = f"time:{spell(total)}"
    elif unit in MONTHS:
        months = here.one.number() * MONTHS[unit]
        days = months / 12 * 365 if months % 12 == 0 else months * 30
        exact = f"time:{spell(days * DAY)}"
    else:
        exact = f"{unit}:{value}"
    return Levels(exact, f"{WIDER[unit]}:{value}" if unit in WIDER else exact, bare)


def _note_unit(row: Scan, found: Quantities, here: _Measured, end: int) -> None:
    if here.unit in DURATIONS:
        found.has_duration = True
    elif here.unit:
        found.units.add(here.unit)
    if end < len(row.words) and row.gaps[end] < COMMA and row.kinds[end] == "word" and not here.unit:
        noun = row.words[end]
        if noun not in FUNCTION:
            found.counted.append((stem(noun), here.one.value))


def _date(row: Scan, found: Quantities, at: int) -> None:
    """Take a date in digits apart, where day and month can be told."""
    mark = next(mark for mark in "-/." if mark in row.words[at])
    parts = [int(part) for part in row.words[at].split(mark)]
    if parts[0] > 31:
        year, month, day = parts
    else:
        day, month, year = parts
        if month > 12:
            day, month = month, day
        elif day <= 12 and day != month:
            said = f"date:{day}/{month}/{year % 100}"
            found.add(Levels(said, said, said), at, at + 1)
            return
    year += 2000 if year < 70 else 1900 if year < 100 else 0
    found.spelt[at] = (f"date:{year}-{month}-{day}", at + 1)
    found.hard.extend(Levels(*[f"n:{value}"] * 3) for value in (day, year))
    found.months.add(month)


def _articles(row: Scan, found: Quantities) -> None:
    """Note `a week` as one week, which may go unsaid."""
    if "a" not in row.words and "an" not in row.words:
        return
    for at, word in enumerate(row.words[:-1]):
        if (
            word in {"a", "an"}
            and row.words[at - 1 : at] != ["half"]
            and (unit := UNITS.get(row.words[at + 1])) in _ANY_DURATION
        ):
            half = row.words[at + 2 : at + 5] == ["and", "a", "half"]
            here = _Measured(Numeral("1.5" if half else "1", at, at + 2), str(unit), at, at + 2)
            found.add(_levels(here, _seconds(here)), at, at + (5 if half else 2), vague=not half)
