"""The settings of a rule's semantic matcher."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator

from askonce_server.config.fields import MS, Between, Count, Name, Section, Switch, Time
from askonce_server.core.descriptor import GENERATING_ENDPOINTS

SEMANTIC_ENDPOINTS = GENERATING_ENDPOINTS
"""The endpoints whose requests have a last user turn to embed."""

Cosine = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class GuardsSection(Section):
    """What makes two near texts ask for different things."""

    number: Switch = True
    """Numbers with their units, times of day and amounts of money must be the same."""
    date: Switch = True
    """Weekdays, months, relative days and words like `before` must not differ."""
    unit: Switch = True
    """Units and currencies without a number must not differ."""
    negation: Switch = True
    """Both texts negate or neither does."""
    prefix: Switch = True
    """No word may stand against its own reverse, such as safe and unsafe."""
    polarity: Switch = True
    """No word may stand against its opposite, such as enable and disable."""
    entity: Switch = True
    """Names must not differ, typing errors and short forms aside."""
    alternative: Switch = True
    """No thing may stand against another of its kind, such as Windows and Linux."""
    person: Switch = True
    """Both texts ask for somebody else, or neither does."""
    order: Switch = True
    """The same words must stand in the same order."""
    question: Switch = True
    """How, when, where, why and who must not differ, nor can and must, all and some, if and unless."""
    detail: Switch = True
    """Operators, flags, the case of codes, quoted words and unseen characters must not differ."""
    lexical: Switch = True
    """At least one content word must be shared."""
    swap: Switch = True
    """Texts must not be the same but for one or two words that are no synonyms."""
    template: Switch = True
    """Long texts must share enough words, and one frame must have one filling."""
    slot: Switch = False
    """Texts must not differ in up to three words on each side; strict, costs right hits too."""
    min_overlap: Annotated[Cosine, Field(ge=0, le=1)] = 0.4
    """The share of the content words of the shorter of two texts above 200 characters that both must have."""


class VerifiedSection(Section):
    """What the labels of a rule must show before its near hits are credited with the money they avoid."""

    max_wrong_hit_rate: Annotated[Cosine, Field(gt=0, lt=1)]
    """The share of wrong answers among those served that the upper bound must be below."""
    confidence: Annotated[Cosine, Field(ge=0.5, lt=1)] = 0.95
    """The confidence of that bound."""
    min_labels: Annotated[Count, Field(ge=1, le=50_000)] = 300
    """How many labels it must rest on."""


def all_or_none(value: object) -> object:
    """Return what `on`, `off` and `strict` stand for, and everything else as it is."""
    switch = value.lower() if isinstance(value, str) else value
    if switch in (True, "on"):
        return {}
    if switch in (False, "off"):
        return {name: False for name, one in GuardsSection.model_fields.items() if one.annotation is bool}
    return {"slot": True} if switch == "strict" else value


class SemanticSection(Section):
    """How near two requests must be for one to have the other's answer."""

    embedder: Name
    """The name of the embedder, as under `embedders`."""
    threshold: Annotated[Cosine, Field(gt=0, le=1)]
    """The least cosine similarity that is served; under a vote policy the least that is voted on, say 0.5."""
    low_threshold: Annotated[Cosine, Field(ge=0, le=1)] = 0.0
    """The least cosine similarity that the verifier is asked about; 0 means that there is no gray band."""
    verifier: Literal["none", "kreciprocal", "judge"] = "none"
    """Who decides between `low_threshold` and `threshold`: nobody, the neighbours, or the section `judge`."""
    policy: Literal["fixed", "vote-fixed", "vote"] = "fixed"
    """Served is what is near enough; or what has the neighbours' vote, from a fixed or a learned one on."""
    max_wrong_hit_rate: Annotated[Cosine, Field(gt=0, lt=1)] | None = None
    """The share of wrong answers that `policy: vote` keeps under; required there and nowhere else."""
    vote: Annotated[Cosine, Field(gt=0, le=1)] = 0.80
    """The least vote that `policy: vote-fixed` serves; no bound is claimed of it."""
    start: Literal["silent", "shipped"] = "silent"
    """What `policy: vote` serves before `min_labels`: nothing, or votes of 0.95 without a bound."""
    min_labels: Annotated[Count, Field(ge=1, le=50_000)] = 500
    """How many labels `policy: vote` needs before a learned cut is used."""
    audit_every: Annotated[Count, Field(ge=2, le=1000)] = 20
    """Under a vote policy one of so many serves of an answer is labelled instead."""
    history_max_messages: Annotated[Count, Field(ge=0, le=1000)] = 1
    """How many of the last user turns are embedded; 0 means all."""
    history_overflow: Literal["partition", "reject"] = "partition"
    """Whether earlier user turns must be identical or make the request skip the matcher."""
    budget: Annotated[Time, AfterValidator(Between(MS, timedelta(seconds=60)))] = timedelta(milliseconds=35)
    """How long the matcher may take."""
    tool_calls: Literal["refuse", "serve"] = "refuse"
    """What becomes of near answers that call tools."""
    guards: Annotated[GuardsSection, BeforeValidator(all_or_none)] = Field(default_factory=GuardsSection)
    """Which guards may deny a near candidate: `on`, `off` or `strict` for all, or each by its name."""
    verified: VerifiedSection | None = None
    """When near hits are credited with the money they avoid; without it they stay unpriced."""
    store_text: Switch = False
    """Whether the request's text is stored, which the judge needs."""

    @field_validator("low_threshold")
    @classmethod
    def _below_threshold(cls, value: float, checked: ValidationInfo) -> float:
        threshold = checked.data.get("threshold")
        if threshold is not None and value > threshold:
            raise ValueError(f"must not be more than threshold ({threshold:g})")
        return value

    @field_validator("policy")
    @classmethod
    def _votes_without_a_band(cls, value: str, checked: ValidationInfo) -> str:
        band = checked.data.get("low_threshold", 0.0) > 0 or checked.data.get("verifier", "none") != "none"
        if value != "fixed" and band:
            raise ValueError(f"{value} has no gray band: leave out low_threshold and verifier")
        return value

    @field_validator("max_wrong_hit_rate")
    @classmethod
    def _goes_with_vote(cls, value: float | None, checked: ValidationInfo) -> float | None:
        policy = checked.data.get("policy")
        if policy == "vote" and value is None:
            raise ValueError("is required under policy: vote")
        if policy in {"fixed", "vote-fixed"} and value is not None:
            raise ValueError("has no meaning under any policy but vote")
        return value

    @field_validator("store_text")
    @classmethod
    def _judge_reads_text(cls, value: bool, checked: ValidationInfo) -> bool:  # noqa: FBT001 - pydantic's shape
        if checked.data.get("verifier") == "judge" and not value:
            raise ValueError("must be true for verifier: judge, which reads the stored text")
        return value
