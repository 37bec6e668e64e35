from askonce.v1 import reason_pb2 as _reason_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class Outcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    OUTCOME_UNSPECIFIED: _ClassVar[Outcome]
    OUTCOME_HIT: _ClassVar[Outcome]
    OUTCOME_MISS: _ClassVar[Outcome]
    OUTCOME_BYPASS: _ClassVar[Outcome]

class MatchKind(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    MATCH_KIND_UNSPECIFIED: _ClassVar[MatchKind]
    MATCH_KIND_EXACT: _ClassVar[MatchKind]
    MATCH_KIND_NORMALIZED: _ClassVar[MatchKind]
    MATCH_KIND_SEMANTIC: _ClassVar[MatchKind]

class Zone(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ZONE_UNSPECIFIED: _ClassVar[Zone]
    ZONE_ABOVE: _ClassVar[Zone]
    ZONE_GRAY: _ClassVar[Zone]
    ZONE_BELOW: _ClassVar[Zone]

class BodyShape(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    BODY_SHAPE_UNSPECIFIED: _ClassVar[BodyShape]
    BODY_SHAPE_STREAM: _ClassVar[BodyShape]
    BODY_SHAPE_JSON: _ClassVar[BodyShape]
OUTCOME_UNSPECIFIED: Outcome
OUTCOME_HIT: Outcome
OUTCOME_MISS: Outcome
OUTCOME_BYPASS: Outcome
MATCH_KIND_UNSPECIFIED: MatchKind
MATCH_KIND_EXACT: MatchKind
MATCH_KIND_NORMALIZED: MatchKind
MATCH_KIND_SEMANTIC: MatchKind
ZONE_UNSPECIFIED: Zone
ZONE_ABOVE: Zone
ZONE_GRAY: Zone
ZONE_BELOW: Zone
BODY_SHAPE_UNSPECIFIED: BodyShape
BODY_SHAPE_STREAM: BodyShape
BODY_SHAPE_JSON: BodyShape

class Decision(_message.Message):
    __slots__ = ("decision_id", "outcome", "kind", "candidate", "bypass_reason", "deny_reason", "skipped", "store_answer", "fill_token", "lease_holder", "collapsed", "stale", "same_as", "rule_id", "shadow", "cache_status", "embed_cost_usd", "feedback_token", "conversation_anchor", "trace")
    DECISION_ID_FIELD_NUMBER: _ClassVar[int]
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    CANDIDATE_FIELD_NUMBER: _ClassVar[int]
    BYPASS_REASON_FIELD_NUMBER: _ClassVar[int]
    DENY_REASON_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    STORE_ANSWER_FIELD_NUMBER: _ClassVar[int]
    FILL_TOKEN_FIELD_NUMBER: _ClassVar[int]
    LEASE_HOLDER_FIELD_NUMBER: _ClassVar[int]
    COLLAPSED_FIELD_NUMBER: _ClassVar[int]
    STALE_FIELD_NUMBER: _ClassVar[int]
    SAME_AS_FIELD_NUMBER: _ClassVar[int]
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    SHADOW_FIELD_NUMBER: _ClassVar[int]
    CACHE_STATUS_FIELD_NUMBER: _ClassVar[int]
    EMBED_COST_USD_FIELD_NUMBER: _ClassVar[int]
    FEEDBACK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    CONVERSATION_ANCHOR_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    decision_id: str
    outcome: Outcome
    kind: MatchKind
    candidate: Candidate
    bypass_reason: _reason_pb2.BypassReason
    deny_reason: _reason_pb2.DenyReason
    skipped: _containers.RepeatedCompositeFieldContainer[SkippedMatcher]
    store_answer: bool
    fill_token: bytes
    lease_holder: bool
    collapsed: bool
    stale: bool
    same_as: int
    rule_id: str
    shadow: bool
    cache_status: str
    embed_cost_usd: float
    feedback_token: bytes
    conversation_anchor: str
    trace: _containers.RepeatedCompositeFieldContainer[TraceStep]
    def __init__(self, decision_id: _Optional[str] = ..., outcome: _Optional[_Union[Outcome, str]] = ..., kind: _Optional[_Union[MatchKind, str]] = ..., candidate: _Optional[_Union[Candidate, _Mapping]] = ..., bypass_reason: _Optional[_Union[_reason_pb2.BypassReason, str]] = ..., deny_reason: _Optional[_Union[_reason_pb2.DenyReason, str]] = ..., skipped: _Optional[_Iterable[_Union[SkippedMatcher, _Mapping]]] = ..., store_answer: bool = ..., fill_token: _Optional[bytes] = ..., lease_holder: bool = ..., collapsed: bool = ..., stale: bool = ..., same_as: _Optional[int] = ..., rule_id: _Optional[str] = ..., shadow: bool = ..., cache_status: _Optional[str] = ..., embed_cost_usd: _Optional[float] = ..., feedback_token: _Optional[bytes] = ..., conversation_anchor: _Optional[str] = ..., trace: _Optional[_Iterable[_Union[TraceStep, _Mapping]]] = ...) -> None: ...

class SkippedMatcher(_message.Message):
    __slots__ = ("matcher", "reason")
    MATCHER_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    matcher: MatchKind
    reason: _reason_pb2.BypassReason
    def __init__(self, matcher: _Optional[_Union[MatchKind, str]] = ..., reason: _Optional[_Union[_reason_pb2.BypassReason, str]] = ...) -> None: ...

class TraceStep(_message.Message):
    __slots__ = ("name", "duration", "result")
    NAME_FIELD_NUMBER: _ClassVar[int]
    DURATION_FIELD_NUMBER: _ClassVar[int]
    RESULT_FIELD_NUMBER: _ClassVar[int]
    name: str
    duration: _duration_pb2.Duration
    result: str
    def __init__(self, name: _Optional[str] = ..., duration: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., result: _Optional[str] = ...) -> None: ...

class Candidate(_message.Message):
    __slots__ = ("entry_id", "entry_sha7", "scope_sha7", "similarity", "threshold", "low_threshold", "zone", "verified", "verifier", "age", "ttl_left", "store_time", "expire_time", "source_request_id", "stream", "contains_tool_calls", "usage", "evidence", "cost_avoided_usd", "body")
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    ENTRY_SHA7_FIELD_NUMBER: _ClassVar[int]
    SCOPE_SHA7_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    LOW_THRESHOLD_FIELD_NUMBER: _ClassVar[int]
    ZONE_FIELD_NUMBER: _ClassVar[int]
    VERIFIED_FIELD_NUMBER: _ClassVar[int]
    VERIFIER_FIELD_NUMBER: _ClassVar[int]
    AGE_FIELD_NUMBER: _ClassVar[int]
    TTL_LEFT_FIELD_NUMBER: _ClassVar[int]
    STORE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    SOURCE_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    EVIDENCE_FIELD_NUMBER: _ClassVar[int]
    COST_AVOIDED_USD_FIELD_NUMBER: _ClassVar[int]
    BODY_FIELD_NUMBER: _ClassVar[int]
    entry_id: str
    entry_sha7: str
    scope_sha7: str
    similarity: float
    threshold: float
    low_threshold: float
    zone: Zone
    verified: bool
    verifier: str
    age: _duration_pb2.Duration
    ttl_left: _duration_pb2.Duration
    store_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    source_request_id: str
    stream: BodyShape
    contains_tool_calls: bool
    usage: Usage
    evidence: Evidence
    cost_avoided_usd: float
    body: Body
    def __init__(self, entry_id: _Optional[str] = ..., entry_sha7: _Optional[str] = ..., scope_sha7: _Optional[str] = ..., similarity: _Optional[float] = ..., threshold: _Optional[float] = ..., low_threshold: _Optional[float] = ..., zone: _Optional[_Union[Zone, str]] = ..., verified: bool = ..., verifier: _Optional[str] = ..., age: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., ttl_left: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., store_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., source_request_id: _Optional[str] = ..., stream: _Optional[_Union[BodyShape, str]] = ..., contains_tool_calls: bool = ..., usage: _Optional[_Union[Usage, _Mapping]] = ..., evidence: _Optional[_Union[Evidence, _Mapping]] = ..., cost_avoided_usd: _Optional[float] = ..., body: _Optional[_Union[Body, _Mapping]] = ...) -> None: ...

class Body(_message.Message):
    __slots__ = ("data", "content_type")
    DATA_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    data: bytes
    content_type: str
    def __init__(self, data: _Optional[bytes] = ..., content_type: _Optional[str] = ...) -> None: ...

class Usage(_message.Message):
    __slots__ = ("input_tokens", "output_tokens")
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    input_tokens: int
    output_tokens: int
    def __init__(self, input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ...) -> None: ...

class Evidence(_message.Message):
    __slots__ = ("vote", "cut", "labels", "wrong", "upper_bound")
    VOTE_FIELD_NUMBER: _ClassVar[int]
    CUT_FIELD_NUMBER: _ClassVar[int]
    LABELS_FIELD_NUMBER: _ClassVar[int]
    WRONG_FIELD_NUMBER: _ClassVar[int]
    UPPER_BOUND_FIELD_NUMBER: _ClassVar[int]
    vote: float
    cut: float
    labels: int
    wrong: int
    upper_bound: float
    def __init__(self, vote: _Optional[float] = ..., cut: _Optional[float] = ..., labels: _Optional[int] = ..., wrong: _Optional[int] = ..., upper_bound: _Optional[float] = ...) -> None: ...
