"""The policy that a descriptor matched, and how it is found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase

from askonce_server.core.descriptor import Descriptor
from askonce_server.core.guards.settings import GuardSettings
from askonce_server.core.reasons import Matcher
from askonce_server.core.voting import VotePolicy


class RuleMode(StrEnum):
    """What a rule does with a candidate."""

    OFF = "off"
    SHADOW = "shadow"
    SERVE = "serve"


class Identity(StrEnum):
    """Which upstream the key names."""

    SERVED = "served"
    TARGET = "target"
    BOTH = "both"


@dataclass(frozen=True, slots=True)
class Match:
    """What a descriptor must be for a rule to apply. Empty means any; patterns are case-sensitive globs."""

    endpoint: tuple[str, ...] = ()
    dialect: tuple[str, ...] = ()
    provider: tuple[str, ...] = ()
    """Of the served target."""
    model: tuple[str, ...] = ()
    """Of the served target."""
    stream: bool | None = None
    attributes: Mapping[str, str] = field(default_factory=dict)
    scope: Mapping[str, str] = field(default_factory=dict)

    def holds(self, descriptor: Descriptor, *, stream: bool | None) -> bool:
        """Whether `descriptor`, wanting a `stream` or not, is one of these."""
        return (
            _any_glob(self.endpoint, descriptor.endpoint)
            and _any_glob(self.dialect, descriptor.dialect)
            and _any_glob(self.provider, descriptor.served.provider)
            and _any_glob(self.model, descriptor.served.model)
            and (self.stream is None or self.stream == stream)
            and _all_globs(self.attributes, descriptor.attributes)
            and _all_globs(self.scope, descriptor.scope)
        )


@dataclass(frozen=True, slots=True)
class KeyPolicy:
    """What goes into the key, as the rule's `key` says."""

    identity: Identity = Identity.SERVED
    stream_shared: bool = False
    """`key.stream: shared`."""
    params_class: bool = False
    """`key.params: class`."""
    ignore_params: tuple[str, ...] = ()
    """Sorted, without repeats."""
    normalized_guard: bool = True
    case_fold: bool = False
    history_max_messages: int = 1
    history_overflow: str = "partition"
    digests: dict[Matcher, bytes] = field(default_factory=dict, init=False, repr=False, compare=False)
    """What `keys.key_policy` derived, remembered here: a cache beside it would hash the policy every time."""
    unkeyed: dict[bool, frozenset[str]] = field(default_factory=dict, init=False, repr=False, compare=False)
    """The same for `material.keyed_params`."""


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Which requests the rule looks up at all."""

    sampled: bool = False
    """`sampling: all`."""
    remote_content: bool = False
    """`remote_content: allow`."""
    time_sensitive: tuple[str, ...] = ()
    """Words, case-folded."""
    max_content: int | None = None
    """Greatest size of the content in bytes."""


@dataclass(frozen=True, slots=True)
class Admission:
    """Which answers the rule stores."""

    tool_calls: bool = True
    usage_required: bool = False
    max_body: int = 1 << 20
    validate_tool_json: bool = False
    complete: tuple[str, ...] = ("stop",)
    """Complete finish reasons of dialects other than openai and anthropic."""
    store_fallback: bool = False
    """Whether answers of a fallback may be stored under `identity: target`."""


class Gray(StrEnum):
    """Who decides in the gray band."""

    NONE = "none"
    KRECIPROCAL = "kreciprocal"
    JUDGE = "judge"


@dataclass(frozen=True, slots=True)
class Verified:
    """What labels must show before near hits are credited with money."""

    max_wrong: float
    """The bound on wrong / served, in (0, 1)."""
    confidence: float = 0.95
    min_labels: int = 300


@dataclass(frozen=True, slots=True)
class SemanticPolicy:
    """How near two requests must be for one to have the other's answer."""

    embedder: str
    threshold: float
    """In (0, 1]: at or above it a candidate is served."""
    low_threshold: float = 0.0
    """In [0, threshold]: below it a candidate is not served. 0: there is no gray band."""
    verifier: Gray = Gray.NONE
    budget_ms: int = 35
    tool_calls: bool = False
    """Whether an answer that calls tools may be served."""
    store_text: bool = False
    guards: GuardSettings = field(default_factory=GuardSettings)
    vote: VotePolicy | None = None
    """How the neighbours are voted on; `threshold` is then the least similarity that is voted on. None: at or
    above `threshold` it is served."""
    verified: Verified | None = None
    """None: what near hits avoid is never told in money."""


@dataclass(frozen=True, slots=True)
class Stale:
    """How long after its ttl an answer may still be served (RFC 9111 section 4.2.4, RFC 5861)."""

    on_request_ms: int = 0
    """To a caller that says `max_stale`."""
    while_revalidate_ms: int = 0
    """To everybody, while one caller refreshes it."""
    if_error_ms: int = 0
    """To a caller whose upstream failed."""

    @property
    def longest_ms(self) -> int:
        """The longest of them: so long it is kept."""
        return max(self.on_request_ms, self.while_revalidate_ms, self.if_error_ms)


@dataclass(frozen=True, slots=True)
class Coalesce:
    """How callers that miss on one entry at once wait for the first of them."""

    lease_ms: int = 60_000
    max_waiters: int = 256


@dataclass(frozen=True, slots=True)
class Rule:
    """A policy: mode, strategy, ttl, scope dims and what may be keyed, looked up and stored."""

    id: str
    match: Match = field(default_factory=Match)
    mode: RuleMode = RuleMode.SERVE
    strategy: tuple[Matcher, ...] = (Matcher.EXACT, Matcher.NORMALIZED)
    ttl_ms: int = 3_600_000
    min_ttl_ms: int = 1_000
    max_ttl_ms: int = 86_400_000
    scope: tuple[str, ...] = ("tenant",)
    """Dims in the order in which they are hashed. Empty only in a rule that says `shared: true`."""
    key: KeyPolicy = field(default_factory=KeyPolicy)
    eligibility: Eligibility = field(default_factory=Eligibility)
    admission: Admission = field(default_factory=Admission)
    semantic: SemanticPolicy | None = None
    """There when `strategy` names the matcher."""
    stale: Stale = field(default_factory=Stale)
    coalesce: Coalesce | None = None
    """None: nobody waits."""


def first_match(rules: Sequence[Rule], descriptor: Descriptor, *, stream: bool | None) -> Rule | None:
    """Return the first of `rules` that applies, or None."""
    for rule in rules:
        if rule.match.holds(descriptor, stream=stream):
            return rule
    return None


def _any_glob(patterns: tuple[str, ...], value: str) -> bool:
    return not patterns or any(fnmatchcase(value, pattern) for pattern in patterns)


def _all_globs(patterns: Mapping[str, str], values: Mapping[str, str]) -> bool:
    return all(name in values and fnmatchcase(values[name], pattern) for name, pattern in patterns.items())
