"""Days, months, parts of the day and words like tomorrow, before, next: what a text says about when."""

from __future__ import annotations

from functools import lru_cache

from askonce_server.core.guards.contrasts import Mention
from askonce_server.core.guards.scan import COMMA, STOP, Scan
from askonce_server.core.guards.spelling import deletions

_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_MONTHS = "january february march april may june july august september october november december".split()
_SHORT_DAYS = {
    "mon": "monday",
    "tue": "tuesday",
    "tues": "tuesday",
    "weds": "wednesday",
    "thu": "thursday",
    "thur": "thursday",
    "thurs": "thursday",
    "fri": "friday",
}
_SHORT_MONTHS = {name[:3]: name for name in _MONTHS if name[:3] not in {"mar", "may"}} | {"sept": "september"}
SHORT_NAMES = _SHORT_DAYS | _SHORT_MONTHS
"""Short forms of days and months."""
_PLAIN_MONTHS = frozenset(_MONTHS) - {"march", "may"}
_BEFORE_MONTH = frozenset(
    "in on by since until till last next this of from to before after during every mid late early".split()
)

RELATIVE = {
    "today": "today",
    "tonight": "today",
    "tomorrow": "tomorrow",
    "tmrw": "tomorrow",
    "tomorow": "tomorrow",
    "tommorow": "tomorrow",
    "tommorrow": "tomorrow",
    "yesterday": "yesterday",
}
_ORDER = {
    "next": "next",
    "coming": "next",
    "upcoming": "next",
    "following": "next",
    "last": "last",
    "previous": "last",
    "past": "last",
    "this": "this",
    "current": "this",
}
_SPANS = {
    "hour": "hour",
    "day": "day",
    "week": "week",
    "fortnight": "fortnight",
    "month": "month",
    "year": "year",
}
_SPANS |= {f"{word}s": span for word, span in _SPANS.items()} | {"quarter": "quarter", "weekend": "weekend"}
_RATES = {
    "hourly": "hour",
    "daily": "day",
    "nightly": "day",
    "weekly": "week",
    "fortnightly": "fortnight",
    "biweekly": "fortnight",
    "monthly": "month",
    "quarterly": "quarter",
    "annual": "year",
    "annually": "year",
    "yearly": "year",
}
_PER = frozenset("per each every a an".split())
_PLACED = {
    "before": "before",
    "prior": "before",
    "after": "after",
    "within": "within",
    "until": "until",
    "till": "until",
    "during": "during",
}
_PARTS = {
    "morning": ("morning",),
    "mornings": ("morning",),
    "afternoon": ("afternoon",),
    "afternoons": ("afternoon",),
    "evening": ("evening",),
    "evenings": ("evening",),
    "night": ("night",),
    "nights": ("night",),
    "tonight": ("evening", "night"),
}
_SEASONS = {
    "spring": "spring",
    "springtime": "spring",
    "summer": "summer",
    "summertime": "summer",
    "autumn": "autumn",
    "fall": "autumn",
    "winter": "winter",
    "wintertime": "winter",
}
_WEEK = {
    "weekend": _DAYS[5:],
    "weekends": _DAYS[5:],
    "weekday": _DAYS[:5],
    "weekdays": _DAYS[:5],
    "midweek": _DAYS[1:4],
}
_ERRORS = {
    shorter: name for name in (*_DAYS, *_MONTHS) if len(name) > 5 for shorter in (name, *deletions(name))
}
_LONG = 5
_MEMO = 1 << 14
_TIMELY = (
    RELATIVE.keys()
    | _RATES.keys()
    | _PLACED.keys()
    | _SEASONS.keys()
    | _PARTS.keys()
    | _WEEK.keys()
    | _ORDER.keys()
    | _SPANS.keys()
    | {"since"}
)
CALENDAR = (
    frozenset(_DAYS)
    | frozenset(f"{day}s" for day in _DAYS)
    | _SHORT_DAYS.keys()
    | _PLAIN_MONTHS
    | _SHORT_MONTHS.keys()
    | RELATIVE.keys()
    | _WEEK.keys()
)
"""Words that are never names of something else."""


