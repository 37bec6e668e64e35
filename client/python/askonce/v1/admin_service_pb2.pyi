from askonce.v1 import decision_pb2 as _decision_pb2
from askonce.v1 import decision_service_pb2 as _decision_service_pb2
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

class EntryFate(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    ENTRY_FATE_UNSPECIFIED: _ClassVar[EntryFate]
    ENTRY_FATE_LIVE: _ClassVar[EntryFate]
    ENTRY_FATE_EXPIRED: _ClassVar[EntryFate]
    ENTRY_FATE_EVICTED: _ClassVar[EntryFate]
    ENTRY_FATE_PURGED: _ClassVar[EntryFate]
    ENTRY_FATE_DELETED: _ClassVar[EntryFate]
    ENTRY_FATE_REFUSED: _ClassVar[EntryFate]
    ENTRY_FATE_UNKNOWN: _ClassVar[EntryFate]
ENTRY_FATE_UNSPECIFIED: EntryFate
ENTRY_FATE_LIVE: EntryFate
ENTRY_FATE_EXPIRED: EntryFate
ENTRY_FATE_EVICTED: EntryFate
ENTRY_FATE_PURGED: EntryFate
ENTRY_FATE_DELETED: EntryFate
ENTRY_FATE_REFUSED: EntryFate
ENTRY_FATE_UNKNOWN: EntryFate

class GetEntryRequest(_message.Message):
    __slots__ = ("entry_id",)
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    entry_id: str
    def __init__(self, entry_id: _Optional[str] = ...) -> None: ...

class GetEntryResponse(_message.Message):
    __slots__ = ("kind", "entry", "rule_id", "body_bytes")
    KIND_FIELD_NUMBER: _ClassVar[int]
    ENTRY_FIELD_NUMBER: _ClassVar[int]
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    BODY_BYTES_FIELD_NUMBER: _ClassVar[int]
    kind: _decision_pb2.MatchKind
    entry: _decision_pb2.Candidate
    rule_id: str
    body_bytes: int
    def __init__(self, kind: _Optional[_Union[_decision_pb2.MatchKind, str]] = ..., entry: _Optional[_Union[_decision_pb2.Candidate, _Mapping]] = ..., rule_id: _Optional[str] = ..., body_bytes: _Optional[int] = ...) -> None: ...

class DeleteEntryRequest(_message.Message):
    __slots__ = ("entry_id",)
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    entry_id: str
    def __init__(self, entry_id: _Optional[str] = ...) -> None: ...

class DeleteEntryResponse(_message.Message):
    __slots__ = ("entries",)
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[_decision_service_pb2.StoredEntry]
    def __init__(self, entries: _Optional[_Iterable[_Union[_decision_service_pb2.StoredEntry, _Mapping]]] = ...) -> None: ...

class DimValue(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: str
    def __init__(self, name: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...

class FullScope(_message.Message):
    __slots__ = ("dims", "namespace")
    DIMS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    dims: _containers.RepeatedCompositeFieldContainer[DimValue]
    namespace: str
    def __init__(self, dims: _Optional[_Iterable[_Union[DimValue, _Mapping]]] = ..., namespace: _Optional[str] = ...) -> None: ...

class Everything(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class PurgeRequest(_message.Message):
    __slots__ = ("everything", "dim", "model", "scope", "dry_run")
    EVERYTHING_FIELD_NUMBER: _ClassVar[int]
    DIM_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    DRY_RUN_FIELD_NUMBER: _ClassVar[int]
    everything: Everything
    dim: DimValue
    model: _descriptor_pb2.Target
    scope: FullScope
    dry_run: bool
    def __init__(self, everything: _Optional[_Union[Everything, _Mapping]] = ..., dim: _Optional[_Union[DimValue, _Mapping]] = ..., model: _Optional[_Union[_descriptor_pb2.Target, _Mapping]] = ..., scope: _Optional[_Union[FullScope, _Mapping]] = ..., dry_run: bool = ...) -> None: ...

class PurgeResponse(_message.Message):
    __slots__ = ("entries", "uncovered_rules", "rows_gone_by", "entries_left")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    UNCOVERED_RULES_FIELD_NUMBER: _ClassVar[int]
    ROWS_GONE_BY_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_LEFT_FIELD_NUMBER: _ClassVar[int]
    entries: int
    uncovered_rules: _containers.RepeatedScalarFieldContainer[str]
    rows_gone_by: _timestamp_pb2.Timestamp
    entries_left: int
    def __init__(self, entries: _Optional[int] = ..., uncovered_rules: _Optional[_Iterable[str]] = ..., rows_gone_by: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., entries_left: _Optional[int] = ...) -> None: ...

class GetStatsRequest(_message.Message):
    __slots__ = ("rule_id", "since")
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    SINCE_FIELD_NUMBER: _ClassVar[int]
    rule_id: str
    since: _timestamp_pb2.Timestamp
    def __init__(self, rule_id: _Optional[str] = ..., since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ...) -> None: ...

class GetStatsResponse(_message.Message):
    __slots__ = ("decisions", "hits", "misses", "bypasses", "refreshes", "tallies", "stores", "refusals", "commits", "entries", "store_bytes", "store_limit_bytes", "shadow_agree", "shadow_disagree", "hit_rate", "uptime", "counted_since", "stale_hits", "collapsed_hits", "evictions", "partitions", "hit_latency", "miss_latency", "embeddings", "embed_cost_usd", "cost_avoided_usd", "unpriced_hits", "calls_avoided")
    class TalliesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    DECISIONS_FIELD_NUMBER: _ClassVar[int]
    HITS_FIELD_NUMBER: _ClassVar[int]
    MISSES_FIELD_NUMBER: _ClassVar[int]
    BYPASSES_FIELD_NUMBER: _ClassVar[int]
    REFRESHES_FIELD_NUMBER: _ClassVar[int]
    TALLIES_FIELD_NUMBER: _ClassVar[int]
    STORES_FIELD_NUMBER: _ClassVar[int]
    REFUSALS_FIELD_NUMBER: _ClassVar[int]
    COMMITS_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    STORE_BYTES_FIELD_NUMBER: _ClassVar[int]
    STORE_LIMIT_BYTES_FIELD_NUMBER: _ClassVar[int]
    SHADOW_AGREE_FIELD_NUMBER: _ClassVar[int]
    SHADOW_DISAGREE_FIELD_NUMBER: _ClassVar[int]
    HIT_RATE_FIELD_NUMBER: _ClassVar[int]
    UPTIME_FIELD_NUMBER: _ClassVar[int]
    COUNTED_SINCE_FIELD_NUMBER: _ClassVar[int]
    STALE_HITS_FIELD_NUMBER: _ClassVar[int]
    COLLAPSED_HITS_FIELD_NUMBER: _ClassVar[int]
    EVICTIONS_FIELD_NUMBER: _ClassVar[int]
    PARTITIONS_FIELD_NUMBER: _ClassVar[int]
    HIT_LATENCY_FIELD_NUMBER: _ClassVar[int]
    MISS_LATENCY_FIELD_NUMBER: _ClassVar[int]
    EMBEDDINGS_FIELD_NUMBER: _ClassVar[int]
    EMBED_COST_USD_FIELD_NUMBER: _ClassVar[int]
    COST_AVOIDED_USD_FIELD_NUMBER: _ClassVar[int]
    UNPRICED_HITS_FIELD_NUMBER: _ClassVar[int]
    CALLS_AVOIDED_FIELD_NUMBER: _ClassVar[int]
    decisions: int
    hits: int
    misses: int
    bypasses: int
    refreshes: int
    tallies: _containers.ScalarMap[str, int]
    stores: int
    refusals: int
    commits: int
    entries: int
    store_bytes: int
    store_limit_bytes: int
    shadow_agree: int
    shadow_disagree: int
    hit_rate: float
    uptime: _duration_pb2.Duration
    counted_since: _timestamp_pb2.Timestamp
    stale_hits: int
    collapsed_hits: int
    evictions: int
    partitions: int
    hit_latency: Latency
    miss_latency: Latency
    embeddings: int
    embed_cost_usd: float
    cost_avoided_usd: float
    unpriced_hits: int
    calls_avoided: int
    def __init__(self, decisions: _Optional[int] = ..., hits: _Optional[int] = ..., misses: _Optional[int] = ..., bypasses: _Optional[int] = ..., refreshes: _Optional[int] = ..., tallies: _Optional[_Mapping[str, int]] = ..., stores: _Optional[int] = ..., refusals: _Optional[int] = ..., commits: _Optional[int] = ..., entries: _Optional[int] = ..., store_bytes: _Optional[int] = ..., store_limit_bytes: _Optional[int] = ..., shadow_agree: _Optional[int] = ..., shadow_disagree: _Optional[int] = ..., hit_rate: _Optional[float] = ..., uptime: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., counted_since: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., stale_hits: _Optional[int] = ..., collapsed_hits: _Optional[int] = ..., evictions: _Optional[int] = ..., partitions: _Optional[int] = ..., hit_latency: _Optional[_Union[Latency, _Mapping]] = ..., miss_latency: _Optional[_Union[Latency, _Mapping]] = ..., embeddings: _Optional[int] = ..., embed_cost_usd: _Optional[float] = ..., cost_avoided_usd: _Optional[float] = ..., unpriced_hits: _Optional[int] = ..., calls_avoided: _Optional[int] = ...) -> None: ...

class Latency(_message.Message):
    __slots__ = ("count", "mean", "p50", "p95", "p99")
    COUNT_FIELD_NUMBER: _ClassVar[int]
    MEAN_FIELD_NUMBER: _ClassVar[int]
    P50_FIELD_NUMBER: _ClassVar[int]
    P95_FIELD_NUMBER: _ClassVar[int]
    P99_FIELD_NUMBER: _ClassVar[int]
    count: int
    mean: _duration_pb2.Duration
    p50: _duration_pb2.Duration
    p95: _duration_pb2.Duration
    p99: _duration_pb2.Duration
    def __init__(self, count: _Optional[int] = ..., mean: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., p50: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., p95: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ..., p99: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class GetServerInfoRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class GetServerInfoResponse(_message.Message):
    __slots__ = ("version", "key_schema", "rules", "embedders", "store_serving")
    VERSION_FIELD_NUMBER: _ClassVar[int]
    KEY_SCHEMA_FIELD_NUMBER: _ClassVar[int]
    RULES_FIELD_NUMBER: _ClassVar[int]
    EMBEDDERS_FIELD_NUMBER: _ClassVar[int]
    STORE_SERVING_FIELD_NUMBER: _ClassVar[int]
    version: str
    key_schema: str
    rules: _containers.RepeatedCompositeFieldContainer[RuleSummary]
    embedders: _containers.RepeatedCompositeFieldContainer[EmbedderSummary]
    store_serving: bool
    def __init__(self, version: _Optional[str] = ..., key_schema: _Optional[str] = ..., rules: _Optional[_Iterable[_Union[RuleSummary, _Mapping]]] = ..., embedders: _Optional[_Iterable[_Union[EmbedderSummary, _Mapping]]] = ..., store_serving: bool = ...) -> None: ...

class RuleSummary(_message.Message):
    __slots__ = ("id", "mode", "strategy", "scope", "ttl")
    ID_FIELD_NUMBER: _ClassVar[int]
    MODE_FIELD_NUMBER: _ClassVar[int]
    STRATEGY_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    TTL_FIELD_NUMBER: _ClassVar[int]
    id: str
    mode: str
    strategy: _containers.RepeatedScalarFieldContainer[_decision_pb2.MatchKind]
    scope: _containers.RepeatedScalarFieldContainer[str]
    ttl: _duration_pb2.Duration
    def __init__(self, id: _Optional[str] = ..., mode: _Optional[str] = ..., strategy: _Optional[_Iterable[_Union[_decision_pb2.MatchKind, str]]] = ..., scope: _Optional[_Iterable[str]] = ..., ttl: _Optional[_Union[_duration_pb2.Duration, _Mapping]] = ...) -> None: ...

class EmbedderSummary(_message.Message):
    __slots__ = ("name", "kind", "dimensions", "fingerprint")
    NAME_FIELD_NUMBER: _ClassVar[int]
    KIND_FIELD_NUMBER: _ClassVar[int]
    DIMENSIONS_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    name: str
    kind: str
    dimensions: int
    fingerprint: str
    def __init__(self, name: _Optional[str] = ..., kind: _Optional[str] = ..., dimensions: _Optional[int] = ..., fingerprint: _Optional[str] = ...) -> None: ...

class ExplainRequest(_message.Message):
    __slots__ = ("lookup", "other")
    LOOKUP_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    lookup: _decision_service_pb2.LookupRequest
    other: _decision_service_pb2.LookupRequest
    def __init__(self, lookup: _Optional[_Union[_decision_service_pb2.LookupRequest, _Mapping]] = ..., other: _Optional[_Union[_decision_service_pb2.LookupRequest, _Mapping]] = ...) -> None: ...

class ExplainResponse(_message.Message):
    __slots__ = ("decision", "differences", "lookup", "other", "keys", "whereabouts", "scope", "nearest", "summary", "differences_left_out", "guard")
    DECISION_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    LOOKUP_FIELD_NUMBER: _ClassVar[int]
    OTHER_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    WHEREABOUTS_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    NEAREST_FIELD_NUMBER: _ClassVar[int]
    SUMMARY_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_LEFT_OUT_FIELD_NUMBER: _ClassVar[int]
    GUARD_FIELD_NUMBER: _ClassVar[int]
    decision: _decision_pb2.Decision
    differences: _containers.RepeatedCompositeFieldContainer[Difference]
    lookup: ExplainedRequest
    other: ExplainedRequest
    keys: _containers.RepeatedCompositeFieldContainer[KeyComparison]
    whereabouts: _containers.RepeatedCompositeFieldContainer[Whereabouts]
    scope: ExplainedScope
    nearest: _containers.RepeatedCompositeFieldContainer[NearAnswer]
    summary: str
    differences_left_out: bool
    guard: str
    def __init__(self, decision: _Optional[_Union[_decision_pb2.Decision, _Mapping]] = ..., differences: _Optional[_Iterable[_Union[Difference, _Mapping]]] = ..., lookup: _Optional[_Union[ExplainedRequest, _Mapping]] = ..., other: _Optional[_Union[ExplainedRequest, _Mapping]] = ..., keys: _Optional[_Iterable[_Union[KeyComparison, _Mapping]]] = ..., whereabouts: _Optional[_Iterable[_Union[Whereabouts, _Mapping]]] = ..., scope: _Optional[_Union[ExplainedScope, _Mapping]] = ..., nearest: _Optional[_Iterable[_Union[NearAnswer, _Mapping]]] = ..., summary: _Optional[str] = ..., differences_left_out: bool = ..., guard: _Optional[str] = ...) -> None: ...

class ExplainedRequest(_message.Message):
    __slots__ = ("rule_id", "bypass_reason", "causes", "skipped")
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    BYPASS_REASON_FIELD_NUMBER: _ClassVar[int]
    CAUSES_FIELD_NUMBER: _ClassVar[int]
    SKIPPED_FIELD_NUMBER: _ClassVar[int]
    rule_id: str
    bypass_reason: _reason_pb2.BypassReason
    causes: _containers.RepeatedCompositeFieldContainer[Cause]
    skipped: _containers.RepeatedCompositeFieldContainer[_decision_pb2.SkippedMatcher]
    def __init__(self, rule_id: _Optional[str] = ..., bypass_reason: _Optional[_Union[_reason_pb2.BypassReason, str]] = ..., causes: _Optional[_Iterable[_Union[Cause, _Mapping]]] = ..., skipped: _Optional[_Iterable[_Union[_decision_pb2.SkippedMatcher, _Mapping]]] = ...) -> None: ...

class Cause(_message.Message):
    __slots__ = ("path", "description")
    PATH_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    path: str
    description: str
    def __init__(self, path: _Optional[str] = ..., description: _Optional[str] = ...) -> None: ...

class Difference(_message.Message):
    __slots__ = ("segment", "path", "description", "matchers")
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    PATH_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    MATCHERS_FIELD_NUMBER: _ClassVar[int]
    segment: str
    path: str
    description: str
    matchers: _containers.RepeatedScalarFieldContainer[_decision_pb2.MatchKind]
    def __init__(self, segment: _Optional[str] = ..., path: _Optional[str] = ..., description: _Optional[str] = ..., matchers: _Optional[_Iterable[_Union[_decision_pb2.MatchKind, str]]] = ...) -> None: ...

class KeyComparison(_message.Message):
    __slots__ = ("matcher", "same", "description")
    MATCHER_FIELD_NUMBER: _ClassVar[int]
    SAME_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    matcher: _decision_pb2.MatchKind
    same: bool
    description: str
    def __init__(self, matcher: _Optional[_Union[_decision_pb2.MatchKind, str]] = ..., same: bool = ..., description: _Optional[str] = ...) -> None: ...

class Whereabouts(_message.Message):
    __slots__ = ("matcher", "entry_id", "fate", "time", "refusal_reason", "description")
    MATCHER_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    FATE_FIELD_NUMBER: _ClassVar[int]
    TIME_FIELD_NUMBER: _ClassVar[int]
    REFUSAL_REASON_FIELD_NUMBER: _ClassVar[int]
    DESCRIPTION_FIELD_NUMBER: _ClassVar[int]
    matcher: _decision_pb2.MatchKind
    entry_id: str
    fate: EntryFate
    time: _timestamp_pb2.Timestamp
    refusal_reason: _reason_pb2.RefusalReason
    description: str
    def __init__(self, matcher: _Optional[_Union[_decision_pb2.MatchKind, str]] = ..., entry_id: _Optional[str] = ..., fate: _Optional[_Union[EntryFate, str]] = ..., time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., refusal_reason: _Optional[_Union[_reason_pb2.RefusalReason, str]] = ..., description: _Optional[str] = ...) -> None: ...

class ExplainedScope(_message.Message):
    __slots__ = ("dims", "namespace", "answers", "bounded", "last_purge", "last_purge_of")
    DIMS_FIELD_NUMBER: _ClassVar[int]
    NAMESPACE_FIELD_NUMBER: _ClassVar[int]
    ANSWERS_FIELD_NUMBER: _ClassVar[int]
    BOUNDED_FIELD_NUMBER: _ClassVar[int]
    LAST_PURGE_FIELD_NUMBER: _ClassVar[int]
    LAST_PURGE_OF_FIELD_NUMBER: _ClassVar[int]
    dims: _containers.RepeatedScalarFieldContainer[str]
    namespace: bool
    answers: int
    bounded: bool
    last_purge: _timestamp_pb2.Timestamp
    last_purge_of: str
    def __init__(self, dims: _Optional[_Iterable[str]] = ..., namespace: bool = ..., answers: _Optional[int] = ..., bounded: bool = ..., last_purge: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., last_purge_of: _Optional[str] = ...) -> None: ...

class NearAnswer(_message.Message):
    __slots__ = ("entries", "rule_id", "store_time", "expire_time", "agreeing", "differences", "compared")
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    STORE_TIME_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_TIME_FIELD_NUMBER: _ClassVar[int]
    AGREEING_FIELD_NUMBER: _ClassVar[int]
    DIFFERENCES_FIELD_NUMBER: _ClassVar[int]
    COMPARED_FIELD_NUMBER: _ClassVar[int]
    entries: _containers.RepeatedCompositeFieldContainer[_decision_service_pb2.StoredEntry]
    rule_id: str
    store_time: _timestamp_pb2.Timestamp
    expire_time: _timestamp_pb2.Timestamp
    agreeing: int
    differences: _containers.RepeatedCompositeFieldContainer[Difference]
    compared: bool
    def __init__(self, entries: _Optional[_Iterable[_Union[_decision_service_pb2.StoredEntry, _Mapping]]] = ..., rule_id: _Optional[str] = ..., store_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., expire_time: _Optional[_Union[_timestamp_pb2.Timestamp, _Mapping]] = ..., agreeing: _Optional[int] = ..., differences: _Optional[_Iterable[_Union[Difference, _Mapping]]] = ..., compared: bool = ...) -> None: ...
