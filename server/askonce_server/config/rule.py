"""The settings of one rule."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from askonce_server.config.fields import (
    GIB,
    MIB,
    MS,
    NAME_SCHEMA,
    Between,
    Count,
    Glob,
    Kind,
    Name,
    Patterns,
    Section,
    Size,
    Switch,
    Text,
    Texts,
    Time,
    distinct,
    mistake_at,
    one_or_many,
    read_list,
)
from askonce_server.config.semantic import SEMANTIC_ENDPOINTS, SemanticSection

MatcherName = Literal["exact", "normalized", "semantic"]

HOUR, DAY = timedelta(hours=1), timedelta(days=1)
TTL = Between(MS, timedelta(days=3650))
UP_TO_YEARS = Between(timedelta(), timedelta(days=3650))
NOT_PARAMS = frozenset({"messages", "model", "stream", "system", "tools"})
"""Members of a request that are no params, so that ignoring them would ignore nothing."""


def read_mode(value: object) -> object:
    """Take `mode: off` for what it says where a YAML parser has made a boolean of it."""
    return "off" if value is False else value


class MatchSection(Section):
    """Which requests the rule is for; a setting that is left out matches any."""

    endpoint: Patterns = ()
    """Endpoint kinds, such as `chat`, `responses`, `messages` or `embeddings`."""
    dialect: Patterns = ()
    """Dialects, such as `openai` or `anthropic`."""
    provider: Patterns = ()
    """Providers of the upstream that will be called (`served`)."""
    model: Patterns = ()
    """Models of the upstream that will be called (`served`)."""
    stream: Switch | None = None
    """Whether the request asks for a stream."""
    attributes: dict[Text, Glob] = Field(default_factory=dict)
    """Attributes that must be there, each with a pattern for its value."""
    scope: dict[Text, Glob] = Field(default_factory=dict)
    """Scope dims that must be there, each with a pattern for its value."""


class KeySection(Section):
    """What the key of an answer is made of."""

    identity: Literal["served", "target", "both"] = "served"
    """Which upstream the key names: the one that is called, the one asked for with its route, or both."""
    stream: Literal["separate", "shared"] = "separate"
    """Whether streamed and unstreamed answers have keys of their own."""
    params: Literal["all_except", "class"] = "all_except"
    """Whether every param is keyed, or only a closed list while any other bypasses the cache."""
    ignore_params: Texts = ()
    """Params that are left out of the key, although they are forwarded."""

    @field_validator("ignore_params")
    @classmethod
    def _params_only(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for name in value:
            if name in NOT_PARAMS:
                mend = " (use key.stream: shared)" if name == "stream" else ""
                raise ValueError(f"{name!r} is no param and cannot be ignored{mend}")
        return value


class NormalizedSection(Section):
    """How the normalized matcher treats text."""

    guard: Annotated[Switch, Kind("`on` or `off`")] = True
    """Whether texts in which white space may carry meaning, such as code, skip the matcher."""
    case_fold: Switch = False
    """Whether upper and lower case count as the same."""


class EligibilitySection(Section):
    """Which requests are looked up at all."""

    sampling: Literal["deterministic_only", "all"] = "deterministic_only"
    """Whether a request that generates, or says how to sample, needs temperature 0 or a seed."""
    remote_content: Literal["deny", "allow"] = "deny"
    """Whether a request may point at content elsewhere, such as an image by URL, whose content can change."""
    time_sensitive: Texts = ()
    """Words that make a request bypass the cache, such as `today`; case does not matter."""
    max_content: Annotated[Size, AfterValidator(Between(1, GIB))] | None = None
    """The greatest size of a request's content; a larger one bypasses the cache."""


class AdmissionSection(Section):
    """Which answers are stored."""

    tool_calls: Literal["store", "refuse"] = "store"
    """What becomes of answers that call tools."""
    usage: Literal["optional", "required"] = "optional"
    """Whether an answer must come with its token usage."""
    max_body: Annotated[Size, AfterValidator(Between(1, GIB))] = MIB
    """The greatest size of an answer's body."""
    complete: Texts = ("stop",)
    """Finish reasons that mean a complete answer, for dialects other than `openai` and `anthropic`."""
    tool_json: Literal["ignore", "validate"] = "ignore"
    """Whether the arguments of tool calls must be valid JSON."""
    fallback: Literal["refuse", "store"] = "refuse"
    """What becomes of answers that a fallback upstream gave; `store` needs `key.identity: target`."""


class CoalesceSection(Section):
    """How callers that miss on the same entry at once wait for the first of them."""

    lease: Annotated[Time, AfterValidator(Between(100 * MS, HOUR))] = timedelta(seconds=60)
    """How long the first caller may take before another takes over."""
    max_waiters: Annotated[Count, Field(ge=0, le=4096)] = 256
    """How many callers may wait at once; others are told to call the provider."""


