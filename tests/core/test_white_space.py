# ruff: noqa: RUF001 - look-alike marks are the subject
"""White space in prose: what folds, what may carry meaning, and how long judging it may take."""

from __future__ import annotations

import time
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askonce_server.core.white_space import WHITE_SPACE, are_plain, fold, fold_prose

# Unicode 16, PropList.txt, White_Space
CODE_POINTS = [
    *range(0x09, 0x0E),
    0x20,
    0x85,
    0xA0,
    0x1680,
    *range(0x2000, 0x200B),
    0x2028,
    0x2029,
    0x202F,
    0x205F,
    0x3000,
]
# str.isspace() takes the first four for white space, people the others
NOT_WHITE_SPACE = ["\x1c", "\x1d", "\x1e", "\x1f", "\u180e", "\u200b", "\u200c", "\u200d", "\u2060", "\ufeff"]
BREAKS = ["\n", "\r", "\r\n", "\v", "\f", "\x85", "\u2028", "\u2029"]


def test_there_are_25_white_space_code_points():
    assert sorted(map(ord, WHITE_SPACE)) == CODE_POINTS
    assert len(CODE_POINTS) == 25


@pytest.mark.parametrize("point", CODE_POINTS, ids=hex)
def test_each_white_space_folds(point):
    space = chr(point)
    assert fold(f"a{space}b") == "a b"
    assert fold(f"a{space}{space}b") == "a b"
    assert fold(f"a {space}b") == "a b"
    assert fold(f"{space}a{space}") == "a"
    assert fold(space) == ""


@pytest.mark.parametrize("mark", NOT_WHITE_SPACE, ids=ascii)
def test_look_alikes_of_white_space_stay(mark):
    assert fold(f"{mark}a{mark}b{mark}") == f"{mark}a{mark}b{mark}"
    assert fold_prose(f"a{mark}b") == f"a{mark}b"
    assert fold(f"a{mark}  b") == f"a{mark} b"


@pytest.mark.parametrize("text", ["", "a", "a b c", "été à la plage", "日本語 テスト", "a\u200bb", "ﬀ"])
def test_text_without_white_space_to_fold_comes_back_itself(text):
    assert fold(text) is text
    assert fold_prose(text) is text


