from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Iterable as _Iterable, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EntryRecord(_message.Message):
    __slots__ = ("schema", "matcher", "fingerprint", "scope_root", "store_id", "start_ms", "store_ms", "expire_ms", "rule_id", "source_request_id", "stream", "contains_tool_calls", "has_usage", "input_tokens", "output_tokens", "cost_usd", "body_bytes", "scope_key", "sequence", "stale_ms")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    MATCHER_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    SCOPE_ROOT_FIELD_NUMBER: _ClassVar[int]
    STORE_ID_FIELD_NUMBER: _ClassVar[int]
    START_MS_FIELD_NUMBER: _ClassVar[int]
    STORE_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_MS_FIELD_NUMBER: _ClassVar[int]
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_REQUEST_ID_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    CONTAINS_TOOL_CALLS_FIELD_NUMBER: _ClassVar[int]
    HAS_USAGE_FIELD_NUMBER: _ClassVar[int]
    INPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    OUTPUT_TOKENS_FIELD_NUMBER: _ClassVar[int]
    COST_USD_FIELD_NUMBER: _ClassVar[int]
    BODY_BYTES_FIELD_NUMBER: _ClassVar[int]
    SCOPE_KEY_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    STALE_MS_FIELD_NUMBER: _ClassVar[int]
    schema: int
    matcher: int
    fingerprint: bytes
    scope_root: bytes
    store_id: int
    start_ms: int
    store_ms: int
    expire_ms: int
    rule_id: str
    source_request_id: str
    stream: bool
    contains_tool_calls: bool
    has_usage: bool
    input_tokens: int
    output_tokens: int
    cost_usd: float
    body_bytes: int
    scope_key: bytes
    sequence: int
    stale_ms: int
    def __init__(self, schema: _Optional[int] = ..., matcher: _Optional[int] = ..., fingerprint: _Optional[bytes] = ..., scope_root: _Optional[bytes] = ..., store_id: _Optional[int] = ..., start_ms: _Optional[int] = ..., store_ms: _Optional[int] = ..., expire_ms: _Optional[int] = ..., rule_id: _Optional[str] = ..., source_request_id: _Optional[str] = ..., stream: bool = ..., contains_tool_calls: bool = ..., has_usage: bool = ..., input_tokens: _Optional[int] = ..., output_tokens: _Optional[int] = ..., cost_usd: _Optional[float] = ..., body_bytes: _Optional[int] = ..., scope_key: _Optional[bytes] = ..., sequence: _Optional[int] = ..., stale_ms: _Optional[int] = ...) -> None: ...

class VectorRecord(_message.Message):
    __slots__ = ("schema", "entry_id", "features", "text", "answer_group", "key_id", "sealed")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ANSWER_GROUP_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    schema: int
    entry_id: bytes
    features: bytes
    text: str
    answer_group: bytes
    key_id: bytes
    sealed: bytes
    def __init__(self, schema: _Optional[int] = ..., entry_id: _Optional[bytes] = ..., features: _Optional[bytes] = ..., text: _Optional[str] = ..., answer_group: _Optional[bytes] = ..., key_id: _Optional[bytes] = ..., sealed: _Optional[bytes] = ...) -> None: ...

class SecretVector(_message.Message):
    __slots__ = ("vector", "features", "text", "answer_group")
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    ANSWER_GROUP_FIELD_NUMBER: _ClassVar[int]
    vector: bytes
    features: bytes
    text: str
    answer_group: bytes
    def __init__(self, vector: _Optional[bytes] = ..., features: _Optional[bytes] = ..., text: _Optional[str] = ..., answer_group: _Optional[bytes] = ...) -> None: ...

class PartitionRecord(_message.Message):
    __slots__ = ("schema", "sequence", "rows", "scope_key")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    SEQUENCE_FIELD_NUMBER: _ClassVar[int]
    ROWS_FIELD_NUMBER: _ClassVar[int]
    SCOPE_KEY_FIELD_NUMBER: _ClassVar[int]
    schema: int
    sequence: int
    rows: int
    scope_key: bytes
    def __init__(self, schema: _Optional[int] = ..., sequence: _Optional[int] = ..., rows: _Optional[int] = ..., scope_key: _Optional[bytes] = ...) -> None: ...

class StoreRecord(_message.Message):
    __slots__ = ("schema", "scope_root", "entries", "outline")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    SCOPE_ROOT_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    OUTLINE_FIELD_NUMBER: _ClassVar[int]
    schema: int
    scope_root: bytes
    entries: _containers.RepeatedScalarFieldContainer[bytes]
    outline: bytes
    def __init__(self, schema: _Optional[int] = ..., scope_root: _Optional[bytes] = ..., entries: _Optional[_Iterable[bytes]] = ..., outline: _Optional[bytes] = ...) -> None: ...

class BodyHeader(_message.Message):
    __slots__ = ("schema", "content_type", "content_sha256", "key_id")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    CONTENT_SHA256_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    schema: int
    content_type: str
    content_sha256: bytes
    key_id: bytes
    def __init__(self, schema: _Optional[int] = ..., content_type: _Optional[str] = ..., content_sha256: _Optional[bytes] = ..., key_id: _Optional[bytes] = ...) -> None: ...

