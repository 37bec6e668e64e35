"""Synthetic answers: one set of facts an intent, and many wordings of it.

An answer names its subject (the intent) and six facts: where, how long, what it costs, for whom, with whom,
until when. A wording chooses a template for each, their order, numerals or words, a format (prose, bullets,
numbered steps, headings), and what says nothing: openings, closings, fillers. Templates come in two halves,
so that a comparison may be tuned on one and measured on the other.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

_PLACES = (
    *("the Cards tab", "Settings", "the Help centre", "the Payments screen", "your profile"),
    *("the Security page", "the Accounts overview", "the Transfers menu", "the Limits section"),
)
_PARTNERS = ("Visa", "Mastercard", "PayPal", "Western Union", "Apple Pay", "Google Pay", "Klarna", "Amex")
_GROUPS = (
    *("joint accounts", "business customers", "customers under 18", "premium members"),
    *("customers abroad", "new customers", "prepaid cards", "savings accounts"),
)
_UNITS = ("minutes", "hours", "days", "weeks", "months")
_MONTHS = ("January", "February", "March", "April", "June", "July", "September", "October", "November")
_WORDS = (
    *("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
)

_TEMPLATES: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "place": (
        (
            "For {topic}, open {place} in the app.",
            "Everything about {topic} is in {place}.",
            "Go to {place} to deal with {topic}.",
            "You will find {topic} under {place} in the app.",
        ),
        (
            "To sort out {topic}, please head over to {place}.",
            "The option for {topic} can be found in {place}.",
            "You can take care of {topic} yourself: just visit {place}.",
            "In the app, tap {place} and choose {topic}.",
        ),
    ),
    "duration": (
        (
            "It takes {span}.",
            "This usually takes {span} to complete.",
            "Please allow {span} for it.",
            "You can expect it to be done within {span}.",
        ),
        (
            "Normally it is finished in {span}.",
            "The whole process needs about {span}.",
            "It should be completed after {span}.",
            "Processing time is {span}.",
        ),
    ),
    "fee": (
        (
            "We charge a fee of {fee}.",
            "The cost is {fee}.",
            "There is a charge of {fee} for this.",
            "You pay {fee} for it.",
        ),
        (
            "A fee of {fee} applies.",
            "This will cost you {fee}.",
            "The price for this service is {fee}.",
            "{fee} will be charged to your account.",
        ),
    ),
    "yes": (
        (
            "It is available for {group}.",
            "This also works for {group}.",
            "{group} can use it too.",
            "It is possible for {group}.",
        ),
        (
            "The service is offered to {group} as well.",
            "{group} are eligible for this.",
            "It is supported for {group}.",
            "You can use this with {group}.",
        ),
    ),
    "no": (
        (
            "It is not available for {group}.",
            "This does not work for {group}.",
            "{group} cannot use it.",
            "It is not possible for {group}.",
        ),
        (
            "The service is not offered to {group}.",
            "{group} are not eligible for this.",
            "It is not supported for {group}.",
            "You cannot use this with {group}.",
        ),
    ),
    "partner": (
        (
            "We handle it together with {partner}.",
            "Our partner for this is {partner}.",
            "It runs through {partner}.",
            "{partner} processes it for us.",
        ),
        (
            "Behind the scenes, {partner} takes care of it.",
            "The provider we use for it is {partner}.",
            "It is carried out by {partner}.",
            "We work with {partner} on this.",
        ),
    ),
    "until": (
        (
            "This offer runs until {day} {month}.",
            "It is valid up to {month} {day}.",
            "The deadline is {day} {month}.",
            "You have until {month} {day} to do it.",
        ),
        (
            "Please do it by {day} {month} at the latest.",
            "The last day for it is {month} {day}.",
            "It must be done no later than {day} {month}.",
            "The offer expires on {month} {day}.",
        ),
    ),
}
_OPENINGS = (
    (
        "",
        "Sure!",
        "Great question!",
        "I'd be happy to help with that.",
        "Thanks for reaching out.",
        "Of course, here is what you need to know.",
    ),
    ("", "Hi there,", "Certainly.", "Thank you for your question.", "No problem, let me explain."),
)
_CLOSINGS = (
    (
        "",
        "Let me know if you have any other questions.",
        "I hope this helps!",
        "Feel free to ask if anything is unclear.",
    ),
    (
        "",
        "If you need anything else, just ask.",
        "Don't hesitate to contact us again.",
        "Is there anything else I can help you with?",
    ),
)
_FILLERS = (
    (
        "Please make sure that you have the latest version of the app.",
        "We know that this can be confusing at first.",
    ),
    (
        "Your security is important to us.",
        "We always try to make this as easy as possible.",
    ),
)
_FORMATS = ("prose", "bullets", "numbered", "headed", "bold")
ALTERED = ("duration", "fee", "until", "partner", "negation")
"""The facts of which another may stand in an answer of the same wording."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What an answer says."""

    topic: str
    place: str
    span: tuple[int, str]
    fee_cents: int
    group: str
    available: bool
    partner: str
    day: int
    month: str

    def altered(self, what: str, chance: random.Random) -> Facts:
        """Return the facts with one of `ALTERED` changed."""
        if what == "duration":
            return replace(self, span=(self.span[0] + chance.randint(1, 9), self.span[1]))
        if what == "fee":
            return replace(self, fee_cents=self.fee_cents + 25 * chance.randint(1, 40))
        if what == "until":
            return replace(self, month=_another(_MONTHS, self.month, chance))
        if what == "partner":
            return replace(self, partner=_another(_PARTNERS, self.partner, chance))
        return replace(self, available=not self.available)