def test_letters_and_unicode_form_stay():
    composed, decomposed = "caf\u00e9", unicodedata.normalize("NFD", "caf\u00e9")
    assert fold(f" {composed} ") == composed
    assert fold(f" {decomposed} ") == decomposed
    assert fold("ＡＢＣ  ½") == "ＡＢＣ ½"


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("what  is   this", "what is this"),
        (" what is this ", "what is this"),
        ("\nwhat is this\n", "what is this"),
        ("what\nis this", "what is this"),
        ("what\r\nis this", "what is this"),
        ("what \n is this"[:6] + "is this", "what is this"),
        ("one\tmore", "one more"),
        ("no\u00a0break", "no break"),
        ("   three before", "three before"),
        ("the 2  apples", "the 2 apples"),
        ("a - b  and c", "a - b and c"),
        ("it's  fine", "it's fine"),
        ("don't  say I didn't", "don't say I didn't"),
        ('he said "one two"  and left', 'he said "one two" and left'),
        ('then  he said "one two"', 'then he said "one two"'),
        ("use `a b`  or `c d`", "use `a b` or `c d`"),
        ("a “b c”  d", "a “b c” d"),
        ("a «b c»  d «e»", "a «b c» d «e»"),
        ("a „b c“  d „e f“", "a „b c“ d „e f“"),
        ("a „b c”  d", "a „b c” d"),
        ("it’s  John’s", "it’s John’s"),
        ("a ‘b’  c ‘d’", "a ‘b’ c ‘d’"),
        ("Summarize this, please:\nthe fox jumps", "Summarize this, please: the fox jumps"),
        ("a < b  and c", "a < b and c"),
        ('the 5" and  more', 'the 5" and more'),
        ("rock 'n' roll  is old", "rock 'n' roll is old"),
        ("", ""),
        (" \u3000\n ", ""),
    ],
)
def test_prose_folds(text, folded):
    assert fold_prose(text) == folded
    assert fold(text) == folded


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("run ```x = 1``` now", id="fence on one line"),
        pytest.param("```python\nx = 1\n```", id="fence"),
        pytest.param("~~~\nx\n~~~", id="other fence"),
        pytest.param("    x = 1", id="indented first line"),
        pytest.param("\n    x = 1", id="indented first line after a blank one"),
        pytest.param("see\n    x = 1", id="indented line"),
        pytest.param("see\n x", id="line indented by one space"),
        pytest.param("see\n\u3000x", id="line indented by an ideographic space"),
        pytest.param("\tx = 1", id="tab at the start"),
        pytest.param(" \tx = 1", id="tab after a space at the start"),
        pytest.param("see\n\tx", id="tab at a line start"),
        pytest.param("-old line", id="removed line"),
        pytest.param("see\n+new line", id="added line"),
        pytest.param("@@ -1,2 +1,2 @@", id="hunk"),
        pytest.param("two\nline\nbreaks", id="two line breaks"),
        pytest.param("Remove double  spaces", id="speaks of spaces"),
        pytest.param("a\tb\tc: sum the columns", id="speaks of columns"),
        pytest.param("What does cut -d, print for a  b c", id="command"),
        pytest.param("What is the SHA-256 of a  b", id="hash"),
        pytest.param("Count the characters of a b ", id="speaks of characters, white space at an end"),
        pytest.param("Roses are red\nViolets are blue", id="verse"),
        pytest.param("two\n\nparagraphs", id="blank line"),
        pytest.param("two\r\n\r\nparagraphs", id="blank line, CRLF"),
        pytest.param("1. first", id="digit"),
        pytest.param("2 + 2  = ?", id="digit that is no list"),
        pytest.param("٣ items", id="digit of another script"),
        pytest.param("see\n1) first", id="digit on the second line"),
        pytest.param("- item", id="dash"),
        pytest.param("* item", id="star"),
        pytest.param("• item", id="bullet"),
        pytest.param("– item", id="en dash"),
        pytest.param("▪ item", id="square bullet"),
        pytest.param("see\n- item", id="list on the second line"),
        pytest.param("  - item", id="list mark behind an indent"),
        pytest.param("| a | b |", id="pipe"),
        pytest.param("see\n| a |  b |", id="table on the second line"),
        pytest.param("> quoted", id="mail quote"),
        pytest.param('"quoted"', id="quote mark"),
        pytest.param("'quoted'", id="single quote mark"),
        pytest.param("“quoted”", id="curly quote mark"),
        pytest.param("‹quoted›", id="guillemet"),
        pytest.param("「引用」", id="corner bracket"),
        pytest.param("`code`", id="back tick"),
        pytest.param('count "a  b" please', id="run in double quotes"),
        pytest.param("count 'a  b' please", id="run in single quotes"),
        pytest.param("count `a  b` please", id="run in back ticks"),
        pytest.param("count “a  b” please", id="run in curly quotes"),
        pytest.param("count ‘a  b’ please", id="run in curly single quotes"),
        pytest.param("count „a  b“ please", id="run in German quotes"),
        pytest.param("count «a  b» please", id="run in guillemets"),
        pytest.param("count ‹a  b› please", id="run in single guillemets"),
        pytest.param("数えて「a  b」ください", id="run in corner brackets"),
        pytest.param("数えて『a  b』ください", id="run in white corner brackets"),
        pytest.param("count „a  b” please", id="run in Polish quotes"),
        pytest.param("count »a  b« please", id="run in guillemets that point inwards"),
        pytest.param("count ›a  b‹ please", id="run in single guillemets that point inwards"),
        pytest.param("count ”a  b” please", id="run in Swedish quotes"),
        pytest.param("count ’a  b’ please", id="run in Swedish single quotes"),
        pytest.param("count ‚a  b‘ please", id="run in German single quotes"),
        pytest.param("count ‚a  b’ please", id="run in Polish single quotes"),
        pytest.param("count ＂a  b＂ please", id="run in full-width quotes"),
        pytest.param("数えて《a  b》ください", id="run in double angle brackets"),
        pytest.param("数えて〈a  b〉ください", id="run in angle brackets"),
        pytest.param("数えて【a  b】ください", id="run in lenticular brackets"),
        pytest.param("数えて〝a  b〟ください", id="run in double prime quotes"),
        pytest.param("count <pre>a  b</pre> please", id="run in markup"),
        pytest.param("What prints? x = 1\nprint(x)", id="code of two lines"),
        pytest.param("What prints? if (x)\ny()", id="calls on two lines"),
        pytest.param("name,age\nada,thirty", id="CSV"),
        pytest.param("host: a\nport: b", id="YAML"),
        pytest.param("one  \ntwo", id="hard line break in Markdown"),
        pytest.param("see # title\ntext", id="heading or comment"),
        pytest.param('count "a\tb" please', id="tab in quotes"),
        pytest.param('count "a\u00a0b" please', id="no-break space in quotes"),
        pytest.param('count "a\nb" please', id="line break in quotes"),
        pytest.param('count " a  b" please', id="run in quotes that begin with a space"),
        pytest.param('x "a" y "b  c" z', id="run in the second quotes"),
        pytest.param('x "a  b" y "c" z', id="run in the first quotes"),
        pytest.param('the 5" and "a  b" here', id="run in quotes behind an inch mark"),
        pytest.param("it's 'a  b' here", id="run in single quotes behind an apostrophe"),
        pytest.param('say ("a  b")', id="run in quotes in brackets"),
    ],
)
def test_white_space_that_may_carry_meaning_is_left_alone(text):
    assert fold_prose(text) is None