class ScopeRecord(_message.Message):
    __slots__ = ("schema", "generation_names", "generations", "entries", "bytes", "rule_id")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    GENERATION_NAMES_FIELD_NUMBER: _ClassVar[int]
    GENERATIONS_FIELD_NUMBER: _ClassVar[int]
    ENTRIES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    schema: int
    generation_names: _containers.RepeatedScalarFieldContainer[bytes]
    generations: _containers.RepeatedScalarFieldContainer[bytes]
    entries: int
    bytes: int
    rule_id: str
    def __init__(self, schema: _Optional[int] = ..., generation_names: _Optional[_Iterable[bytes]] = ..., generations: _Optional[_Iterable[bytes]] = ..., entries: _Optional[int] = ..., bytes: _Optional[int] = ..., rule_id: _Optional[str] = ...) -> None: ...

class FillToken(_message.Message):
    __slots__ = ("schema", "rule_id", "dialect", "endpoint", "stream", "served_provider", "served_model", "scope_root", "generation_names", "generations", "keys", "ttl_ms", "start_ms", "expire_ms", "scope_dims", "vector", "features", "text", "holder", "lease", "outline", "proposed")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    DIALECT_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    SERVED_PROVIDER_FIELD_NUMBER: _ClassVar[int]
    SERVED_MODEL_FIELD_NUMBER: _ClassVar[int]
    SCOPE_ROOT_FIELD_NUMBER: _ClassVar[int]
    GENERATION_NAMES_FIELD_NUMBER: _ClassVar[int]
    GENERATIONS_FIELD_NUMBER: _ClassVar[int]
    KEYS_FIELD_NUMBER: _ClassVar[int]
    TTL_MS_FIELD_NUMBER: _ClassVar[int]
    START_MS_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_MS_FIELD_NUMBER: _ClassVar[int]
    SCOPE_DIMS_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    FEATURES_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    HOLDER_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    OUTLINE_FIELD_NUMBER: _ClassVar[int]
    PROPOSED_FIELD_NUMBER: _ClassVar[int]
    schema: int
    rule_id: str
    dialect: str
    endpoint: str
    stream: bool
    served_provider: str
    served_model: str
    scope_root: bytes
    generation_names: _containers.RepeatedScalarFieldContainer[bytes]
    generations: _containers.RepeatedScalarFieldContainer[bytes]
    keys: _containers.RepeatedCompositeFieldContainer[FillKey]
    ttl_ms: int
    start_ms: int
    expire_ms: int
    scope_dims: _containers.RepeatedScalarFieldContainer[str]
    vector: bytes
    features: bytes
    text: str
    holder: bytes
    lease: bytes
    outline: bytes
    proposed: Proposed
    def __init__(self, schema: _Optional[int] = ..., rule_id: _Optional[str] = ..., dialect: _Optional[str] = ..., endpoint: _Optional[str] = ..., stream: bool = ..., served_provider: _Optional[str] = ..., served_model: _Optional[str] = ..., scope_root: _Optional[bytes] = ..., generation_names: _Optional[_Iterable[bytes]] = ..., generations: _Optional[_Iterable[bytes]] = ..., keys: _Optional[_Iterable[_Union[FillKey, _Mapping]]] = ..., ttl_ms: _Optional[int] = ..., start_ms: _Optional[int] = ..., expire_ms: _Optional[int] = ..., scope_dims: _Optional[_Iterable[str]] = ..., vector: _Optional[bytes] = ..., features: _Optional[bytes] = ..., text: _Optional[str] = ..., holder: _Optional[bytes] = ..., lease: _Optional[bytes] = ..., outline: _Optional[bytes] = ..., proposed: _Optional[_Union[Proposed, _Mapping]] = ...) -> None: ...

class Proposed(_message.Message):
    __slots__ = ("label_id", "method", "fingerprint", "similarity", "ticket", "guard")
    LABEL_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    GUARD_FIELD_NUMBER: _ClassVar[int]
    label_id: bytes
    method: int
    fingerprint: bytes
    similarity: float
    ticket: bytes
    guard: str
    def __init__(self, label_id: _Optional[bytes] = ..., method: _Optional[int] = ..., fingerprint: _Optional[bytes] = ..., similarity: _Optional[float] = ..., ticket: _Optional[bytes] = ..., guard: _Optional[str] = ...) -> None: ...

class BarRecord(_message.Message):
    __slots__ = ("schema", "vectors", "key_id", "sealed")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    VECTORS_FIELD_NUMBER: _ClassVar[int]
    KEY_ID_FIELD_NUMBER: _ClassVar[int]
    SEALED_FIELD_NUMBER: _ClassVar[int]
    schema: int
    vectors: _containers.RepeatedScalarFieldContainer[bytes]
    key_id: bytes
    sealed: bytes
    def __init__(self, schema: _Optional[int] = ..., vectors: _Optional[_Iterable[bytes]] = ..., key_id: _Optional[bytes] = ..., sealed: _Optional[bytes] = ...) -> None: ...

