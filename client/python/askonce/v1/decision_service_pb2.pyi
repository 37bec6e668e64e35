from askonce.v1 import decision_pb2 as _decision_pb2
from askonce.v1 import descriptor_pb2 as _descriptor_pb2
from askonce.v1 import reason_pb2 as _reason_pb2
from google.protobuf import duration_pb2 as _duration_pb2
from google.protobuf import timestamp_pb2 as _timestamp_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class CacheMode(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CACHE_MODE_UNSPECIFIED: _ClassVar[CacheMode]
    CACHE_MODE_DEFAULT: _ClassVar[CacheMode]
    CACHE_MODE_BYPASS: _ClassVar[CacheMode]
    CACHE_MODE_REFRESH: _ClassVar[CacheMode]
    CACHE_MODE_READ_ONLY: _ClassVar[CacheMode]

class StoreOutcome(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    STORE_OUTCOME_UNSPECIFIED: _ClassVar[StoreOutcome]
    STORE_OUTCOME_STORED: _ClassVar[StoreOutcome]
    STORE_OUTCOME_REFUSED: _ClassVar[StoreOutcome]

class Verdict(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    VERDICT_UNSPECIFIED: _ClassVar[Verdict]
    VERDICT_CORRECT: _ClassVar[Verdict]
    VERDICT_WRONG: _ClassVar[Verdict]
    VERDICT_STALE: _ClassVar[Verdict]
CACHE_MODE_UNSPECIFIED: CacheMode
CACHE_MODE_DEFAULT: CacheMode
CACHE_MODE_BYPASS: CacheMode
CACHE_MODE_REFRESH: CacheMode
CACHE_MODE_READ_ONLY: CacheMode
STORE_OUTCOME_UNSPECIFIED: StoreOutcome
STORE_OUTCOME_STORED: StoreOutcome
STORE_OUTCOME_REFUSED: StoreOutcome
VERDICT_UNSPECIFIED: Verdict
VERDICT_CORRECT: Verdict
VERDICT_WRONG: Verdict
VERDICT_STALE: Verdict

class Controls(_message.Message):
    __slots__ = ("mode", "ttl", "namespace", "max_age", "min_fresh", "max_stale", "logging_disabled")
    MODE_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    MAX_AGE_FIELD_NUMBER: _ClassVar[int]
    MIN_FRESH_FIELD_NUMBER: _ClassVar[int]
    MAX_STALE_FIELD_NUMBER: _ClassVar[int]
    LOGGING_DISABLED_FIELD_NUMBER: _ClassVar[int]
    mode: CacheMode
    ttl: _duration_pb2.Duration
    namespace: str
    max_age: _duration_pb2.Duration
    min_fresh: _duration_pb2.Duration
    max_stale: _duration_pb2.Duration
    logging_disabled: bool
    def __init__(self, mode: _Optional[_Union[CacheMode, str]] = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., namespace: _Optional[str] = ..., max_age: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., min_fresh: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., max_stale: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., logging_disabled: bool = ...) -> None: ...

class LookupRequest(_message.Message):
    __slots__ = ("descriptor", "controls", "budget", "omit_body", "accepts", "wait_for_fill", "after_upstream_error", "trace", "request_id", "anchor")
    DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    CONTROLS_FIELD_NUMBER: _ClassVar[int]
    BUDGET_FIELD_NUMBER: _ClassVar[int]
    OMIT_BODY_FIELD_NUMBER: _ClassVar[int]
    ACCEPTS_FIELD_NUMBER: _ClassVar[int]
    WAIT_FOR_FILL_FIELD_NUMBER: _ClassVar[int]
    AFTER_UPSTREAM_ERROR_FIELD_NUMBER: _ClassVar[int]
    TRACE_FIELD_NUMBER: _ClassVar[int]
    REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    ANCHOR_FIELD_NUMBER: _ClassVar[int]
    descriptor: _descriptor_pb2.RequestDescriptor
    controls: Controls
    budget: _duration_pb2.Duration
    omit_body: bool
    accepts: _containers.RepeatedScalarFieldContainer[_decision_pb2.BodyShape]
    wait_for_fill: _duration_pb2.Duration
    after_upstream_error: bool
    trace: bool
    request_id: str
    anchor: bool
    def __init__(self, descriptor: _Optional[_Union[_descriptor_pb2.RequestDescriptor, _Mapping]] = ..., controls: _Optional[_Union[Controls, _Mapping]] = ..., budget: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., omit_body: bool = ..., accepts: _Optional[_Iterable[_Union[_decision_pb2.BodyShape, str]]] = ..., wait_for_fill: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., after_upstream_error: bool = ..., trace: bool = ..., request_id: _Optional[str] = ..., anchor: bool = ...) -> None: ...

class LookupResponse(_message.Message):
    __slots__ = ("decision",)
    DECISION_FIELD_NUMBER: _ClassVar[int]
    decision: _decision_pb2.Decision
    def __init__(self, decision: _Optional[_Union[_decision_pb2.Decision, _Mapping]] = ...) -> None: ...

class BatchLookupRequest(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[LookupRequest]
    def __init__(self, items: _Optional[_Iterable[_Union[LookupRequest, _Mapping]]] = ...) -> None: ...

class BatchLookupResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[BatchLookupResult]
    def __init__(self, results: _Optional[_Iterable[_Union[BatchLookupResult, _Mapping]]] = ...) -> None: ...

class BatchLookupResult(_message.Message):
    __slots__ = ("decision", "error")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    decision: _decision_pb2.Decision
    error: ItemError
    def __init__(self, decision: _Optional[_Union[_decision_pb2.Decision, _Mapping]] = ..., error: _Optional[_Union[ItemError, _Mapping]] = ...) -> None: ...

class ItemError(_message.Message):
    __slots__ = ("code", "message", "reason", "violations")
    CODE_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_FIELD_NUMBER: _ClassVar[int]
    REASON_FIELD_NUMBER: _ClassVar[int]
    VIOLATIONS_FIELD_NUMBER: _ClassVar[int]
    code: int
    message: str
    reason: str
    violations: _containers.RepeatedCompositeFieldContainer[FieldViolation]
    def __init__(self, code: _Optional[int] = ..., message: _Optional[str] = ..., reason: _Optional[str] = ..., violations: _Optional[_Iterable[_Union[FieldViolation, _Mapping]]] = ...) -> None: ...

class FieldViolation(_message.Message):
    __slots__ = ("field", "description")
    FIELD_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    field: str
    description: str
    def __init__(self, field: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class StoreRequest(_message.Message):
    __slots__ = ("fill_token", "descriptor", "response", "ttl", "logging_disabled", "namespace")
    FILL_TOKEN_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTOR_FIELD_NUMBER: _ClassVar[int]
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    LOGGING_DISABLED_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    fill_token: bytes
    descriptor: _descriptor_pb2.RequestDescriptor
    response: UpstreamResponse
    ttl: _duration_pb2.Duration
    logging_disabled: bool
    namespace: str
    def __init__(self, fill_token: _Optional[bytes] = ..., descriptor: _Optional[_Union[_descriptor_pb2.RequestDescriptor, _Mapping]] = ..., response: _Optional[_Union[UpstreamResponse, _Mapping]] = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., logging_disabled: bool = ..., namespace: _Optional[str] = ...) -> None: ...

class UpstreamResponse(_message.Message):
    __slots__ = ("body", "content_type", "status_code", "finish_reasons", "stream_complete", "usage", "cost_usd", "contains_tool_calls", "refused", "output_guardrail_modified", "guardrail_failed_open", "cacheable", "served", "fallback_used", "source_request_id", "request_start_time")
    BODY_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    STATUS_CODE_FIELD_NUMBER: _ClassVar[int]
    FINISH_REASONS_FIELD_NUMBER: _ClassVar[int]
    STREAM_COMPLETE_FIELD_NUMBER: _ClassVar[int]
    USAGE_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_GUARDRAIL_MODIFIED_FIELD_NUMBER: _ClassVar[int]
    GUARDRAIL_FAILED_OPEN_FIELD_NUMBER: _ClassVar[int]
    CACHEABLE_FIELD_NUMBER: _ClassVar[int]
    SERVED_FIELD_NUMBER: _ClassVar[int]
    FALLBACK_USED_FIELD_NUMBER: _ClassVar[int]
    SOURCE_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    REQUEST_START_TIME_FIELD_NUMBER: _ClassVar[int]
    body: bytes
    content_type: str
    status_code: int
    finish_reasons: _containers.RepeatedScalarFieldContainer[str]
    stream_complete: bool
    usage: _decision_pb2.Usage
    cost_usd: float
    contains_tool_calls: bool
    refused: bool
    output_guardrail_modified: bool
    guardrail_failed_open: bool
    cacheable: bool
    served: _descriptor_pb2.Target
    fallback_used: bool
    source_request_id: str
    request_start_time: _timestamp_pb2.Timestamp
    def __init__(self, body: _Optional[bytes] = ..., content_type: _Optional[str] = ..., status_code: _Optional[int] = ..., finish_reasons: _Optional[_Iterable[str]] = ..., stream_complete: bool = ..., usage: _Optional[_Union[_decision_pb2.Usage, _Mapping]] = ..., cost_usd: _Optional[float] = ..., contains_tool_calls: bool = ..., refused: bool = ..., output_guardrail_modified: bool = ..., guardrail_failed_open: bool = ..., cacheable: bool = ..., served: _Optional[_Union[_descriptor_pb2.Target, _Mapping]] = ..., fallback_used: bool = ..., source_request_id: _Optional[str] = ..., request_start_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class StoreResponse(_message.Message):
    __slots__ = ("outcome", "refusal_reason", "entries", "expire_time", "cache_status")
    OUTCOME_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_REASON_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    CACHE_STATUS_FIELD_NUMBER: _ClassVar[int]
    outcome: StoreOutcome
    refusal_reason: _reason_pb2.RefusalReason
    entries: _containers.RepeatedCompositeFieldContainer[StoredEntry]
    expire_time: _timestamp_pb2.Timestamp
    cache_status: str
    def __init__(self, outcome: _Optional[_Union[StoreOutcome, str]] = ..., refusal_reason: _Optional[_Union[_reason_pb2.RefusalReason, str]] = ..., entries: _Optional[_Iterable[_Union[StoredEntry, _Mapping]]] = ..., expire_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., cache_status: _Optional[str] = ...) -> None: ...

class StoredEntry(_message.Message):
    __slots__ = ("kind", "entry_id")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    kind: _decision_pb2.MatchKind
    entry_id: str
    def __init__(self, kind: _Optional[_Union[_decision_pb2.MatchKind, str]] = ..., entry_id: _Optional[str] = ...) -> None: ...

class BatchStoreRequest(_message.Message):
    __slots__ = ("items",)
    ITEMS_FIELD_NUMBER: _ClassVar[int]
    items: _containers.RepeatedCompositeFieldContainer[StoreRequest]
    def __init__(self, items: _Optional[_Iterable[_Union[StoreRequest, _Mapping]]] = ...) -> None: ...

class BatchStoreResponse(_message.Message):
    __slots__ = ("results",)
    RESULTS_FIELD_NUMBER: _ClassVar[int]
    results: _containers.RepeatedCompositeFieldContainer[BatchStoreResult]
    def __init__(self, results: _Optional[_Iterable[_Union[BatchStoreResult, _Mapping]]] = ...) -> None: ...

class BatchStoreResult(_message.Message):
    __slots__ = ("response", "error")
    RESPONSE_FIELD_NUMBER: _ClassVar[int]
    ERROR_FIELD_NUMBER: _ClassVar[int]
    response: StoreResponse
    error: ItemError
    def __init__(self, response: _Optional[_Union[StoreResponse, _Mapping]] = ..., error: _Optional[_Union[ItemError, _Mapping]] = ...) -> None: ...

class AbandonRequest(_message.Message):
    __slots__ = ("fill_token",)
    FILL_TOKEN_FIELD_NUMBER: _ClassVar[int]
    fill_token: bytes
    def __init__(self, fill_token: _Optional[bytes] = ...) -> None: ...

class AbandonResponse(_message.Message):
    __slots__ = ("released",)
    RELEASED_FIELD_NUMBER: _ClassVar[int]
    released: bool
    def __init__(self, released: bool = ...) -> None: ...

class RecordFeedbackRequest(_message.Message):
    __slots__ = ("feedback_token", "entry_id", "verdict", "source")
    FEEDBACK_TOKEN_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    feedback_token: bytes
    entry_id: str
    verdict: Verdict
    source: str
    def __init__(self, feedback_token: _Optional[bytes] = ..., entry_id: _Optional[str] = ..., verdict: _Optional[_Union[Verdict, str]] = ..., source: _Optional[str] = ...) -> None: ...

class RecordFeedbackResponse(_message.Message):
    __slots__ = ("recorded",)
    RECORDED_FIELD_NUMBER: _ClassVar[int]
    recorded: bool
    def __init__(self, recorded: bool = ...) -> None: ...