class RuleSection(Section):
    """A policy for the requests that it matches; the first rule that matches a request decides."""

    id: Name
    """The rule's name in decisions, logs and metrics."""
    match: MatchSection = Field(default_factory=MatchSection)
    """Which requests the rule is for."""
    mode: Annotated[Literal["off", "shadow", "serve"], BeforeValidator(read_mode)] = "serve"
    """Whether answers are served, only looked up and stored to see how many would be, or neither."""
    strategy: Annotated[
        tuple[MatcherName, ...],
        BeforeValidator(read_list),
        Field(min_length=1),
        AfterValidator(distinct),
        WithJsonSchema(one_or_many({"enum": list(get_args(MatcherName))})),
    ] = ("exact", "normalized")
    """The matchers that are asked, in order; the first that finds an answer wins."""
    ttl: Annotated[Time, AfterValidator(TTL)] = HOUR
    """How long an answer may be served."""
    min_ttl: Annotated[Time, AfterValidator(TTL)] | None = None
    """The least ttl that a request may ask for; left out, 1s or `ttl` if that is less."""
    max_ttl: Annotated[Time, AfterValidator(TTL)] | None = None
    """The greatest ttl that a request may ask for; left out, 24h or `ttl` if that is more."""
    max_stale: Annotated[Time, AfterValidator(UP_TO_YEARS)] = timedelta()
    """How long after its ttl an answer may still be served to callers that say `max_stale`."""
    stale_while_revalidate: Annotated[Time, AfterValidator(UP_TO_YEARS)] = timedelta()
    """How long after its ttl an answer is still served to all, while one caller is told to refresh it."""
    stale_if_error: Annotated[Time, AfterValidator(UP_TO_YEARS)] = timedelta()
    """How long after its ttl an answer may still be served to callers whose upstream failed."""
    scope: Annotated[
        tuple[Name, ...],
        Kind("name or list of names"),
        BeforeValidator(read_list),
        AfterValidator(distinct),
        WithJsonSchema(one_or_many(NAME_SCHEMA)),
    ] = ("tenant",)
    """The dims that say who may share an answer; empty only with `shared: true`."""
    shared: Switch = False
    """Whether everybody shares the rule's answers; needs `scope: []`."""
    key: KeySection = Field(default_factory=KeySection)
    """What the key of an answer is made of."""
    normalized: NormalizedSection = Field(default_factory=NormalizedSection)
    """How the normalized matcher treats text."""
    eligibility: EligibilitySection = Field(default_factory=EligibilitySection)
    """Which requests are looked up at all."""
    admission: AdmissionSection = Field(default_factory=AdmissionSection)
    """Which answers are stored."""
    semantic: SemanticSection | None = None
    """How the semantic matcher works; required where `strategy` names it."""
    coalesce: CoalesceSection | None = None
    """How simultaneous misses wait for one answer; left out, they do not wait."""

    @field_validator("min_ttl", "max_ttl")
    @classmethod
    def _around_ttl(cls, value: timedelta | None, checked: ValidationInfo) -> timedelta | None:
        ttl = checked.data.get("ttl")
        if value is None or ttl is None:
            return value
        if checked.field_name == "min_ttl" and value > ttl:
            raise ValueError("must not be more than ttl")
        if checked.field_name == "max_ttl" and value < ttl:
            raise ValueError("must not be less than ttl")
        return value

    @field_validator("shared")
    @classmethod
    def _says_who_shares(cls, value: bool, checked: ValidationInfo) -> bool:  # noqa: FBT001 - pydantic's shape
        scope = checked.data.get("scope")
        if scope == () and not value:
            raise ValueError("must be true where scope is empty: everybody would share the answers")
        if scope and value:
            raise ValueError("must not be true where scope has dims: say scope: [] if everybody may share")
        return value

    @field_validator("admission")
    @classmethod
    def _fallback_has_key(cls, value: AdmissionSection, checked: ValidationInfo) -> AdmissionSection:
        key = checked.data.get("key")
        if value.fallback == "store" and key is not None and key.identity != "target":
            message = "store needs key.identity: target, since the key names the upstream otherwise"
            raise mistake_at("fallback", message, value.fallback)
        return value

    @field_validator("semantic")
    @classmethod
    def _semantic_fits(cls, value: SemanticSection | None, checked: ValidationInfo) -> SemanticSection | None:
        if "semantic" not in checked.data.get("strategy", ()):
            return value
        if value is None:
            raise ValueError("is required where strategy names semantic: at least embedder and threshold")
        match = checked.data.get("match")
        if match is not None and not (match.endpoint and SEMANTIC_ENDPOINTS.issuperset(match.endpoint)):
            names = ", ".join(sorted(SEMANTIC_ENDPOINTS))
            raise ValueError(f"needs match.endpoint to be among {names}, without patterns")
        return value