class FeedbackToken(_message.Message):
    __slots__ = ("schema", "served", "rule_id", "scope_key", "partition", "generation_names", "generations", "vector", "expire_ms")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    SERVED_FIELD_NUMBER: _ClassVar[int]
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    SCOPE_KEY_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    GENERATION_NAMES_FIELD_NUMBER: _ClassVar[int]
    GENERATIONS_FIELD_NUMBER: _ClassVar[int]
    VECTOR_FIELD_NUMBER: _ClassVar[int]
    EXPIRE_MS_FIELD_NUMBER: _ClassVar[int]
    schema: int
    served: Proposed
    rule_id: str
    scope_key: bytes
    partition: bytes
    generation_names: _containers.RepeatedScalarFieldContainer[bytes]
    generations: _containers.RepeatedScalarFieldContainer[bytes]
    vector: bytes
    expire_ms: int
    def __init__(self, schema: _Optional[int] = ..., served: _Optional[_Union[Proposed, _Mapping]] = ..., rule_id: _Optional[str] = ..., scope_key: _Optional[bytes] = ..., partition: _Optional[bytes] = ..., generation_names: _Optional[_Iterable[bytes]] = ..., generations: _Optional[_Iterable[bytes]] = ..., vector: _Optional[bytes] = ..., expire_ms: _Optional[int] = ...) -> None: ...

class LabelRecord(_message.Message):
    __slots__ = ("schema", "label_id", "at_ms", "rule_id", "method", "verdict", "scope_key", "generation_names", "generations", "partition", "entry_id", "similarity", "guard", "ticket", "source", "epoch")
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    LABEL_ID_FIELD_NUMBER: _ClassVar[int]
    AT_MS_FIELD_NUMBER: _ClassVar[int]
    RULE_ID_FIELD_NUMBER: _ClassVar[int]
    METHOD_FIELD_NUMBER: _ClassVar[int]
    VERDICT_FIELD_NUMBER: _ClassVar[int]
    SCOPE_KEY_FIELD_NUMBER: _ClassVar[int]
    GENERATION_NAMES_FIELD_NUMBER: _ClassVar[int]
    GENERATIONS_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    ENTRY_ID_FIELD_NUMBER: _ClassVar[int]
    SIMILARITY_FIELD_NUMBER: _ClassVar[int]
    GUARD_FIELD_NUMBER: _ClassVar[int]
    TICKET_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    schema: int
    label_id: bytes
    at_ms: int
    rule_id: str
    method: int
    verdict: int
    scope_key: bytes
    generation_names: _containers.RepeatedScalarFieldContainer[bytes]
    generations: _containers.RepeatedScalarFieldContainer[bytes]
    partition: bytes
    entry_id: bytes
    similarity: float
    guard: str
    ticket: bytes
    source: str
    epoch: bytes
    def __init__(self, schema: _Optional[int] = ..., label_id: _Optional[bytes] = ..., at_ms: _Optional[int] = ..., rule_id: _Optional[str] = ..., method: _Optional[int] = ..., verdict: _Optional[int] = ..., scope_key: _Optional[bytes] = ..., generation_names: _Optional[_Iterable[bytes]] = ..., generations: _Optional[_Iterable[bytes]] = ..., partition: _Optional[bytes] = ..., entry_id: _Optional[bytes] = ..., similarity: _Optional[float] = ..., guard: _Optional[str] = ..., ticket: _Optional[bytes] = ..., source: _Optional[str] = ..., epoch: _Optional[bytes] = ...) -> None: ...

class FillKey(_message.Message):
    __slots__ = ("matcher", "scope_key", "fingerprint", "key_policy", "partition")
    MATCHER_FIELD_NUMBER: _ClassVar[int]
    SCOPE_KEY_FIELD_NUMBER: _ClassVar[int]
    FINGERPRINT_FIELD_NUMBER: _ClassVar[int]
    KEY_POLICY_FIELD_NUMBER: _ClassVar[int]
    PARTITION_FIELD_NUMBER: _ClassVar[int]
    matcher: int
    scope_key: bytes
    fingerprint: bytes
    key_policy: bytes
    partition: bytes
    def __init__(self, matcher: _Optional[int] = ..., scope_key: _Optional[bytes] = ..., fingerprint: _Optional[bytes] = ..., key_policy: _Optional[bytes] = ..., partition: _Optional[bytes] = ...) -> None: ...

class CountsRecord(_message.Message):
    __slots__ = ("schema", "counts")
    class CountsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: int
        def __init__(self, key: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...
    SCHEMA_FIELD_NUMBER: _ClassVar[int]
    COUNTS_FIELD_NUMBER: _ClassVar[int]
    schema: int
    counts: _containers.ScalarMap[str, int]
    def __init__(self, schema: _Optional[int] = ..., counts: _Optional[_Mapping[str, int]] = ...) -> None: ...
