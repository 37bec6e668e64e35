"""Each guard on examples: what it must tell apart, and what it must leave alone."""

from __future__ import annotations

import pytest

from askonce_server.core.guards import ALL_OFF, NAMES, GuardHit, GuardSettings, compare, features, judge
from askonce_server.core.reasons import DenyReason
from core.guard_tokens import fired, only, token

NUMBER, NEGATION = DenyReason.GUARD_NUMBER, DenyReason.GUARD_NEGATION
ENTITY, ORDER, LEXICAL = DenyReason.GUARD_ENTITY, DenyReason.GUARD_ORDER, DenyReason.GUARD_LEXICAL

TOLD_APART = [
    ("number", NUMBER, "2+3?", "2+8?"),
    ("number", NUMBER, "refund 100", "refund 1000"),
    ("number", NUMBER, "Remind me at 7am", "Remind me at 7pm"),
    ("number", NUMBER, "Can I return it after 14 days?", "Can I return it after 40 days?"),
    ("number", NUMBER, "Is a 10 GB plan enough?", "Is a 100 GB plan enough?"),
    ("number", NUMBER, "Is 10 GB enough?", "Is 10 TB enough?"),
    ("number", NUMBER, "Send $50 home", "Send €50 home"),
    ("number", NUMBER, "Is version 3.10 out?", "Is version 3.1 out?"),
    ("number", NUMBER, "Who won in 2014?", "Who won in 2018?"),
    ("number", NUMBER, "Where is my order?", "Where is my order 48213?"),
    ("number", NUMBER, "¿Cuánto cuestan ٣ kilos?", "¿Cuánto cuestan ٤ kilos?"),
    ("number", NUMBER, "2 adults and 3 children", "3 adults and 2 children"),
    ("number", NUMBER, "after 1 year", "after 5 years"),
    ("number", NUMBER, "三天 日本", "五天 日本"),
    ("date", NUMBER, "Are you open on Saturday?", "Are you open on Sunday?"),
    ("date", NUMBER, "our sales in March", "our sales in May"),
    ("date", NUMBER, "the weather today", "the weather tomorrow"),
    ("date", NUMBER, "can I cancel before the trial", "can I cancel after the trial"),
    ("date", NUMBER, "is there a bus next week", "is there a bus last week"),
    ("date", NUMBER, "what does it cost per month", "what does it cost per year"),
    ("date", NUMBER, "how many days have I left", "how many weeks have I left"),
    ("date", NUMBER, "the morning bus", "the evening bus"),
    ("date", NUMBER, "are you open on weekdays", "are you open at the weekend"),
    ("unit", NUMBER, "Convert it to euros", "Convert it to yen"),
    ("unit", NUMBER, "how far in miles", "how far in kilometres"),
    ("negation", NEGATION, "I can log in", "I can not log in"),
    ("negation", NEGATION, "Cancel my subscription", "Don't cancel my subscription"),
    ("negation", NEGATION, "Which plans include calls?", "Which plans dont include calls?"),
    ("negation", NEGATION, "a summary with lists", "a summary without lists"),
    ("negation", NEGATION, "can you", "can you not"),
    ("negation", NEGATION, "Ist es erlaubt zu rauchen", "Ist es nicht erlaubt zu rauchen"),
    ("prefix", NEGATION, "Is it safe to swim?", "Is it unsafe to swim?"),
    ("prefix", NEGATION, "Is the deposit refundable?", "Is the deposit non-refundable?"),
    ("prefix", NEGATION, "the price for members", "the price for non members"),
    ("prefix", NEGATION, "It is possible now", "It is impossible now"),
    ("prefix", NEGATION, "was he careful", "was he careless"),
    ("prefix", NEGATION, "cakes with nuts", "nut-free cakes"),
    ("polarity", NEGATION, "turn on dark mode", "turn off dark mode"),
    ("polarity", NEGATION, "switch the alarm off for a day", "switch the alarm on for a day"),
    ("polarity", NEGATION, "enable 2FA", "disable two-factor authentication"),
    ("polarity", NEGATION, "increasing the font size", "I decreased the font size"),
    ("polarity", NEGATION, "the cheapest hotel", "the most expensive hotel"),
    ("polarity", NEGATION, "Is the gas on at the meter?", "Is the gas off at the meter?"),
    ("polarity", NEGATION, "Is overpaying allowed?", "Is underpaying allowed?"),
    ("polarity", NEGATION, "full-time staff", "part time staff"),
    ("polarity", NEGATION, "Is x > 5", "Is x < 5"),
    ("entity", ENTITY, "Export from Salesforce", "Export from HubSpot"),
    ("entity", ENTITY, "How do I fill in form P60?", "How do I fill in form Q60?"),
    ("entity", ENTITY, "run get_user()", "run del_user()"),
    ("entity", ENTITY, "open config.yaml", "open secrets.yaml"),
    ("entity", ENTITY, 'translate "red sky"', 'translate "red sea"'),
    ("entity", ENTITY, "how much vitamin C", "how much vitamin D"),
    ("alternative", ENTITY, "sort a list in python", "sort a list in java"),
    ("alternative", ENTITY, "a visa for France", "a visa for the Italian border"),
    ("alternative", ENTITY, "can my cat eat this", "can my dog eat this"),
    ("person", ENTITY, "Can I get the jab for free?", "Can my child get the jab for free?"),
    ("order", ORDER, "A sues B", "B sues A"),
    ("order", ORDER, "Does Anna owe Ben money?", "Does Ben owe Anna money?"),
    ("order", ORDER, "flights from Oslo to Rome", "flights from Rome to Oslo"),
    ("order", ORDER, "I fly from Oslo today", "How do I get to Oslo by plane?"),
    ("order", ORDER, "Is Python faster than Java?", "Is Java faster than Python?"),
    ("order", ORDER, "give Bob Ann's number", "give Ann Bob's number"),
    ("order", ORDER, "Acme sued Beta", "Acme was sued by Beta"),
    ("question", LEXICAL, "When is the bin collected?", "Why is the bin collected?"),
    ("question", LEXICAL, "how much is the bus", "where is the bus"),
    ("lexical", LEXICAL, "bake sourdough bread", "transfer funds abroad quickly to grandpa"),
    ("lexical", LEXICAL, "👍", "👎"),
    ("swap", LEXICAL, "How do I descale a tube?", "How do I descale a sieve?"),
    ("detail", LEXICAL, "what does x == y do", "what does x = y do"),
    ("detail", LEXICAL, "what does sort -r do", "what does sort -R do"),
    ("detail", LEXICAL, "is it red\U000e0041", "is it red"),
    ("question", LEXICAL, "Must I pay the fine?", "Can I pay the fine?"),
    ("order", ORDER, "Can my bank sue me?", "Can I sue my bank?"),
]

