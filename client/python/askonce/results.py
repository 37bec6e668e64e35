"""What the sidecar answers, as frozen values. Reading them lazily is safe: only a hit looks like a hit."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from askonce.enums import (
    BodyShape,
    BypassReason,
    DenyReason,
    MatchKind,
    Outcome,
    RefusalReason,
    StoreOutcome,
    Zone,
)
from askonce.errors import AskOnceError


@dataclass(frozen=True, slots=True)
class Body:
    """A stored answer as the gateway gave it."""

    data: bytes = field(repr=False)
    content_type: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the provider counted them."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a vote policy found around a semantic candidate. Shares are 0 to 1."""

    vote: float
    cut: float
    labels: int
    wrong: int
    upper_bound: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """The stored entry that a matcher proposed."""

    entry_id: str = ""
    """64 hex characters."""
    entry_sha7: str = ""
    scope_sha7: str = ""
    similarity: float | None = None
    """Cosine, -1 to 1. None for candidates that are not semantic."""
    threshold: float | None = None
    low_threshold: float | None = None
    zone: Zone = Zone.NONE
    verified: bool = False
    verifier: str = ""
    age: timedelta | None = None
    """Counted from the start of the request that the answer was made for."""
    ttl_left: timedelta | None = None
    """Negative when the answer is stale."""
    store_time: datetime | None = None
    expire_time: datetime | None = None
    source_request_id: str = ""
    stream: BodyShape = BodyShape.NONE
    contains_tool_calls: bool = False
    usage: Usage | None = None
    """Of the answer when it was made. A hit is not billed."""
    evidence: Evidence | None = None
    cost_avoided_usd: float | None = None
    """None: unknown, which is not zero."""
    body: Body | None = None


@dataclass(frozen=True, slots=True)
class SkippedMatcher:
    """A matcher that was not asked, and why."""

    matcher: MatchKind
    reason: BypassReason


@dataclass(frozen=True, slots=True)
class TraceStep:
    """One step on the way to a decision."""

    name: str
    duration: timedelta
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The answer of a Lookup: serve this body, call the provider and then store, or leave the cache aside."""

    outcome: Outcome
    decision_id: str = ""
    kind: MatchKind = MatchKind.NONE
    candidate: Candidate | None = None
    bypass_reason: BypassReason = BypassReason.NONE
    """On a bypass; on a miss the last matcher's skip."""
    deny_reason: DenyReason = DenyReason.NONE
    """Why a candidate was not served; only on a miss."""
    skipped: tuple[SkippedMatcher, ...] = ()
    store_answer: bool = False
    """Call `store` with this decision after the provider has answered."""
    fill_token: bytes = field(default=b"", repr=False)
    lease_holder: bool = False
    """Others wait for this caller's `store` or `abandon`."""
    collapsed: bool = False
    """This caller waited for another's Store."""
    stale: bool = False
    same_as: int | None = None
    """In a batch: the index of an earlier, identical item."""
    rule_id: str = ""
    shadow: bool = False
    """The rule only watches: never a hit, and the candidate is what would have been served."""
    cache_status: str = ""
    """The value of an RFC 9211 Cache-Status field."""
    embed_cost_usd: float | None = None
    feedback_token: bytes = field(default=b"", repr=False)
    conversation_anchor: str = ""
    trace: tuple[TraceStep, ...] = ()
    body_omitted: bool = False
    """The caller asked for no body."""
    error: AskOnceError | None = None
    """Why there is no decision of the sidecar. Only on a bypass."""

    @property
    def hit(self) -> bool:
        """Whether the body is to be served. Never true without one, unless the caller asked for none."""
        return self.outcome is Outcome.HIT and (self._served is not None or self.body_omitted)

    @property
    def body(self) -> bytes | None:
        """The answer to serve; None unless this is a hit with a body."""
        return None if self._served is None else self._served.data

    @property
    def content_type(self) -> str:
        """The media type of `body`; empty when there is none."""
        return "" if self._served is None else self._served.content_type

    @property
    def _served(self) -> Body | None:
        if self.outcome is not Outcome.HIT or self.candidate is None:
            return None
        return self.candidate.body


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry that was written."""

    kind: MatchKind
    entry_id: str
    """64 hex characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreResult:
    """What became of a Store."""

    outcome: StoreOutcome
    refusal_reason: RefusalReason = RefusalReason.NONE
    entries: tuple[StoredEntry, ...] = ()
    """One a matcher."""
    expire_time: datetime | None = None
    cache_status: str = ""
    """The value of an RFC 9211 Cache-Status field for the response that was stored."""
    error: AskOnceError | None = None
    """Why there is no acknowledgement of the sidecar. Only on a refusal."""

    @property
    def stored(self) -> bool:
        """Whether the answer is durable and visible."""
        return self.outcome is StoreOutcome.STORED


@dataclass(frozen=True, slots=True)
class AbandonResult:
    """What became of an Abandon."""

    released: bool
    """A lease was held and is free now."""
    error: AskOnceError | None = None


@dataclass(frozen=True, slots=True)
class FeedbackResult:
    """What became of a judgement."""

    recorded: bool
    error: AskOnceError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """An answer, from the cache or from the provider."""

    body: bytes = field(repr=False)
    content_type: str
    status_code: int
    """The provider's; 200 for a hit."""
    decision: Decision
    stored: StoreResult | None = None
    """What became of the provider's answer in the cache. None for a hit."""