@pytest.mark.parametrize("line_break", BREAKS, ids=ascii)
def test_every_kind_of_line_break_counts_once(line_break):
    assert fold_prose(f"one{line_break}two") == "one two"
    assert fold_prose(f"one{line_break}two{line_break}three") is None
    assert fold_prose(f"one{line_break}- two") is None
    assert fold_prose(f"{line_break}one{line_break}two{line_break}") == "one two"


@given(st.text(st.sampled_from("ab1-\"'` \t\n\u00a0\u200b“”") | st.characters(exclude_categories=["Cs"])))
@example("a\r\nb")
def test_folding_twice_is_folding_once(text):
    once = fold(text)
    assert fold(once) == once
    assert "  " not in once
    assert once == once.strip(WHITE_SPACE)
    prose = fold_prose(text)
    assert prose is None or prose == once


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"])), min_size=1), st.data())
def test_only_white_space_changes(words, data):
    words = [word for text in words for word in fold(text).split(" ")]
    gaps = [data.draw(st.text(st.sampled_from(WHITE_SPACE), min_size=1, max_size=3)) for _ in words]
    assert fold("".join(gap + word for gap, word in zip(gaps, words, strict=True))) == fold(" ".join(words))


@given(st.lists(st.text(st.sampled_from("ab1-\"'`>~ \\\t\n\x7f\u00a0\u3000é“٣"), max_size=6), max_size=4))
@example(["```"])
@example(["~~~"])
@example(["a  b"])
@example(["a", " a"])
@example(["a ", "a"])
@example(["a\tb", "a"])
@example(["é", "\u3000a"])
@example(["", "a"])
@example(["a", "1"])
@example(["a", "٣"])
@example(["a", "“"])
def test_texts_that_look_plain_together_are_plain_one_by_one(texts):
    if are_plain(texts):
        assert [fold_prose(text) for text in texts] == texts
        assert [fold(text) for text in texts] == texts


def test_ordinary_texts_look_plain():
    assert are_plain(["what is this? it's a b", 'say "a b"\\', "été à la plage"])


@given(st.integers(0, 4), st.text(st.sampled_from("a \n\u3000"), max_size=8))
def test_a_long_text_folds_as_a_short_one_does(shift, gap):
    piece = "a" * (65_534 + shift) + gap + "b"
    assert fold(piece * 3) == fold(piece) + fold(piece) + fold(piece)


def test_a_run_across_many_pieces_is_one():
    assert fold("a" + " " * 300_000 + "b") == "a b"


def test_a_very_long_text_is_left_alone_unless_it_is_plain():
    plain = "word " * 100_000 + "end"
    assert fold_prose(plain) is plain
    assert fold_prose(plain + "  of it") is None
    assert fold_prose(plain + " ") is None


MEBI = 1 << 20


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("a" * MEBI, id="letters"),
        pytest.param(" " * MEBI, id="spaces"),
        pytest.param("x" + " " * MEBI + "x", id="one run"),
        pytest.param("x" + "  a" * (MEBI // 3), id="runs"),
        pytest.param("x" + '"  a' * (MEBI // 4), id="runs between double quotes"),
        pytest.param("x" + "'  a" * (MEBI // 4), id="runs between single quotes"),
        pytest.param("x" + "“  a" * (MEBI // 4), id="runs behind openers"),
        pytest.param('x "' + "  a" * (MEBI // 3), id="runs behind a quote"),
        pytest.param("x" + "  a" * 200 + '"' * MEBI, id="quotes behind runs"),
        pytest.param("x" + "'" * MEBI + "  a" * 200, id="single quotes before runs"),
        pytest.param("x" + "a  “”" * 200 + "“”" * (MEBI // 2), id="pairs behind runs"),
        pytest.param("x" + "a'b" * (MEBI // 3) + "  a" * 200 + "a'b" * 100, id="apostrophes"),
        pytest.param("x" + "`a b`" * (MEBI // 5) + "  x" * 256, id="back ticks"),
        pytest.param("x\n" * (MEBI // 2), id="lines"),
        pytest.param("\n" * MEBI + "x", id="empty lines before"),
        pytest.param("x" + "\u200b" * MEBI, id="unprintable"),
        pytest.param("x" + "é  ü" * (MEBI // 4), id="runs beyond ASCII"),
    ],
)
@pytest.mark.parametrize("judge", [fold, fold_prose])
def test_a_mebibyte_takes_no_time(judge, text):
    best = float("inf")
    for _ in range(3):  # the machine may be busy; the work is not
        begin = time.process_time()
        judge(text)
        best = min(best, time.process_time() - begin)
        if best < 0.1:
            break
    assert best < 0.5
