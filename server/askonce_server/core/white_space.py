"""White space in prose: what the normalized profile folds, and where it must not."""

from __future__ import annotations

import re
from itertools import islice

WHITE_SPACE = (
    "\u0009\u000a\u000b\u000c\u000d\u0020\u0085\u00a0\u1680"
    "\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
"""The 25 code points of the Unicode property White_Space (PropList.txt). `str.isspace` knows others."""

_OTHERS = WHITE_SPACE.replace(" ", "")
_RUN = re.compile(f"[{WHITE_SPACE}]{{2,}}|[{_OTHERS}]")
_BREAK = re.compile("\r\n|[\n\r\u000b\u000c\u0085\u2028\u2029]")
_LINE_MARKS = frozenset("-*+•‣◦·@|>\"'“”„‘’«»`")
"""List marks, diff marks, pipes and quote marks: a line that begins with one has a layout."""
_SAME_QUOTES = "\"`'"
_PAIRED_QUOTES = ("“”", "„“", "‘’", "«»", "‹›")
_MARKED_STRING = re.compile(rb'":"[-*+@|>\'`0-9]')
"""A member that is a string and begins with a line mark; those that are not ASCII never get this far."""
_ALL_QUOTES = frozenset(_SAME_QUOTES + "".join(_PAIRED_QUOTES))
_INDENT = 4
_MAX_RUNS = 256
"""A text with quotes and more runs than this is left alone: judging each run would take quadratic time."""


def fold(text: str) -> str:
    """Turn runs of white space into one space, strip the ends. Returns `text` itself when it has neither."""
    stripped = text.strip(WHITE_SPACE)
    return stripped if _is_plain(stripped) else _RUN.sub(" ", stripped)


def is_plain_material(material: bytes) -> bool:
    """Whether no text in canonical JSON has anything to fold, or a layout, seen without looking at each.

    Canonical JSON has no white space between tokens, and without a backslash no quote inside a string: a
    space beside a quote is then the end of some text. False only means that the texts must be looked at.
    """
    return (
        material.isascii()
        and b"\\" not in material
        and b"  " not in material
        and b'" ' not in material
        and b' "' not in material
        and b"```" not in material
        and b"~~~" not in material
        and _MARKED_STRING.search(material) is None
    )


def fold_prose(text: str) -> str | None:
    """Fold a text, or return None where white space may carry meaning, so that it must not be folded.

    That is fenced or indented code, tabs at a line start, diffs, tables and lists, a quoted or back-ticked
    span that contains a run, and more than one line break. Errs on the side of meaning: that costs a hit,
    the other side would cost a wrong one.
    """
    stripped = text.strip(WHITE_SPACE)
    if not stripped:
        return stripped
    if "```" in stripped or "~~~" in stripped or _has_line_mark(stripped):
        return None
    if stripped is not text:
        indent = text[: text.index(stripped[0])]
        if indent and _is_indent(_BREAK.split(indent)[-1]):
            return None
    if _is_plain(stripped):
        return stripped
    return None if _has_layout(stripped) else _RUN.sub(" ", stripped)


def _has_layout(text: str) -> bool:
    """Judge the lines and the quoted spans of a text that is stripped and has a run in it."""
    lines = _BREAK.split(text)
    if len(lines) > 2:
        return True
    if any(line[:1] in WHITE_SPACE or _has_line_mark(line) for line in lines[1:]):
        return True
    if not any(mark in text for mark in _ALL_QUOTES):
        return False
    runs = list(islice(_RUN.finditer(text), _MAX_RUNS + 1))
    return len(runs) > _MAX_RUNS or any(_in_quotes(text, run.start(), run.end()) for run in runs)


def _is_indent(white_space: str) -> bool:
    return "\t" in white_space or len(white_space) >= _INDENT


def _is_plain(stripped: str) -> bool:
    """Whether every white space in a stripped text is a single space, at the speed of a memory scan."""
    if "  " in stripped:
        return False
    if stripped.isascii():
        # written out: a generator would take three times as long
        return not (
            "\n" in stripped or "\t" in stripped or "\r" in stripped or "\v" in stripped or "\f" in stripped
        )
    return stripped.isprintable()  # false for each of the 24 other code points, and for some more


def _has_line_mark(line: str) -> bool:
    return line[0] in _LINE_MARKS or line[0].isdigit()


def _in_quotes(text: str, start: int, end: int) -> bool:
    """Whether the run at `start` to `end` may stand inside a quoted span."""
    before, after = text[:start], text[end:]
    for pair in _PAIRED_QUOTES:
        if before.rfind(pair[0]) > before.rfind(pair[1]) and pair[1] in after:
            return True
    return any(_in_same_quotes(before, after, mark) for mark in _SAME_QUOTES)


def _in_same_quotes(before: str, after: str, mark: str) -> bool:
    """Judge marks that open and close alike: by number, and by the looks of the nearest ones."""
    opened, closes = _quotes(before, mark), _quotes(after, mark)
    if not opened or not closes:
        return False
    if len(opened) % 2:
        return True
    return _looks_opening(before, opened[-1]) or not _looks_opening(after, closes[0])


def _quotes(text: str, mark: str) -> list[int]:
    """Find the marks; an apostrophe between two letters is none."""
    found = [match.start() for match in re.finditer(re.escape(mark), text)]
    if mark != "'":
        return found
    return [at for at in found if not (text[at - 1 : at].isalnum() and text[at + 1 : at + 2].isalnum())]


def _looks_opening(text: str, at: int) -> bool:
    previous, following = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    return (not previous or previous in WHITE_SPACE or previous in "([{<=:,") and (
        bool(following) and following not in WHITE_SPACE
    )
