"""What holds of every text: it is itself, nothing raises, no text is kept, time is linear."""

from __future__ import annotations

import hashlib
import random
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askonce_server.core.guards import (
    SCHEMA,
    GuardFeatures,
    all_hits,
    compare,
    features,
    from_bytes,
    judge,
    to_bytes,
)
from core.guard_tokens import all_ints, fired, token

PHRASES = """
    how much is the fee for 3 days don't turn it off at 7 pm in Paris from Oslo to Rome than a better £50
    unsafe non-members "red sky" P60 config.yaml 2024-03-05 1,000.50 half past six not never next week my
    child 3rd ½ 三
""".split()
MARKS = " .,!?-'\"`()/:;&+<>\n\t$€%°_@#~"
TEXTS = st.one_of(
    st.text(),
    st.text(alphabet=st.characters(codec=None)),
    st.text(alphabet=MARKS + "aA1"),
    st.lists(st.sampled_from(PHRASES), max_size=30).map(" ".join),
    st.lists(st.one_of(st.sampled_from(PHRASES), st.text(MARKS, max_size=2)), max_size=30).map("".join),
)
NASTY = {
    "letters": "a",
    "digits": "1",
    "a dashed row of digits": "1-",
    "a list of digits": "1,",
    "thousands": "1,000",
    "quotes": '"a" ',
    "open quotes": '"a\n',
    "back-ticks": "`",
    "negations": "not ",
    "prepositions": "from a to ",
    "particles": "turn ",
    "letters as names": "A ",
    "names": "Bob Ann ",
    "magnitudes": "million ",
    "halves": "half a ",
    "ideographs": "日本三",
    "emoji": "👍🏽",
    "brackets": "(",
    "questions": "how much ",
    "sums": "what is 2 x 3 - ",
    "dots": "a.",
    "ligatures": "ﬁ½",
}


@given(TEXTS)
@example("1/0 days at 0:00 on 99/99/9999 and 1.2.3 kg, " + "million " * 60)
@example("\ud800 lone")
@example("a week and a half of 1/2 ½ days")
def test_no_text_is_told_from_itself(text):
    kept = features(text, token)
    assert judge(features(text, token), kept) is None
    assert list(all_hits(kept, features(text, token))) == []


@given(TEXTS, TEXTS)
def test_nothing_raises_and_directions_agree(one, other):
    left, right = features(one, token), features(other, token)
    assert list(all_hits(left, right)) == list(all_hits(right, left))
    assert compare(one, other) == compare(other, one)


@given(TEXTS)
def test_only_tokens_are_kept(text):
    kept = features(text, token)
    assert all(type(value) in {int, bool} for value in all_ints(kept))
    assert all(0 <= value < 1 << 64 for value in all_ints(kept))
    assert (kept.schema, kept.length) == (SCHEMA, len(text))


@given(TEXTS)
def test_features_survive_as_bytes(text):
    kept = features(text, token)
    assert from_bytes(to_bytes(kept)) == kept


@given(st.lists(st.sampled_from(["red", "blue", "tiny", "copper", "sieve", "tube", "kettle"]), min_size=1))
def test_rows_are_sorted_so_that_order_is_lost(words):
    shuffled = random.Random(1).sample(words, len(words))
    kept, other = features(" ".join(words), token), features(" ".join(shuffled), token)
    assert kept.words == other.words == tuple(sorted(kept.words))
    assert kept.rough == other.rough


def test_tokens_differ_under_another_key():
    text = "Does Anna owe Ben 50 pounds in Paris, not tomorrow?"
    mine = features(text, token)
    theirs = features(text, lambda string: token("another key " + string))
    small = {value for value in all_ints(mine) if value < 1 << 16}
    assert set(all_ints(mine)) & set(all_ints(theirs)) <= small


@pytest.mark.parametrize("piece", NASTY.values(), ids=NASTY.keys())
@pytest.mark.parametrize("size", [20_000, pytest.param(100_000, marks=pytest.mark.thorough)])
def test_time_and_room_are_linear(piece, size):
    text = (piece * size)[:size]
    begin = time.process_time()
    kept = features(text, token)
    judge(kept, features(text + " never red", token))
    # under two seconds per 100,000 characters on a busy machine; quadratic time would be minutes
    assert time.process_time() - begin < 10
    assert len(to_bytes(kept)) < 1 << 17


def test_of_a_very_long_text_only_the_same_words_match():
    words = [f"{first}{second}x" for first in "bcdfghjklm" for second in "aeiou"] * 60
    text, longer = " ".join(words), " ".join([*words, "y"])
    moved = " ".join([words[1], words[0], *words[2:]])
    assert len(to_bytes(features(text, token))) < 100
    assert fired(text, text + "!") == []
    assert "lexical" in fired(text, longer)
    assert fired(text, moved) == ["order"]
    assert fired(text, "not " + text) == ["negation"]


def test_short_questions_take_little_room():
    questions = [
        "How do I cancel my subscription?",
        "What's the fee for 3 days in Paris?",
        "is it open on Sunday",
    ]
    assert max(len(to_bytes(features(text, token))) for text in questions) < 300


@pytest.mark.parametrize("cut", [0, 1, 7, 20, 59, 61, 70])
def test_bytes_that_are_cut_short_are_refused(cut):
    data = to_bytes(features("How do I cancel 3 trips to Paris?", token))
    with pytest.raises(ValueError, match="not guard features"):
        from_bytes(data[:cut])


def test_bytes_left_over_are_refused():
    with pytest.raises(ValueError, match="left over"):
        from_bytes(to_bytes(features("hi", token)) + b"\x00")


def test_bytes_of_another_schema_come_back_as_such():
    data = bytearray(to_bytes(features("hi there", token)))
    data[0] += 1
    assert from_bytes(bytes(data)) == GuardFeatures(schema=SCHEMA + 1)


def test_features_stay_comparable_with_those_that_are_stored():
    """Stored features are compared with new ones: when this digest changes, raise SCHEMA, then the digest."""
    texts = [
        "How do I cancel my subscription in the app?",
        "Doesn't the 10 GB plan cost £50 a month, from 3 May until next Friday at 7 pm?",
        "Is Python faster than Java for my child's unsafe non-members code P60?",
        "turn the lights off in New York and on in the UK, NYC",
        "long " + "red blue green copper kettle tube sieve " * 20,
        "日本で三天",
    ]
    digest = hashlib.sha256(b"".join(to_bytes(features(text, token)) for text in texts)).hexdigest()
    assert (SCHEMA, digest[:16]) == (4, "50dd2dc07aafb3e4")
