"""What is written just so: operators, flags, letters, the case of codes, quoted words, unseen characters."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

from askonce_server.core.guards.contrasts import Mention
from askonce_server.core.guards.scan import COMMA, GLUED, Scan

_MEMO = 1 << 14
_MAX_MARKS = 128
"""Marks of a text that are kept one by one; of more, one for all of them."""
_OPERATOR = re.compile(
    r"""
    (?:===|!==|==|!=|<=|>=|<<|>>|&&|\|\||\*\*|\+=|-=|\*=|/=)
    | (?<![:/])//(?!/)                               # not of an address
    | \(\?(?:<[=!]|[=!:<])                           # groups of a regular expression
    | \\[A-Za-z]                                     # escapes
    | (?<!\w)!(?=[A-Za-z(])                          # not
    | (?<=\w)(?:\+\+|--)(?=[\s;)?,.]|$)              # i++
    | (?<!\S)(?:\+\+|--?|\+)[A-Za-z][\w-]*           # flags
    | \b(?:[A-F]|AB|O|[A-Z][a-z])[+-](?![\w+-])      # blood groups, grades, ions
    | \d(?:'(?!\w)|")(?=[\s,.;?!)]|$)                # feet and inches
    | [\[(]\s*-?\d+\s*,\s*-?\d+\s*[\])]              # intervals
    | (?<=\s)[.?$^|~](?=\s)                        # a mark as a word
    | \[[^\s\]]-[^\s\]]\][+*?]?                      # classes of a regular expression
    """,
    re.VERBOSE,
)
_HAS_OPERATOR = re.compile(r"[^\w\s.,;:'’]|\s[.]\s|\d'")
_LONG_CODE = 4
"""Letters up to which the case of each is part of a code, such as a unit or a symbol."""
_CAPITONYMS = frozenset("it who us aids".split())
"""Words that are others in capitals."""
_NATIONAL = frozenset("polish turkey".split())
"""Words that are others with a capital."""
_NAMED_LETTER = frozenset("option section answer choice part question choose pick letter variable".split())
_QUOTED = re.compile("[\"“”«»„](.{1,200}?)[\"“”«»„]|(?<!\\w)['‘](.{1,200}?)['’](?!\\w)")
_SAID = re.compile(
    r"\b(?:translate|say|spell)\s+(?!(?:to|into|in|the\s+following|this)\b)(.+?)\s+(?:to|into|in)\s+[A-Za-z]",
    re.IGNORECASE,
)
_ABOUT_WORDS = re.compile(
    r"""
    \b(?:(?:grammar|translat\w+|grammatical\w*|correct|proofread|tense|conjugat\w+|punctuat\w+|rewrite|base64
        |(?:upper|lower)\s?case)\b[^:]*:\s+
      | (?:rhymes?\s+with|(?:letters|characters|vowels|consonants|syllables)(?:\s+\w+){0,3}?\s+in
        |(?:anagram|plural|singular|synonyms?|antonyms?|tense|ascii(?:\s\w+)?|unicode(?:\s\w+)?)\s+(?:of|for)
        |pronounce|spell|string)\s+)
    (?!of\b)
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""What leads to words in a text about words, where each of them counts."""
_POLITE = re.compile(
    r"^the\s+(?:word|letter|sentence|string)s?:?\s+|\s*(?:,?\s*please|for me)\W*$", re.IGNORECASE
)
_WORD = re.compile(r"[^\s?!.,;:\"“”«»„()]+")
_CASED = re.compile(
    r"\b(?:(?:upper|lower)\s?case|ascii|unicode|base64|decode|encode|capitali\w+|equal\w*)\b", re.IGNORECASE
)
_JUNCTIONS = frozenset("and or xor nand nor".split())
_TRUTHS = frozenset("true false".split())
_JOINER, _NON_JOINER, _PRESENTATION = "\u200d", "\u200c", "\ufe00-\ufe0f"
_UNSEEN = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f"
    "\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U0001d173-\U0001d17a"
    "\U000e0000-\U000e0fff]"
)


class Markings(NamedTuple):
    """What is written just so, as plain strings."""

    marks: list[str]
    """Operators, flags, escapes and letters, with repeats."""
    cases: set[Mention]
    """Words whose case tells them from another: a mention for each, the side is how it is written."""
    material: str
    """What a text about words is about, word by word; empty if it is about none."""
    unseen: str
    """Characters that nobody sees, but for those that belong to an emoji or a script."""


def markings(text: str, row: Scan) -> Markings:
    """Read what is written just so in a text and its row of words."""
    marks = (
        [found[0].replace(" ", "") for found in _OPERATOR.finditer(text)]
        if _HAS_OPERATOR.search(text)
        else []
    )
    marks += _letters(row) + _junctions(row)
    if len(marks) > _MAX_MARKS:
        marks = [" ".join(marks)]
    return Markings(marks, _cases(text, row), _material(text), unseen(text))


def unseen(text: str) -> str:
    """Return the characters of a text that nobody sees.

    A joiner between letters of a script that has them, or in an emoji, and the variation selector of an emoji
    are no such characters.
    """
    if text.isascii() and text.isprintable():
        return ""
    return "".join(found[0] for found in _UNSEEN.finditer(text) if not _belongs(text, found.start()))


def _belongs(text: str, at: int) -> bool:
    char, before, after = text[at], text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if char in "\ufe0e\ufe0f":
        return bool(before) and (unicodedata.category(before) in {"So", "Sm", "Po", "Nd"} or before in "#*↔")
    if char == _JOINER and before and after:
        return (_is_pictured(before) and _is_pictured(after)) or _is_joining(before)
    return char == _NON_JOINER and bool(before) and bool(after) and _is_joining(before)


def _is_pictured(char: str) -> bool:
    return unicodedata.category(char) in {"So", "Sk"} or char == "\ufe0f"


def _is_joining(char: str) -> bool:
    """Whether a letter is of a script whose letters join: Arabic to Sinhala, Khmer, Mongolian."""
    return "\u0600" <= char <= "\u0dff" or "\u1780" <= char <= "\u18af"


def _letters(row: Scan) -> list[str]:
    """Return the letters that say which one of several is meant, an a too: option (a), section b."""
    found = []
    for at in range(1, len(row.words)):
        if row.words[at - 1] in _NAMED_LETTER and len(row.forms[at]) == 1 and row.kinds[at] == "word":
            last = at + 1 == len(row.words) or row.gaps[at + 1] >= COMMA
            if row.words[at] != "a" or last:
                found.append(f"letter-{row.words[at].removeprefix('letter-')}")
    return found


def _junctions(row: Scan) -> list[str]:
    """Return what joins letters and truths: a and b, a or b."""
    return [
        word
        for at, word in enumerate(row.words[:-1])
        if word in _JUNCTIONS and at and _is_operand(row, at - 1) and _is_operand(row, at + 1)
    ]


def _is_operand(row: Scan, at: int) -> bool:
    return len(row.forms[at]) == 1 or row.words[at] in _TRUTHS


def _cases(text: str, row: Scan) -> set[Mention]:
    if text.islower() or text.isupper():
        return set()
    found = set()
    for at, form in enumerate(row.forms):
        side = _case(form) if row.kinds[at] == "word" else ""
        side = side or (form if _is_code(row, at) else "")
        if side and not (form.istitle() and (at == 0 or row.gaps[at] >= COMMA)):
            line = f"case:{form.lower()}"
            found.add(Mention(line, f"{line}={side}"))
    return found


def _is_code(row: Scan, at: int) -> bool:
    """Whether a word of mixed case runs on into digits."""
    form, numeric = row.forms[at], row.kinds[at + 1 : at + 2] == ["number"]
    return numeric and row.gaps[at + 1] == GLUED and form not in {form.lower(), form.upper(), form.title()}


@lru_cache(_MEMO)
def _case(form: str) -> str:
    """Say how a word is written, if that matters."""
    low = form.lower()
    if low in _CAPITONYMS:
        return form if not form.istitle() else ""
    if low in _NATIONAL:
        return form
    if form == low or not form.isascii():
        return ""
    if len(form) == 2 or low.endswith("bps"):
        return form
    if len(form) <= _LONG_CODE and not form.istitle() and low[-1] != "s":
        return form
    return ""


def _material(text: str) -> str:
    quoted = [one or other for one, other in _QUOTED.findall(text)]
    if quoted:
        words = [word for part in quoted for word in _WORD.findall(part)]
    elif said := _SAID.search(text):
        words = _WORD.findall(said[1])
    elif about := _ABOUT_WORDS.search(text):
        words = _WORD.findall(_POLITE.sub("", text[about.end() :]))
    else:
        return ""
    return " ".join(words) if _CASED.search(text) else " ".join(words).lower()
