"""What the guards see in a text: numbers in one spelling, stems, names, what is negated."""

from __future__ import annotations

import pytest

from askonce_server.core.guards.calendar import named_day
from askonce_server.core.guards.lexicon import alternatives, lines
from askonce_server.core.guards.lexicon.actions import ACTIONS
from askonce_server.core.guards.lexicon.qualities import QUALITIES
from askonce_server.core.guards.quantities import quantities
from askonce_server.core.guards.reading import read
from askonce_server.core.guards.scan import scan
from askonce_server.core.guards.spelling import deletions, rough, stem


def said(text):
    """The exact forms of a text's numbers, vague ones in brackets."""
    found = quantities(scan(text))
    return [one.exact for one in found.hard] + [f"({one.exact})" for one in found.vague]


DAY = 86_400


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["14 days", "two weeks", "14-day", "14d"], [f"time:{14 * DAY}"]),
        (
            [
                "90 minutes",
                "1 hour 30 minutes",
                "1h30m",
                "one and a half hours",
                "an hour and a half",
                "1.5 hrs",
            ],
            ["time:5400"],
        ),
        (["2½ hours", "two and a half hours", "150 min"], ["time:9000"]),
        (["3 years", "3-year-old", "three years old", "36 months"], [f"time:{3 * 365 * DAY}"]),
        (["a week", "one week", "1 week"], [f"(time:{7 * DAY})"]),
        (["half an hour", "30 minutes"], ["time:1800"]),
        (["7am", "7 a.m.", "7 in the morning", "07:00 am", "seven this morning"], ["clock:420am"]),
        (["19:30", "7:30pm", "half past 7 in the evening", "7.30 pm"], ["clock:450pm"]),
        (["quarter to nine", "8:45"], ["clock:525"]),
        (["noon", "12pm", "12:00 pm", "12 noon"], ["clock:0pm"]),
        (["£50", "50 quid", "GBP 50", "£50.00"], ["gbp:50"]),
        (["$1,000.50", "1000.5 dollars"], ["dollar:1000.5"]),
        (["£2m", "£2 million", "£2,000,000"], ["gbp:2000000"]),
        (["10GB", "10 gigabytes", "10 gigs", "ten gb"], ["gb:10"]),
        (["15%", "fifteen percent", "15 per cent"], ["percent:15"]),
        (["-5°C", "minus 5 celsius", "-5 degrees C"], ["celsius:-5"]),
        (["1,500", "1500", "1.5k", "fifteen hundred", "1 500", "1'500"], ["n:1500"]),
        (["1,00,000", "100000", "a hundred thousand", "1 lakh", "100k"], ["n:100000"]),
        (["two hundred and fifty", "250", "٢٥٠", "२५०"], ["n:250"]),
        (["twenty-one", "21", "twenty one", "21st", "twenty-first"], ["n:21"]),
        (["a dozen", "12", "twelve"], ["n:12"]),
        (["half a million", "500,000"], ["n:500000"]),
        (["third floor", "3rd floor"], ["n:3"]),
        (["twice", "two times", "2"], ["n:2"]),
        (["1/2 cup of milk", "½ cup of milk"], ["cup:0.5"]),
        (["3,5 kg", "3.5 kilos"], ["kg:3.5"]),
        (["2-3 weeks", "2 to 3 weeks", "two or three weeks"], [f"time:{14 * DAY}", f"time:{21 * DAY}"]),
        (["5 March 2024", "2024-03-05", "March 5, 2024"], ["n:5", "n:2024"]),
        (["二十三", "23"], ["n:23"]),
        (["v1.2.3"], ["n:1.2.3"]),
        (["0044 20"], ["n:0044", "n:20"]),
        (["COVID-19", "third-party", "on the one hand", "second-hand", "24/0"[:0]], []),
    ],
)
def test_a_number_has_one_spelling(texts, numbers):
    for text in texts:
        exact = [one for one in said(text) if numbers or one != "(n:1)"]
        assert sorted(exact) == sorted(numbers), text


@pytest.mark.parametrize(
    "words",
    [
        "cancel cancels cancelled canceled cancelling",
        "ban bans banned banning",
        "refund refunds refunded refunding",
        "category categories",
        "colour color colours",
        "organise organize organised organizing",
        "buy buys buying bought",
        "child children",
        "centre center centres",
        "happy happily",
    ],
)
def test_inflections_share_a_stem(words):
    stems = {stem(word).removesuffix("i").removesuffix("y") for word in words.split()}
    assert len(stems) == 1


@pytest.mark.parametrize(
    "words", ["news new", "gas ga", "analysis analyse", "united unit untied", "sing sed sang"]
)
def test_other_words_do_not(words):
    assert len({stem(word) for word in words.split()}) > 1


@pytest.mark.parametrize(
    ("wrong", "right"), [("vegitarian", "vegetarian"), ("conection", "connection"), ("seperate", "separate")]
)
def test_misspelt_words_are_roughly_the_same(wrong, right):
    assert rough(wrong) == rough(right)
    assert rough("mario") != rough("maria")


def test_one_letter_left_out():
    assert deletions("abca") == ["bca", "aca", "aba", "abc"]
    assert set(deletions("mondys")) & set(deletions("monday")) == {"mondy"}


@pytest.mark.parametrize(
    ("word", "day"),
    [
        ("mondys", "monday"),
        ("tues", "tuesday"),
        ("feb", "february"),
        ("wendesday", "wednesday"),
        ("sunny", None),
        ("marble", None),
    ],
)
def test_days_and_months_survive_an_error(word, day):
    assert named_day(word) == day


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Do you ship to Norway and Denmark?", ["norway", "denmark"]),
        ("Salesforce is slow", []),
        ("my iPhone and PayPal", ["iphon", "paypal"]),
        ("DO YOU SHIP TO NORWAY", []),
        ("How To Boil An Egg", []),
        ("fill in form P60", ["letter-p"]),
        ("translate 'red sky' now", ["red", "sky"]),
        ("open src/main.py", ["main", "py"]),
        ("it's I who said so, on Monday in May", []),
        ("vitamin C, plan A", ["letter-c", "letter-a"]),
    ],
)
def test_names_are_found(text, words):
    assert list(read(text).names.keys) == words


@pytest.mark.parametrize(
    ("text", "count", "denied"),
    [
        ("it does not work", 1, {"w:work"}),
        ("I can't get a refund", 1, {"w:get", "w:refund"}),
        ("pay without a card", 1, {"w:card"}),
        ("never not pay", 2, {"w:pay"}),
        ("not only cards", 0, set()),
        ("I don't know how to pay", 0, set()),
        ("whether or not to pay", 0, set()),
        ("it doesn't seem to work", 1, {"w:work"}),
    ],
)
def test_negations_say_what_they_negate(text, count, denied):
    kept = read(text)
    assert kept.negations == count
    assert {key for key in kept.denied if isinstance(key, str)} == denied


def test_word_lists_are_well_formed():
    pairs = lines(ACTIONS, QUALITIES)
    assert len(pairs) >= 300
    for line in [*pairs, *lines(*alternatives.KINDS, alternatives.UNITS)]:
        rest = line.partition(": ")[2] or line
        sides = [side.split() for side in rest.split("|")]
        assert len(sides) > 1, line
        assert all(sides), line
        words = [word for side in sides for word in side]
        assert len(words) == len(set(words)), line
        assert line == line.lower(), line


def test_no_opposite_is_its_own_opposite():
    for line in lines(ACTIONS, QUALITIES):
        sides = [{stem(word.removesuffix("+")) for word in side.split()} for side in line.split("|")]
        assert not set.intersection(*sides), line
