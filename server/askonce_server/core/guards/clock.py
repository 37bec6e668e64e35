"""Times of day in a row of words."""

from __future__ import annotations

from dataclasses import dataclass

from askonce_server.core.guards.numerals import Numeral
from askonce_server.core.guards.scan import Scan

_NAMED = {"noon": (0, "pm"), "midday": (0, "pm"), "noontime": (0, "pm"), "midnight": (0, "am")}
_HALVES = {"am": "am", "pm": "pm"}
_OCLOCK = frozenset({"o'clock", "oclock"})
_PARTS = {"morning": "am", "afternoon": "pm", "evening": "pm", "night": "night", "tonight": "night"}
_PAST = {"half": 30, "quarter": 15}
_CUES = frozenset(_NAMED) | _HALVES.keys() | _OCLOCK | _PARTS.keys() | {"past", "to"}
_NEAR = 3
"""How many words behind the hour its part of the day may stand: seven in the morning."""


@dataclass(slots=True)
class Clock:
    """A time of day."""

    minutes: int
    """Since noon or midnight."""
    half: str
    """`am`, `pm` or nothing when that is left unsaid."""
    start: int
    end: int
    said: str
    """As a bare number: 7, 7.30."""


def clocks(row: Scan, numbers: list[Numeral]) -> list[Clock]:
    """Return the times of day."""
    if "clock" not in row.kinds and _CUES.isdisjoint(row.words):
        return []
    found = [_digital(row, at) for at, kind in enumerate(row.kinds) if kind == "clock"]
    found += [
        Clock(*_NAMED[word], start=at - (row.words[at - 1 : at] == ["12"]), end=at + 1, said="12")
        for at, word in enumerate(row.words)
        if word in _NAMED
    ]
    found += [clock for one in numbers if (clock := _hour(row, one))]
    return found


def _digital(row: Scan, at: int) -> Clock:
    hour, minute = (int(part) for part in row.words[at].split(":")[:2])
    half = "" if 0 < hour < 13 else "am" if hour == 0 else "pm"
    end = at + 1
    if not half:
        half, end = _half(row, end, hour)
    said = f"{hour}.{minute:02d}" if minute else str(hour)
    return Clock(hour % 12 * 60 + minute, half, at, end, said)


def _half(row: Scan, at: int, hour: int) -> tuple[str, int]:
    """Read what stands behind an hour: am, o'clock, in the evening."""
    words = row.words
    if at < len(words) and words[at] in _OCLOCK:
        at += 1
    if at < len(words) and words[at] in _HALVES:
        return words[at], at + 1
    for place in range(at, min(at + _NEAR, len(words))):
        part = _PARTS.get(words[place])
        if part and all(word in {"in", "the", "at", "this"} for word in words[at:place]):
            night = "pm" if 5 < hour < 12 else "am"
            return (night if part == "night" else part), place + 1
    return "", at


def _hour(row: Scan, one: Numeral) -> Clock | None:
    hour, dot, minute = one.value.partition(".")
    if len(hour) > 2 or not hour.isdigit() or int(hour) > 12 or one.ordinal or len(minute) > 2:
        return None
    value, minutes = int(hour), int(minute.ljust(2, "0")) if dot else 0
    half, end = _half(row, one.end, value)
    start, offset = _past(row, one.start)
    told = half or (end > one.end) or start < one.start
    if (
        not told
        or minutes > 59
        or (end > one.end + 1 and row.words[one.end] not in _OCLOCK | {"in", "at", "this"})
    ):
        return None
    total = (value % 12 * 60 + minutes + offset) % 720
    said = f"{value}.{minutes:02d}" if minutes else str(value)
    return Clock(
        total, half, start, end, said if start == one.start else f"{total // 60 or 12}.{total % 60:02d}"
    )


def _past(row: Scan, at: int) -> tuple[int, int]:
    """Read what stands before an hour: half past, quarter to."""
    words = row.words
    if at < 2 or words[at - 1] not in {"past", "to"} or words[at - 2] not in _PAST:
        return at, 0
    minutes = _PAST[words[at - 2]]
    start = at - 3 if at > 2 and words[at - 3] in {"a", "at"} and words[at - 2] == "quarter" else at - 2
    return start, minutes if words[at - 1] == "past" else -minutes
