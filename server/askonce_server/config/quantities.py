"""Sizes such as `1MiB` and times such as `15m`: how operators write them."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

UNITS_OF_SIZE = {
    "B": 1,
    "kB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 1 << 10,
    "MiB": 1 << 20,
    "GiB": 1 << 30,
    "TiB": 1 << 40,
}
UNITS_OF_TIME_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1_000, "ms": 1}
"""In the order in which a compound such as `1h30m` names them."""
LIKELY_SIZES = {"k": "KiB", "ki": "KiB", "kb": "kB", "m": "MiB", "mi": "MiB", "g": "GiB", "gi": "GiB"}
LIKELY_TIMES = {
    "sec": "s",
    "secs": "s",
    "second": "s",
    "seconds": "s",
    "min": "m",
    "mins": "m",
    "minute": "m",
    "minutes": "m",
    "hr": "h",
    "hrs": "h",
    "hour": "h",
    "hours": "h",
    "day": "d",
    "days": "d",
    "msec": "ms",
    "millis": "ms",
}
ONE_MS = timedelta(milliseconds=1)


def parse_size(value: str | int) -> int:
    """Return bytes of `1MiB`, `1.5GiB`, `2MB` or a plain count. Raises ValueError that names the mend."""
    if isinstance(value, int):
        if value < 0:
            raise ValueError("must not be negative")
        return value
    number, unit = _split(value, "1MiB or 500kB")
    if not unit:
        unit = "B"
    if unit not in UNITS_OF_SIZE:
        raise ValueError(f"has no unit of size{_mend(number, unit, UNITS_OF_SIZE, LIKELY_SIZES)}")
    return _whole(Decimal(number) * UNITS_OF_SIZE[unit], "bytes")


def format_size(size: int) -> str:
    """Write bytes in the largest unit that divides them, for example `2GiB`."""
    for unit, factor in sorted(UNITS_OF_SIZE.items(), key=lambda item: -item[1]):
        if size and size % factor == 0:
            return f"{size // factor}{unit}"
    return "0B"


def parse_time(text: str) -> timedelta:
    """Return the time of `15m`, `35ms`, `1.5s`, `1h30m` or `0`. Raises ValueError that names the mend."""
    if text == "0":
        return timedelta()
    total = Decimal()
    last = -1
    order = list(UNITS_OF_TIME_MS)
    for number, unit in _terms(text):
        if not unit:
            raise ValueError(f"needs a unit: did you mean {text}s? Units are d, h, m, s and ms")
        if unit not in order:
            raise ValueError(f"has no unit of time{_mend(number, unit, UNITS_OF_TIME_MS, LIKELY_TIMES)}")
        if order.index(unit) <= last:
            raise ValueError("must name each unit once, the largest first, as in 1h30m")
        last = order.index(unit)
        total += Decimal(number) * UNITS_OF_TIME_MS[unit]
    milliseconds = _whole(total, "milliseconds")
    if milliseconds > 3650 * UNITS_OF_TIME_MS["d"]:
        raise ValueError("must be at most 3650d")
    return timedelta(milliseconds=milliseconds)


def format_time(time: timedelta) -> str:
    """Write `time` as operators do, for example `1h30m`."""
    rest = time // ONE_MS
    parts = []
    for unit, milliseconds in UNITS_OF_TIME_MS.items():
        count, rest = divmod(rest, milliseconds)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"


def _terms(text: str) -> list[tuple[str, str]]:
    terms = []
    while text:
        number, rest = _split(text, "15m, 35ms or 1h30m")
        unit = rest[: next((at for at, char in enumerate(rest) if char.isdigit()), len(rest))]
        terms.append((number, unit.strip()))
        text = rest[len(unit) :]
    if not terms:
        raise ValueError("must be a time such as 15m, 35ms or 1h30m")
    return terms


def _split(text: str, example: str) -> tuple[str, str]:
    """Return the leading decimal number of `text` and what follows it."""
    end = next((at for at, char in enumerate(text) if char not in "0123456789."), len(text))
    number = text[:end]
    if not number or number.count(".") > 1 or number[0] == "." or number[-1] == ".":
        negative = ", not below zero" if text.startswith("-") else ""
        raise ValueError(f"must be a number with a unit, such as {example}{negative}")
    return number, text[end:].strip()


def _mend(number: str, unit: str, units: dict[str, int], likely: dict[str, str]) -> str:
    names = ", ".join(units)
    mend = likely.get(unit.lower()) or next((name for name in units if name.lower() == unit.lower()), "")
    return f": did you mean {number}{mend}?" if mend else f" {unit!r}: units are {names}"


def _whole(amount: Decimal, unit: str) -> int:
    if amount != int(amount):
        raise ValueError(f"must come to whole {unit}")
    return int(amount)