SAME = [
    ("Can I return it within 14 days?", "Can I return it within two weeks?"),
    ("return it in a fortnight", "return it in 14 days"),
    ("wait 90 minutes", "wait 1 hour 30 minutes"),
    ("What's 15% of 200?", "What's fifteen percent of 200?"),
    ("Move £50 to savings", "Move fifty pounds to savings"),
    ("Move £50 to savings", "Move 50 to savings"),
    ("call me at 7pm", "call me at 7 in the evening"),
    ("call me at 7 o'clock", "call me at 7am"),
    ("call me at 7:30", "call me at half past seven"),
    ("an 18-year-old may vote", "at 18 one may vote"),
    ("a budget of 1,500", "a budget of 1500"),
    ("a dozen eggs", "12 eggs"),
    ("after one year", "after a year"),
    ("which one is best", "which is best"),
    ("2 million people", "2,000,000 people"),
    ("born on 2021-12-25", "born on 25 December 2021"),
    ("born on March 4th, 1990", "born on 4 March 1990"),
    ("Are you open on Mondays?", "Are you open on Mondys?"),
    ("Are you open on Saturday?", "Are you open at the weekend?"),
    ("I may march to the shop", "I may walk to the shop in time"),
    ("My card doesn't work", "My card does not work"),
    ("My card doesn't work", "My card fails to work"),
    ("Is it unsafe to swim?", "Is it not safe to swim?"),
    ("The total is not correct", "The total is wrong"),
    ("I don't know how to reset it", "how to reset it"),
    ("not only red cars", "red cars"),
    ("turn off 2FA", "disable two-factor authentication"),
    ("stop the server", "how to stop the server"),
    ("Is the US large?", "Is America large?"),
    ("Is the UK an island?", "Is the United Kingdom an island?"),
    ("tell us the time", "tell me the time"),
    ("hotels in New York City", "hotels in NYC"),
    ("play Minecraft", "play Minecarft"),
    ("DO YOU SHIP TO NORWAY", "do you ship to Norway"),
    ("Do You Accept Apple Pay?", "do you accept apple pay"),
    ("Do you sell e-books?", "Do you sell ebooks?"),
    ("At the hotel, is there a gym?", "Is there a gym at the hotel?"),
    ("What's the weather in Oslo tomorrow?", "Tomorrow, what's the weather in Oslo?"),
    ("a virtual disposable card", "a disposable virtual card"),
    ("Do cats and dogs get along?", "Do dogs and cats get along?"),
    ("the difference between a lease and a loan", "the difference between a loan and a lease"),
    ("Does Acme own Beta?", "Is Beta owned by Acme?"),
    ("when I pay by card, is there a fee", "is there a fee if I pay by card"),
    ("How long does it take?", "How many days does it take?"),
    ("Can my kid use it?", "Can my child use it?"),
    ("When does the film start?", "When does the movie begin?"),
    ("How do I remove a user?", "How do I delete a user?"),
    ("Is there a vegitarian dish?", "Is there a vegetarian dish?"),
    ("What colour is it?", "what color is it"),
    ("hi", "hello"),
    ("who made you", "tell me who made you"),
    ("", ""),
]