@lru_cache(_MEMO)
def named_day(word: str) -> str | None:
    """Return the weekday or month that a word is, maybe with one typing error, or None."""
    if word in _SHORT_DAYS:
        return _SHORT_DAYS[word]
    if word in _SHORT_MONTHS:
        return _SHORT_MONTHS[word]
    if word in _MONTHS:
        return word
    if len(word) < _LONG or not word.isascii():
        return None
    single = word.removesuffix("s")
    if single in _ERRORS:
        return _ERRORS[single]
    if len(word) > 12 or word[0] not in "mtwfsjaond":
        return None
    return next((_ERRORS[shorter] for shorter in deletions(word) if shorter in _ERRORS), None)


def is_moment(word: str, following: str) -> bool:
    """Whether two words name a time that is no other's object: next month, this Friday, last summer."""
    return word in _ORDER and (following in _SPANS or following in _SEASONS or bool(named_day(following)))


def times(row: Scan, months: set[int], *, has_duration: bool) -> set[Mention]:
    """Return what a text says about when, as sides of lines that exclude each other."""
    found = {_mention("month", _MONTHS[month - 1]) for month in months if 0 < month < 13}
    words = row.words
    for at, word in enumerate(words):
        if word in _TIMELY or named_day(word):
            _at_word(found, row, at, word)
            if word in _SPANS and not has_duration:
                _span(found, words, at)
    return found


def _mention(line: str, side: str) -> Mention:
    return Mention(f"t:{line}", f"t:{line}={side}")


def _at_word(found: set[Mention], row: Scan, at: int, word: str) -> None:
    for table, line in ((RELATIVE, "day"), (_RATES, "rate"), (_PLACED, "placed"), (_SEASONS, "season")):
        if word in table and (line != "placed" or _is_placed(row, at)):
            found.add(_mention(line, table[word]))
    if word == "since" and at + 1 < len(row.words) and _is_when(row, at + 1):
        found.add(_mention("placed", "since"))
    if word in _PARTS:
        found.update(_mention("part", part) for part in _PARTS[word])
    elif word in _WEEK:
        found.update(_mention("weekday", day) for day in _WEEK[word])
    elif word in _ORDER and at + 1 < len(row.words):
        if is_moment(word, row.words[at + 1]):
            found.add(_mention("order", _ORDER[word]))
    elif (day := named_day(word)) in _DAYS:
        found.add(_mention("weekday", str(day)))
    elif day and (day not in {"march", "may"} or _is_month(row, at)):
        found.add(_mention("month", day))


def _is_placed(row: Scan, at: int) -> bool:
    """Tell before a thing from before as such, and from how long before, which is how long until."""
    last = at + 1 == len(row.words) or row.gaps[at + 1] >= COMMA
    return not last and not (at and row.words[at - 1] in {"long", "longer", "time", "soon"})


def _is_when(row: Scan, at: int) -> bool:
    """Tell `since` of time from that of cause."""
    word = row.words[at]
    return row.kinds[at] != "word" or word in RELATIVE or word in _ORDER or bool(named_day(word))


def _is_month(row: Scan, at: int) -> bool:
    """Tell the months march and may from the verbs."""
    beside = row.kinds[max(at - 1, 0) : at] + row.kinds[at + 1 : at + 2]
    if "number" in beside:
        return True
    if row.gaps[at] == STOP or not row.forms[at][0].isupper():
        return at > 0 and row.words[at - 1] in _BEFORE_MONTH
    return True


def _span(found: set[Mention], words: list[str], at: int) -> None:
    """Note day, week, month: as a rate behind `per` and the like, else as what is counted."""
    before = words[at - 1] if at else ""
    if before in _PER:
        found.add(_mention("rate", _SPANS[words[at]]))
    elif before != "this" or words[at] != "day":
        found.add(_mention("span", _SPANS[words[at]]))
