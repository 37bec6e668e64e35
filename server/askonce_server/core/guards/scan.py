"""Text as a row of words and numbers, with what stood between them."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from functools import lru_cache

from askonce_server.core.guards.spelling import plain

GLUED, JOINED, HYPHEN, SPACE, COMMA, STOP = range(6)
"""What stands before a word: nothing, a joining mark, a hyphen, white space, a weak mark, a strong mark."""

# Letters are all that is no space, digit or mark, so that words of every script, and emoji, are words.
_LETTER = (
    "A-Za-z\u00aa\u00b5\u00ba\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u0e00\u0f00-\u0fff\u10a0-\u177f"
    "\u1800-\u1fff\u20d0-\u2fff\u3004-\u3007\u3021-\u303c\u3100-\u31ef\u3200-\u33ff\ua000-\uabff"
    "\ud7a4-\uf8ff\ufb00-\ufdff\ufe20-\ufe4f\ufe70-\ufefe\U00010000-\U0001ffff"
)
# Scripts written without spaces: each character is a word.
_SINGLE = (
    "\u0e01-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
_GROUP = r"[,\x20'](?=\d{3}(?!\d))\d{3}"
_TOKEN = re.compile(
    rf"""
      (?P<dotted>[A-Za-z](?:\.[A-Za-z])+(?![A-Za-z])\.?|[A-Za-z](?:\+\+|\#))
    | (?P<word>[{_LETTER}]+(?:'[{_LETTER}]+)*)
    | (?P<date>\d{{4}}-\d{{1,2}}-\d{{1,2}}(?![\d-])
        | \d{{1,2}}/\d{{1,2}}/(?:\d{{4}}|\d\d)(?![\d/])
        | \d{{1,2}}(?P<sep>[.-])\d{{1,2}}(?P=sep)\d{{4}}(?![\d.-]))
    | (?P<clock>\d{{1,2}}:\d\d(?::\d\d)?(?!\d))
    | (?P<fraction>\d{{1,3}}/\d{{1,3}}(?![\d/]))
    | (?P<number>
          \d{{1,3}}(?:{_GROUP})+(?:\.\d+)?
        | \d{{1,2}}(?:,\d\d)+,\d{{3}}(?!\d)(?:\.\d+)?
        | \d{{1,3}}(?:\.\d{{3}})+,\d+
        | \d+(?:\.\d+)+ | \d+,\d{{1,2}}(?![\d,]) | \d+)
    | (?P<single>[{_SINGLE}])
    | (?P<mark>\S)
    """,
    re.VERBOSE,
)
_SIGNS = frozenset("$£€¥₹₽₩₪₺₫₴₦฿%°")
_SPOKEN = {"+": "plus", "*": "times", "×": "times", "÷": "divided", "&": "and", "−": "minus"}
_COMPARED = {"<": "less", ">": "more"}
_SUMS = frozenset("what calculate compute solve evaluate equals".split())
_SUM_WORDS = 8
_SUM_END = re.compile(r"\s*\d+(?:\.\d+)?\s*(?:[?!=+*/)]|\.?\s*$)")
"""A number behind which a sum ends or goes on: 2-3? is a sum, pages 2-3 of the book are none."""
_WEAK = frozenset(',()[]{}<>/|"`~')
_JOINING = frozenset("_.@'’:\\#")
_SCALES = frozenset({"degree", "degrees", "deg", "°"})
_LETTERS = frozenset("bcdefgh")
"""Lower-case letters that stand alone as letters; others are short for words: u, r, n."""
_ENDINGS = frozenset("s re ll ve d m".split())
_CONTRACTED = {
    **{f"{word}s": word for word in "what where who how when that there".split()},
    **dict.fromkeys(("im", "ive"), "i"),
    "youre": "you",
    "theyre": "they",
    "theyve": "they",
    "weve": "we",
    "youve": "you",
}
"""Contractions without their apostrophe."""
_MEMO = 1 << 14
_QUOTES = re.compile(r"""(["`])([^"`\n]{1,200}?)\1|(?<![\w'])'([^'\n]{1,200}?)'(?![\w'])""")


@dataclass(slots=True)
class Scan:
    """A text's words in order, as parallel rows."""

    words: list[str] = field(default_factory=list)
    """Lower case; a number as written, without its thousands separators."""
    forms: list[str] = field(default_factory=list)
    """As written."""
    kinds: list[str] = field(default_factory=list)
    """`word`, `single`, `number`, `date`, `clock`, `fraction` or `sign` (of a currency, of percent)."""
    gaps: list[int] = field(default_factory=list)
    """What stands before each word."""
    quoted: set[int] = field(default_factory=set)
    """Which words stand between quote marks."""

    def add(self, word: str, form: str, kind: str, gap: int) -> None:
        """Append one word."""
        self.words.append(word)
        self.forms.append(form)
        self.kinds.append(kind)
        self.gaps.append(gap)


def scan(text: str) -> Scan:
    """Read `text` in one pass."""
    text = plain(text)
    row = Scan()
    spans = deque(found.span() for found in _QUOTES.finditer(text)) if _may_quote(text) else deque()
    gap, end, signed = STOP, 0, False
    for found in _TOKEN.finditer(text):
        start = found.start()
        kind, form = found.lastgroup or "mark", found[0]
        if start > end:
            if start == end + 1 and text[end] == " ":
                gap = max(gap, SPACE)
            else:
                gap = max(gap, STOP if "\n" in text[end:start] else SPACE)
        end = found.end()
        if kind == "mark" and form not in _SIGNS:
            gap, signed = _mark(row, form, gap, text, end)
            continue
        if kind == "word" and len(form) > 1:  # by far the most
            row.add(_bare(form), form, kind, gap)
        else:
            _append(row, form, kind, gap, signed=signed)
        while spans and spans[0][1] <= start:
            spans.popleft()
        if spans and spans[0][0] <= start:
            row.quoted.add(len(row.words) - 1)
        gap, signed = GLUED, False
    _spell_letters(row)
    return row


def _append(row: Scan, form: str, kind: str, gap: int, *, signed: bool) -> None:
    if kind == "word":
        lone = len(form) == 1 and gap >= SPACE and _is_letter(row, form)
        row.add(f"letter-{form.lower()}" if lone else _bare(form), form, kind, gap)
    elif kind == "number":
        row.add(("-" if signed else "") + _number(form), form, kind, gap)
    elif kind == "dotted":
        row.add(form.replace(".", "").lower(), form.replace(".", ""), "word", gap)
    elif kind == "mark":
        row.add(form, form, "sign", gap)
    else:
        row.add(form, form, kind, gap)


def _is_letter(row: Scan, form: str) -> bool:
    """Whether a lone letter is one: vitamin C, but not a, I or the c of 20 c."""
    after_number = bool(row.kinds) and (row.kinds[-1] == "number" or row.words[-1] in _SCALES)
    return (form in _LETTERS or (form not in {"A", "I"} and "A" <= form <= "Z")) and not after_number


@lru_cache(_MEMO)
def _bare(form: str) -> str:
    """Return a word in lower case without what an apostrophe adds, except -n't."""
    if form == "US":
        return "usa"
    word = form.lower()
    if "'" in word:
        base, _, ending = word.rpartition("'")
        return base if ending in _ENDINGS else word
    return _CONTRACTED.get(word, word)


def _spell_letters(row: Scan) -> None:
    """Tell the letter A from the article where other letters stand as names, and the x of 2 x 3."""
    letters = any(word.startswith("letter-") for word in row.words)
    for at, form in enumerate(row.forms):
        if (form == "A" and (letters or _is_letter_a(row, at))) or (
            form == "a" and letters and _ends(row, at)
        ):
            row.words[at] = "letter-a"
        elif (
            row.words[at] == "x"
            and row.kinds[at - 1] == "number"
            and row.kinds[at + 1 : at + 2] == ["number"]
        ):
            row.words[at] = "times"


def _ends(row: Scan, at: int) -> bool:
    """Whether a mark follows, as it never does an article."""
    return at + 1 == len(row.gaps) or row.gaps[at + 1] >= COMMA


def _is_letter_a(row: Scan, at: int) -> bool:
    """Whether an A that begins no sentence stands in no title either: hepatitis A, plan A."""
    beside = [*row.forms[max(at - 1, 0) : at], *row.forms[at + 1 : at + 2]]
    return row.gaps[at] == SPACE and any(form.islower() for form in beside)


def _mark(row: Scan, mark: str, gap: int, text: str, end: int) -> tuple[int, bool]:
    """Say what a mark does to the gap before the next word, and whether it is that number's minus sign."""
    following = text[end : end + 1]
    tight = bool(following) and not following.isspace()
    spoken = _SPOKEN.get(mark) or (_COMPARED.get(mark) if gap != GLUED else None)
    if spoken:
        row.add(spoken, mark, "word", gap)
        return GLUED, False
    if mark == "-":
        return _dash(row, gap, text, end, tight=tight)
    if mark in _WEAK:
        return max(gap, COMMA), False
    if mark in _JOINING and gap == GLUED and tight and row.words:
        return JOINED, False
    return (gap, False) if mark in _JOINING and mark not in ".:" else (STOP, False)


def _dash(row: Scan, gap: int, text: str, end: int, *, tight: bool) -> tuple[int, bool]:
    """Tell a hyphen, a dash, a minus between numbers and the sign of one."""
    after_number = bool(row.kinds) and row.kinds[-1] == "number"
    sum_ends = after_number and _SUM_END.match(text, end) and not _SUMS.isdisjoint(row.words[-_SUM_WORDS:])
    if sum_ends or (after_number and not tight):
        row.add("minus", "-", "word", gap)
        return GLUED, False
    if gap == GLUED and tight:
        return HYPHEN, False
    minus = tight and text[end].isdigit() and not after_number
    return (gap if minus else max(gap, COMMA)), minus


def _number(form: str) -> str:
    """Write a number with a decimal point and without thousands separators."""
    if form.isdigit():
        return form
    if "," in form and "." in form and form.rindex(",") > form.rindex("."):
        return form.replace(".", "").replace(",", ".")
    head, comma, tail = form.rpartition(",")
    if comma and len(tail) < 3:
        return f"{head.replace(',', '')}.{tail}"
    return form.replace(",", "").replace(" ", "").replace("'", "")


def _may_quote(text: str) -> bool:
    return '"' in text or "`" in text or " '" in text or text.startswith("'")
