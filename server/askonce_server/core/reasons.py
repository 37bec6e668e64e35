"""The reasons of the contract as the core uses them; values equal those of `askonce/v1/reason.proto`."""

from __future__ import annotations

from enum import IntEnum


class Matcher(IntEnum):
    """The matchers, numbered like `MatchKind`."""

    EXACT = 1
    NORMALIZED = 2
    SEMANTIC = 3


class Outcome(IntEnum):
    """What the caller has to do, numbered like `Outcome` of the contract."""

    HIT = 1
    MISS = 2
    BYPASS = 3


class Mode(IntEnum):
    """What a caller allows, numbered like `CacheMode`; 0 is read as DEFAULT before it comes here."""

    DEFAULT = 1
    BYPASS = 2
    REFRESH = 3
    READ_ONLY = 4


class BypassReason(IntEnum):
    """Why a request, or one matcher, never looked anything up."""

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


class DenyReason(IntEnum):
    """Why a candidate was not served although one existed."""

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


class RefusalReason(IntEnum):
    """Why an answer was not stored."""

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
