from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from typing import ClassVar as _ClassVar, Mapping as _Mapping, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class RequestDescriptor(_message.Message):
    __slots__ = ("dialect", "endpoint", "served", "requested", "route_id", "route_version", "rule_branch", "stream", "scope", "parts", "body_json", "digests", "versions", "headers", "embedding", "personalized", "attributes")
    class ScopeEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class VersionsEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class HeadersEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    class AttributesEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    DIALECT_FIELD_NUMBER: _ClassVar[int]
    ENDPOINT_FIELD_NUMBER: _ClassVar[int]
    SERVED_FIELD_NUMBER: _ClassVar[int]
    REQUESTED_FIELD_NUMBER: _ClassVar[int]
    ROUTE_ID_FIELD_NUMBER: _ClassVar[int]
    ROUTE_VERSION_FIELD_NUMBER: _ClassVar[int]
    RULE_BRANCH_FIELD_NUMBER: _ClassVar[int]
    STREAM_FIELD_NUMBER: _ClassVar[int]
    SCOPE_FIELD_NUMBER: _ClassVar[int]
    PARTS_FIELD_NUMBER: _ClassVar[int]
    BODY_JSON_FIELD_NUMBER: _ClassVar[int]
    DIGESTS_FIELD_NUMBER: _ClassVar[int]
    VERSIONS_FIELD_NUMBER: _ClassVar[int]
    HEADERS_FIELD_NUMBER: _ClassVar[int]
    EMBEDDING_FIELD_NUMBER: _ClassVar[int]
    PERSONALIZED_FIELD_NUMBER: _ClassVar[int]
    ATTRIBUTES_FIELD_NUMBER: _ClassVar[int]
    dialect: str
    endpoint: str
    served: Target
    requested: Target
    route_id: str
    route_version: str
    rule_branch: str
    stream: bool
    scope: _containers.ScalarMap[str, str]
    parts: Content
    body_json: bytes
    digests: Digests
    versions: _containers.ScalarMap[str, str]
    headers: _containers.ScalarMap[str, str]
    embedding: Embedding
    personalized: bool
    attributes: _containers.ScalarMap[str, str]
    def __init__(self, dialect: _Optional[str] = ..., endpoint: _Optional[str] = ..., served: _Optional[_Union[Target, _Mapping]] = ..., requested: _Optional[_Union[Target, _Mapping]] = ..., route_id: _Optional[str] = ..., route_version: _Optional[str] = ..., rule_branch: _Optional[str] = ..., stream: bool = ..., scope: _Optional[_Mapping[str, str]] = ..., parts: _Optional[_Union[Content, _Mapping]] = ..., body_json: _Optional[bytes] = ..., digests: _Optional[_Union[Digests, _Mapping]] = ..., versions: _Optional[_Mapping[str, str]] = ..., headers: _Optional[_Mapping[str, str]] = ..., embedding: _Optional[_Union[Embedding, _Mapping]] = ..., personalized: bool = ..., attributes: _Optional[_Mapping[str, str]] = ...) -> None: ...

class Target(_message.Message):
    __slots__ = ("provider", "model")
    PROVIDER_FIELD_NUMBER: _ClassVar[int]
    MODEL_FIELD_NUMBER: _ClassVar[int]
    provider: str
    model: str
    def __init__(self, provider: _Optional[str] = ..., model: _Optional[str] = ...) -> None: ...

class Content(_message.Message):
    __slots__ = ("messages", "system", "tools", "params")
    MESSAGES_FIELD_NUMBER: _ClassVar[int]
    SYSTEM_FIELD_NUMBER: _ClassVar[int]
    TOOLS_FIELD_NUMBER: _ClassVar[int]
    PARAMS_FIELD_NUMBER: _ClassVar[int]
    messages: bytes
    system: bytes
    tools: bytes
    params: bytes
    def __init__(self, messages: _Optional[bytes] = ..., system: _Optional[bytes] = ..., tools: _Optional[bytes] = ..., params: _Optional[bytes] = ...) -> None: ...

class Digests(_message.Message):
    __slots__ = ("exact_sha256", "normalized_sha256", "canonicalization", "canonicalization_version", "facts")
    EXACT_SHA256_FIELD_NUMBER: _ClassVar[int]
    NORMALIZED_SHA256_FIELD_NUMBER: _ClassVar[int]
    CANONICALIZATION_FIELD_NUMBER: _ClassVar[int]
    CANONICALIZATION_VERSION_FIELD_NUMBER: _ClassVar[int]
    FACTS_FIELD_NUMBER: _ClassVar[int]
    exact_sha256: bytes
    normalized_sha256: bytes
    canonicalization: str
    canonicalization_version: str
    facts: DigestFacts
    def __init__(self, exact_sha256: _Optional[bytes] = ..., normalized_sha256: _Optional[bytes] = ..., canonicalization: _Optional[str] = ..., canonicalization_version: _Optional[str] = ..., facts: _Optional[_Union[DigestFacts, _Mapping]] = ...) -> None: ...

class DigestFacts(_message.Message):
    __slots__ = ("sampling", "remote_content", "stateful", "personalized")
    SAMPLING_FIELD_NUMBER: _ClassVar[int]
    REMOTE_CONTENT_FIELD_NUMBER: _ClassVar[int]
    STATEFUL_FIELD_NUMBER: _ClassVar[int]
    PERSONALIZED_FIELD_NUMBER: _ClassVar[int]
    sampling: bool
    remote_content: bool
    stateful: bool
    personalized: bool
    def __init__(self, sampling: bool = ..., remote_content: bool = ..., stateful: bool = ..., personalized: bool = ...) -> None: ...

class Embedding(_message.Message):
    __slots__ = ("embedder", "values")
    EMBEDDER_FIELD_NUMBER: _ClassVar[int]
    VALUES_FIELD_NUMBER: _ClassVar[int]
    embedder: str
    values: bytes
    def __init__(self, embedder: _Optional[str] = ..., values: _Optional[bytes] = ...) -> None: ...