@pytest.mark.parametrize(("name", "reason", "one", "other"), TOLD_APART)
def test_a_guard_tells_apart(name, reason, one, other):
    assert name in fired(one, other)
    assert judge(features(one, token), features(other, token)).reason == reason


@pytest.mark.parametrize(("one", "other"), SAME)
def test_no_guard_tells_apart(one, other):
    assert fired(one, other) == []
    assert judge(features(one, token), features(other, token)) is None


@pytest.mark.parametrize(("name", "reason", "one", "other"), TOLD_APART)
def test_each_guard_can_be_switched_off(name, reason, one, other):
    assert fired(one, other, only(**{name: True})) == [name]
    assert fired(one, other, GuardSettings(**{name: False})) == [
        each for each in fired(one, other) if each != name
    ]
    assert fired(one, other, ALL_OFF) == []


def test_a_hit_says_reason_and_guard():
    asked, stored = features("refund 100", token), features("refund 200", token)
    assert judge(asked, stored) == GuardHit(NUMBER, "number")


def test_strangers_are_told_first_by_their_words():
    assert fired("Send 100 pounds to Bob", "Never bake sourdough bread for 9 days")[0] == "lexical"


def test_one_guard_is_named_once():
    names = fired("bake sourdough bread", "transfer funds abroad")
    assert names == ["lexical"]


def test_comparing_plain_texts_names_every_guard():
    assert [hit.name for hit in compare("enable it for 2 days", "disable it for 3 days")] == [
        "number",
        "polarity",
    ]
    assert compare("enable it", "enable it!") == []


def test_the_guards_have_settings_of_their_names():
    assert [name for name in NAMES if not hasattr(GuardSettings(), name)] == []
    assert [name for name in NAMES if not getattr(GuardSettings(), name)] == ["slot"]


def test_strict_rules_tell_apart_what_differs_in_few_words():
    pair = ("how do I descale a copper tube", "what is the way to descale a sieve of copper")
    assert fired(*pair) == []
    assert fired(*pair, GuardSettings(slot=True)) == ["slot"]


@pytest.mark.parametrize("overlap", [-0.1, 1.1, float("nan")])
def test_an_overlap_is_a_share(overlap):
    with pytest.raises(ValueError, match="min_overlap must be between 0 and 1"):
        GuardSettings(min_overlap=overlap)


def test_features_of_another_version_are_never_served():
    kept = features("refund 100", token)
    old = type(kept)(schema=kept.schema + 1, bag=kept.bag, sequence=kept.sequence)
    assert judge(kept, old) == judge(old, kept) == GuardHit(LEXICAL, "schema")
    assert judge(old, old) == GuardHit(LEXICAL, "schema")
