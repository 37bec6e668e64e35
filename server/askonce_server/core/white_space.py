"""White space in prose: what the normalized profile folds, and where it must not."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator, Sequence
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
_LINE_MARKS = frozenset("-–—*+•‣◦·▪▫●○■□@|>\"'“”„‘’«»‹›「」『』`")
"""List marks, diff marks, pipes and quote marks: a line that begins with one has a layout."""
_SAME_QUOTES = ('"', "`", "'", "\uff02")
_PAIRED_QUOTES = (
    *("“”", "„“", "„”", "‘’", "‚‘", "‚’", "«»", "‹›"),
    *("「」", "『』", "《》", "〈〉", "【】", "\u301d\u301e", "\u301d\u301f"),
)
_ALSO_REVERSED = (("«", "»"), ("‹", "›"))
"""German and Danish quote »so«."""
_ALSO_SAME = (("”", "“„"), ("’", "‘‚"))
"""Swedish and Finnish quote ”so”: a closing mark in a text without any of its opening ones."""
_ALL_QUOTES = frozenset((*_SAME_QUOTES, *"".join(_PAIRED_QUOTES)))
_APOSTROPHES = {
    mark: re.compile(f"(?<![^\\W_]){mark}|{mark}(?![^\\W_])")  # none between two letters
    for mark in ("'", "’")
}
_CODE = re.compile(r"[=;{}\[\]\\|#<>]|\w\(")
"""What prose around a line break has no need of, and code, tables and markup have."""
_SENTENCE_ENDS = frozenset(".!?:;\u3002\uff01\uff1f…)")
_MEMBER = re.compile(r"[\w.\-]+:(?:\s|$)")
"""How a line of YAML, or a header, begins."""
_SPEAKS_OF_LAYOUT = re.compile(
    r"\b(?:white[ -]?spaces?|spac(?:es?|ed|ing)|tabs?|tab(?:bed|ular)|blanks?|indent\w*|align\w*|columns?"
    r"|tokens?|token[iz]\w+|characters?|chars?|bytes?|words|strings?|lines?|newlines?|line[ -]?breaks?"
    r"|delimit\w*|separat\w*|csv|tsv|pad(?:ded|ding)?|trim\w*|strip\w*|split\w*|regex\w*|patterns?"
    r"|format(?:ted|ting)?|layout|poems?|verses?|haikus?|lyrics|typos?|proofread\w*|punctuat\w*"
    r"|exactly|verbatim|literally|repeat|reproduce|copy|echo|printf?|cut|awk|sed|grep|ascii|sha-?\d+|md5|hash)\b"
    r"|(?:^|\s)--?[A-Za-z]",
    re.IGNORECASE,
)
"""Words of questions about white space, or about text as it stands, in English, and options of commands."""
_INDENT = 4
_MAX_RUNS = 4096
"""A text with quotes and more runs than this is left alone: judging every run would take too long."""
_MAX_JUDGED = 256 << 10
"""A longer text, in characters, is left alone unless it has nothing to fold: no other thread runs while a
regular expression is at work."""
_PIECE = 64 << 10
"""How much of a text is folded in one go."""


def fold(text: str) -> str:
    """Turn runs of white space into one space, strip the ends. Returns `text` itself when it has neither."""
    stripped = text.strip(WHITE_SPACE)
    return stripped if _is_plain(stripped) else _fold_runs(stripped)


def _fold_runs(text: str) -> str:
    """Fold piece by piece, so that other threads have their turn; a run that crosses an edge is one run."""
    if len(text) <= _PIECE:
        return _RUN.sub(" ", text)
    pieces: list[str] = []
    for start in range(0, len(text), _PIECE):
        piece = _RUN.sub(" ", text[start : start + _PIECE])
        if pieces and piece[0] == " " and pieces[-1][-1] == " ":
            piece = piece[1:]
        if piece:
            pieces.append(piece)
    return "".join(pieces)


def are_plain(texts: Sequence[str]) -> bool:
    """Whether `fold_prose` and `fold` would return each of `texts` itself, seen in one look at them all.

    False only means that each must be looked at.
    """
    joined = f" {' '.join(texts)} "  # a space at an end of some text, and an empty text, make two
    if not _is_plain(joined) or "`" in joined or "~" in joined:  # a fence of three takes longer to find
        return False
    for text in texts:  # noqa: SIM110 - a generator would take twice as long
        if _has_line_mark(text):
            return False
    return True


def fold_prose(text: str) -> str | None:
    """Fold a text, or return None where white space may carry meaning, so that it must not be folded.

    That is fenced or indented code, tabs at a line start, diffs, tables and lists, a quoted or back-ticked
    span that contains a run, markup, more than one line break, one between lines that are no prose, and any
    run in a text that speaks of spaces, characters, lines or commands.
    Errs on the side of meaning: that costs a hit, the other side would cost a wrong one.
    """
    stripped = text.strip(WHITE_SPACE)
    if not stripped:
        return stripped
    if "```" in stripped or "~~~" in stripped or _has_line_mark(stripped):
        return None
    if len(text) > _MAX_JUDGED:
        return text if stripped is text and _is_plain(text) else None
    if stripped is not text:
        indent = text[: text.index(stripped[0])]
        if indent and _is_indent(_BREAK.split(indent)[-1]):
            return None
    if stripped is text and _is_plain(stripped):
        return stripped
    if _SPEAKS_OF_LAYOUT.search(stripped):
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
    if "</" in text or (len(lines) == 2 and _is_no_prose(*lines)):
        return True
    return any(mark in text for mark in _ALL_QUOTES) and _has_quoted_run(text)


def _is_no_prose(first: str, second: str) -> bool:
    """Whether the break between two lines is one of code, CSV, YAML, headers or Markdown."""
    return (
        first.endswith("  ")  # a hard break in Markdown
        or _CODE.search(first) is not None
        or _CODE.search(second) is not None
        or _MEMBER.match(second) is not None
        or 0 < first.count(",") == second.count(",")
        or _is_verse(first, second)
    )


def _is_verse(first: str, second: str) -> bool:
    """Whether a line begins like a sentence although the one before did not end one, as in a poem."""
    return second[0].isupper() and first.rstrip(WHITE_SPACE)[-1:] not in _SENTENCE_ENDS


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


def _has_quoted_run(text: str) -> bool:
    """Whether a run may stand inside a quoted span. Finds the marks once, not once for every run."""
    runs = [run.start() for run in islice(_RUN.finditer(text), _MAX_RUNS + 1)]
    if len(runs) > _MAX_RUNS:
        return True
    return any(
        _has_run_in_pair(runs, _places(text, pair[0]), _places(text, pair[1])) for pair in _pairs(text)
    ) or any(_has_run_in_same(text, runs, _places(text, mark)) for mark in _same(text))


def _pairs(text: str) -> Iterator[str]:
    yield from _PAIRED_QUOTES
    for left, right in _ALSO_REVERSED:
        if -1 < text.find(right) < text.find(left):
            yield right + left


def _same(text: str) -> Iterator[str]:
    yield from _SAME_QUOTES
    for mark, openers in _ALSO_SAME:
        if not any(opener in text for opener in openers):
            yield mark


def _places(text: str, mark: str) -> list[int]:
    if mark not in text:
        return []
    pattern = _APOSTROPHES.get(mark) or re.compile(re.escape(mark))
    return [found.start() for found in pattern.finditer(text)]


def _has_run_in_pair(runs: list[int], openers: list[int], closers: list[int]) -> bool:
    """Judge marks that open and close differently: the last one before opens, and one behind closes."""
    if not openers or not closers:
        return False
    for run in runs:
        opened, closed = bisect(openers, run), bisect(closers, run)
        open_last = opened > 0 and (closed == 0 or openers[opened - 1] > closers[closed - 1])
        if open_last and closed < len(closers):
            return True
    return False


def _has_run_in_same(text: str, runs: list[int], marks: list[int]) -> bool:
    """Judge marks that open and close alike: by number, and by the looks of the nearest ones."""
    for run in runs:
        before = bisect(marks, run)
        if before == 0 or before == len(marks):
            continue
        if before % 2 or _looks_opening(text, marks[before - 1]) or not _looks_opening(text, marks[before]):
            return True
    return False


def _looks_opening(text: str, at: int) -> bool:
    previous, following = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    return (not previous or previous in WHITE_SPACE or previous in "([{<=:,") and (
        bool(following) and following not in WHITE_SPACE
    )