def facts(intent: str) -> Facts:
    """Return the facts of an intent, always the same."""
    chance = random.Random(blake2b(intent.encode(), digest_size=8).digest())
    return Facts(
        topic=intent.replace("_", " ").replace("?", "").lower(),
        place=chance.choice(_PLACES),
        span=(chance.randint(2, 30), chance.choice(_UNITS)),
        fee_cents=25 * chance.randint(1, 80),
        group=chance.choice(_GROUPS),
        available=chance.random() < 0.5,
        partner=chance.choice(_PARTNERS),
        day=chance.randint(1, 28),
        month=chance.choice(_MONTHS),
    )


def worded(of: Facts, seed: int, *, half: int) -> str:
    """Return an answer; equal seeds have equal wordings. `half` chooses the templates, 0 or 1."""
    chance = random.Random(seed)
    kinds = ["place", "duration", "fee", "yes" if of.available else "no", "partner", "until"]
    places = [chance.random() for _ in kinds]
    chosen = [chance.randrange(len(_TEMPLATES[kind][half])) for kind in kinds]
    spelled = chance.random() < 0.4
    said = [
        _TEMPLATES[kind][half][at].format(**_filling(of, spelled))
        for kind, at in zip(kinds, chosen, strict=True)
    ]
    rest = sorted(range(1, len(said)), key=places.__getitem__)
    points = [_sentence(said[at]) for at in (0, *rest)]
    if chance.random() < 0.5:
        points.insert(chance.randint(1, len(points)), chance.choice(_FILLERS[half]))
    opening, closing = chance.choice(_OPENINGS[half]), chance.choice(_CLOSINGS[half])
    return "\n".join(part for part in (opening, _formatted(points, of, chance), closing) if part)


def _filling(of: Facts, spelled: bool) -> dict[str, str]:  # noqa: FBT001 - private
    number, unit = of.span
    shown = _WORDS[number - 1] if spelled and number <= len(_WORDS) else str(number)
    return {
        "topic": of.topic,
        "place": of.place,
        "span": f"{shown} {unit}",
        "fee": f"£{of.fee_cents / 100:.2f}",
        "group": of.group,
        "partner": of.partner,
        "day": str(of.day),
        "month": of.month,
    }


def _formatted(points: Sequence[str], of: Facts, chance: random.Random) -> str:
    kind = chance.choice(_FORMATS)
    if kind == "bullets":
        return "\n".join(f"- {point}" for point in points)
    if kind == "numbered":
        return "\n".join(f"{at}. {point}" for at, point in enumerate(points, start=1))
    if kind == "headed":
        return f"## {of.topic.capitalize()}\n\n" + "\n\n".join(points)
    return " ".join(f"**{point}**" if kind == "bold" and not at else point for at, point in enumerate(points))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _another(of: Sequence[str], one: str, chance: random.Random) -> str:
    return chance.choice([other for other in of if other != one])
