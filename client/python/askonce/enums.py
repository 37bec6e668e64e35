"""What a decision can say: the enums of the contract, open to values that a newer sidecar may send.

Numbers are those of `askonce/v1`. 0 means that nothing was said and is falsy. Negative numbers never travel:
they are this client's own, for what happened before or instead of an answer of the sidecar.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Self


class _Named(IntEnum):
    """An enum that prints as the lower-case name that the sidecar's telemetry uses, not as a number."""

    def __str__(self) -> str:
        return self.name.lower()

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)


class _OpenEnum(_Named):
    """An enum that reads a number it does not know as UNKNOWN instead of failing."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        return cls["UNKNOWN"] if isinstance(value, int) else None


class Outcome(_Named):
    """What the caller has to do. A number that this client does not know reads as BYPASS."""

    HIT = 1
    """Serve the decision's body."""
    MISS = 2
    """Call the provider, then store if `store_answer` is set."""
    BYPASS = 3
    """Call the provider and store nothing."""

    @classmethod
    def _missing_(cls, value: object) -> Outcome | None:
        return cls.BYPASS if isinstance(value, int) else None


class StoreOutcome(_Named):
    """What became of a Store. A number that this client does not know reads as REFUSED."""

    STORED = 1
    """The answer is durable, and visible to the next Lookup."""
    REFUSED = 2
    """Nothing was stored; see the reason."""

    @classmethod
    def _missing_(cls, value: object) -> StoreOutcome | None:
        return cls.REFUSED if isinstance(value, int) else None


class MatchKind(_OpenEnum):
    """The matcher that a candidate or an entry belongs to."""

    UNKNOWN = -1
    NONE = 0
    EXACT = 1
    NORMALIZED = 2
    SEMANTIC = 3


class Zone(_OpenEnum):
    """Where a similarity falls."""

    UNKNOWN = -1
    NONE = 0
    ABOVE = 1
    GRAY = 2
    BELOW = 3


class BodyShape(_OpenEnum):
    """The shape of a response body."""

    UNKNOWN = -1
    NONE = 0
    STREAM = 1
    JSON = 2


class CacheMode(_Named):
    """What the caller allows the cache to do for one request."""

    DEFAULT = 1
    """Read and write as the rule allows."""
    BYPASS = 2
    """Neither read nor write."""
    REFRESH = 3
    """Do not read, but write: the fresh answer replaces the entry."""
    READ_ONLY = 4
    """Read, but do not write."""


class Verdict(_Named):
    """A judgement on a served answer."""

    CORRECT = 1
    WRONG = 2
    """It was an answer to another question."""
    STALE = 3
    """It was right once and is not any more."""


class BypassReason(_OpenEnum):
    """Why a request, or one matcher, never looked anything up."""

    CLIENT_FAULT = -8
    """This client has a bug; please report the decision's error."""
    CLIENT_CLOSED = -7
    """The client was closed, or was taken over a fork."""
    REQUEST_REFUSED = -6
    """The sidecar, or this client before it, refused the call itself: malformed, too large, not allowed."""
    CIRCUIT_OPEN = -5
    """The sidecar failed too often just now; it was not asked."""
    SIDECAR_FAILED = -4
    """The sidecar answered with a fault, or with what is not an answer."""
    SIDECAR_TIMEOUT = -3
    """The sidecar did not answer within the budget."""
    SIDECAR_UNREACHABLE = -2
    """Nobody listens at the target, or the connection broke."""
    UNKNOWN = -1
    NONE = 0
    NO_RULE = 1
    DISABLED = 2
    CALLER_BYPASS = 3
    SCOPE_MISSING = 4
    SAMPLED_REQUEST = 5
    REMOTE_CONTENT = 6
    STATEFUL_REQUEST = 7
    UNMODELLED_PARAM = 8
    UNREPRESENTABLE_CONTENT = 9
    PERSONALIZED = 10
    TIME_SENSITIVE = 11
    TOO_LARGE = 12
    WHITESPACE_SIGNIFICANT = 13
    HISTORY_TOO_LONG = 14
    NO_EMBEDDABLE_TEXT = 15
    TEXT_TOO_LONG = 16
    EMBEDDING_MISSING = 17
    EMBEDDER_FAILED = 18
    PARTITION_LOADING = 19
    OVER_BUDGET = 20
    STORE_FAILED = 21
    PARTITION_TOO_LARGE = 22


class DenyReason(_OpenEnum):
    """Why a candidate was not served although one existed."""

    UNKNOWN = -1
    NONE = 0
    BELOW_THRESHOLD = 1
    GRAY_UNVERIFIED = 2
    VERIFIER_REJECTED = 3
    VERIFIER_FAILED = 4
    VERIFIER_TOO_FEW_NEIGHBORS = 5
    GUARD_NUMBER = 6
    GUARD_NEGATION = 7
    GUARD_ENTITY = 8
    GUARD_ORDER = 9
    GUARD_LEXICAL = 10
    EXPLORE = 11
    QUARANTINED = 12
    TOO_OLD = 13
    EXPIRED = 14
    STREAM_SHAPE = 15
    TOOL_CALLS = 16
    REFRESH = 17
    NOT_ADMITTED = 18


class RefusalReason(_OpenEnum):
    """Why an answer was not stored. The negative ones mean what they mean as a `BypassReason`."""

    NOTHING_TO_FILL = -9
    """The decision asked for no Store, so nothing was sent."""
    CLIENT_FAULT = -8
    CLIENT_CLOSED = -7
    REQUEST_REFUSED = -6
    CIRCUIT_OPEN = -5
    SIDECAR_FAILED = -4
    SIDECAR_TIMEOUT = -3
    """The sidecar did not acknowledge in time; it may have stored the answer all the same."""
    SIDECAR_UNREACHABLE = -2
    UNKNOWN = -1
    NONE = 0
    UPSTREAM_ERROR = 1
    TRUNCATED = 2
    CONTENT_FILTERED = 3
    REFUSAL = 4
    STREAM_INCOMPLETE = 5
    EMPTY = 6
    GUARDRAIL_MODIFIED = 7
    GUARDRAIL_FAILED_OPEN = 8
    NO_USAGE = 9
    INVALID_TOOL_JSON = 10
    NOT_CACHEABLE = 11
    TOO_LARGE = 12
    LOGGING_DISABLED = 13
    READ_ONLY = 14
    SERVED_MISMATCH = 15
    FALLBACK_SERVED = 16
    TOOL_CALLS = 17
    GENERATION_CHANGED = 18
    TOKEN_EXPIRED = 19
    STORE_FULL = 20
    STORE_FAILED = 21
    NO_RULE = 22
    DISABLED = 23
    SCOPE_MISSING = 24
    SAMPLED_REQUEST = 25
    REMOTE_CONTENT = 26
    STATEFUL_REQUEST = 27
    UNMODELLED_PARAM = 28
    UNREPRESENTABLE_CONTENT = 29
    PERSONALIZED = 30
    TIME_SENSITIVE = 31
    NO_MATCHER = 32
    EXPIRED = 33
