"""The settings of a rule's semantic matcher."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, field_validator

from askonce_server.config.fields import MS, Between, Count, Name, Section, Switch, Time
from askonce_server.core.descriptor import GENERATING_ENDPOINTS

SEMANTIC_ENDPOINTS = GENERATING_ENDPOINTS
"""The endpoints whose requests have a last user turn to embed."""

Cosine = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class SemanticSection(Section):
    """How near two requests must be for one to have the other's answer.

    This version checks these settings and has no semantic matcher yet.
    """

    embedder: Name
    """The name of the embedder, as under `embedders`."""
    threshold: Annotated[Cosine, Field(gt=0, le=1)]
    """The least cosine similarity that is served."""
    low_threshold: Annotated[Cosine, Field(ge=0, le=1)] = 0.0
    """The least cosine similarity that the verifier is asked about; 0 means that there is no gray band."""
    verifier: Literal["none", "kreciprocal", "judge"] = "none"
    """Who decides between `low_threshold` and `threshold`: nobody, the neighbours, or the section `judge`."""
    policy: Literal["fixed", "vote-fixed", "vote"] = "fixed"
    """Whether thresholds are fixed or learned from labelled answers."""
    max_wrong_hit_rate: Annotated[Cosine, Field(gt=0, lt=1)] | None = None
    """The share of wrong answers that `policy: vote` keeps under; required there and nowhere else."""
    history_max_messages: Annotated[Count, Field(ge=0, le=1000)] = 1
    """How many of the last user turns are embedded; 0 means all."""
    history_overflow: Literal["partition", "reject"] = "partition"
    """Whether earlier user turns must be identical or make the request skip the matcher."""
    budget: Annotated[Time, AfterValidator(Between(MS, timedelta(seconds=60)))] = timedelta(milliseconds=35)
    """How long the matcher may take."""
    tool_calls: Literal["refuse", "serve"] = "refuse"
    """What becomes of near answers that call tools."""
    store_text: Switch = False
    """Whether the request's text is stored, which the judge needs."""

    @field_validator("low_threshold")
    @classmethod
    def _below_threshold(cls, value: float, checked: ValidationInfo) -> float:
        threshold = checked.data.get("threshold")
        if threshold is not None and value > threshold:
            raise ValueError(f"must not be more than threshold ({threshold:g})")
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
