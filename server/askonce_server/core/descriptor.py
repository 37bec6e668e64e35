"""One LLM request as the core sees it: plain values, no transport."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from askonce_server.core.reasons import Mode

GENERATING_ENDPOINTS = frozenset({"chat", "responses", "messages"})
"""The endpoints whose answers are generated text: only they stream, sample and finish."""

DETERMINISTIC_ENDPOINTS = frozenset({"embeddings", "moderations", "rerank", "classify"})
"""Endpoints that compute: whatever their params are called, they do not sample."""


@dataclass(frozen=True, slots=True)
class Target:
    """An upstream in the gateway's own vocabulary."""

    provider: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Content:
    """A request in four normalized parts, each one JSON document; empty bytes mean absent."""

    messages: bytes = b""
    system: bytes = b""
    tools: bytes = b""
    params: bytes = b""


@dataclass(frozen=True, slots=True)
class Facts:
    """What digests cannot say; what the caller leaves unsaid counts as true."""

    sampling: bool = True
    remote_content: bool = True
    stateful: bool = True
    personalized: bool = True


@dataclass(frozen=True, slots=True)
class Digests:
    """A request as digests of the gateway's own canonical forms (32 bytes each, normalized may be empty)."""

    exact_sha256: bytes
    normalized_sha256: bytes
    canonicalization: str
    canonicalization_version: str
    facts: Facts = field(default_factory=Facts)


@dataclass(frozen=True, slots=True)
class Embedding:
    """A vector that the gateway made: float32 little endian, 4 bytes a dimension."""

    embedder: str
    values: bytes


@dataclass(slots=True)
class Descriptor:
    """One LLM request: who asks, which route it takes, what it says. Never mutated after it was made."""

    dialect: str
    endpoint: str
    served: Target
    requested: Target
    route_id: str
    route_version: str
    rule_branch: str
    stream: bool | None
    scope: Mapping[str, str]
    content: Content | bytes | Digests
    """`bytes` is the provider's own JSON body."""
    versions: Mapping[str, str]
    headers: Mapping[str, str]
    """Names are in lower case."""
    embedding: Embedding | None
    personalized: bool
    attributes: Mapping[str, str]

    @property
    def generating(self) -> bool:
        """Whether the endpoint generates text."""
        return self.endpoint in GENERATING_ENDPOINTS


@dataclass(frozen=True, slots=True)
class Controls:
    """What the caller asks of the cache for one request. Times are milliseconds; None means unsaid."""

    mode: Mode = Mode.DEFAULT
    ttl_ms: int | None = None
    namespace: str = ""
    max_age_ms: int | None = None
    min_fresh_ms: int | None = None
    max_stale_ms: int | None = None
    logging_disabled: bool = False
