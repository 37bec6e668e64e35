"""Which guards a rule has on."""

from __future__ import annotations

from dataclasses import dataclass

LONG_TEXT = 200
"""Characters above which two texts must share `min_overlap` of their content words."""
FRAMED_TEXT = 100
"""Characters above which a text may be a template that was filled in."""


@dataclass(frozen=True, slots=True)
class GuardSettings:
    """Each guard on or off, and the measure of the one that has one."""

    number: bool = True
    """Numbers with their units, times of day and amounts of money are the same."""
    date: bool = True
    """Weekdays, months, relative days and words like before are no others."""
    unit: bool = True
    """Units and currencies named without a number are no others."""
    negation: bool = True
    """Both or neither negate."""
    prefix: bool = True
    """No word stands against its own reverse: safe and unsafe."""
    polarity: bool = True
    """No word stands against its opposite."""
    entity: bool = True
    """Names are no others, typing errors and short forms aside."""
    alternative: bool = True
    """No thing stands against another of its kind: dog and cat, Windows and Linux."""
    person: bool = True
    """Somebody else is asked about in both or in neither: my child."""
    order: bool = True
    """The same words stand in the same order; from, to and than have the same sides."""
    question: bool = True
    """How, when, where, why and who are no others, nor are can and must, all and some, if and unless."""
    detail: bool = True
    """Operators, case, quoted words and unseen characters are the same."""
    lexical: bool = True
    """At least one content word is shared."""
    swap: bool = True
    """A question is not the same but for one or two words that are no synonyms."""
    template: bool = True
    """Long texts share enough words, and one frame has one filling."""
    slot: bool = False
    """Texts do not differ in up to three words on each side alone. Strict: costs right hits too."""
    min_overlap: float = 0.4
    """Share of the content words of the shorter text, above 200 characters, that the other must have."""

    def __post_init__(self) -> None:
        """Refuse an overlap that is no share."""
        if not 0 <= self.min_overlap <= 1:
            raise ValueError("min_overlap must be between 0 and 1")


ALL_OFF = GuardSettings(
    number=False,
    date=False,
    unit=False,
    negation=False,
    prefix=False,
    polarity=False,
    entity=False,
    alternative=False,
    person=False,
    order=False,
    question=False,
    detail=False,
    lexical=False,
    swap=False,
    template=False,
)
"""No guard at all."""
