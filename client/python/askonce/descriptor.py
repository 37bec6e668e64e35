"""What a gateway says of one LLM request.

Values are taken as they are and serialized at the call, inside its fail-open guard: a body that cannot be
serialized costs a bypass, never an exception in the gateway's request path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypedDict, Unpack

Json = Any
"""A JSON value as Python has it, or `bytes`: a JSON document in UTF-8, which is sent as it is."""


@dataclass(frozen=True, slots=True)
class Target:
    """An upstream in the gateway's own vocabulary; names are taken as they are."""

    provider: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """A request in four normalized parts; None means absent.

    `bytes` is a JSON document; everything else, a `str` too, is a JSON value.
    """

    messages: Json = field(default=None, repr=False)
    """The array of turns, or the `input` of an embeddings call."""
    system: Json = field(default=None, repr=False)
    """The system prompt where the dialect keeps it apart from the turns."""
    tools: Json = field(default=None, repr=False)
    params: Json = field(default=None, repr=False)
    """The object of every other member that is forwarded to the provider."""


@dataclass(frozen=True, slots=True)
class ProviderBody:
    """The provider's own request body: a JSON document (`bytes`, `str`) or its object."""

    json: bytes | str | Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class DigestFacts:
    """What digests cannot say. None counts as True, the worst case."""

    sampling: bool | None = None
    """Neither a temperature of 0 nor a seed."""
    remote_content: bool | None = None
    """A URL or a file id."""
    stateful: bool | None = None
    """State that the provider keeps."""
    personalized: bool | None = None
    """The answer will depend on who asks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Digests:
    """A request as digests of the gateway's own canonical forms, 32 bytes each."""

    exact_sha256: bytes
    normalized_sha256: bytes = b""
    canonicalization: str
    canonicalization_version: str
    facts: DigestFacts = DigestFacts()


@dataclass(frozen=True, slots=True)
class Embedding:
    """A vector that the gateway made: numbers, or float32 little endian in `bytes`."""

    embedder: str
    values: bytes | Sequence[float] = field(repr=False)


class DescriptorOptions(TypedDict, total=False):
    """The optional parts of a `Descriptor`; see there."""

    requested: Target | None
    route_id: str
    route_version: str
    rule_branch: str
    stream: bool | None
    scope: Mapping[str, str]
    versions: Mapping[str, str]
    headers: Mapping[str, str]
    embedding: Embedding | None
    personalized: bool
    attributes: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Descriptor:
    """One LLM request: who asks, which route it takes, what it says.

    Everything that can change the response is key material. Content and scope stay out of `repr`.
    """

    dialect: str
    """Whose shapes the content follows, for example `openai` or `anthropic`."""
    endpoint: str
    """`chat`, `responses`, `messages`, `embeddings`, …"""
    content: Content | ProviderBody | Digests
    served: Target | None = None
    """The upstream that the gateway will call now, after routing."""
    requested: Target | None = None
    """The upstream that the client asked for."""
    route_id: str = ""
    route_version: str = ""
    """Required with `route_id`."""
    rule_branch: str = ""
    stream: bool | None = None
    """Whether the caller wants a stream. A `ProviderBody` says it itself."""
    scope: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Who may share the answer, for example `{"tenant": "acme"}`."""
    versions: Mapping[str, str] = field(default_factory=dict)
    """Versions that change answers without being in the body, for example of a prompt template."""
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Forwarded headers that change answers, for example `anthropic-beta`."""
    embedding: Embedding | None = None
    personalized: bool = False
    """Whether the answer will depend on who asks."""
    attributes: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Facts for rule matching and traces; never key material."""

    @classmethod
    def openai_chat(
        cls, body: bytes | str | Mapping[str, Any], *, served: Target, **rest: Unpack[DescriptorOptions]
    ) -> Self:
        """Describe a body of `POST /v1/chat/completions`."""
        content = ProviderBody(body)
        return cls(dialect="openai", endpoint="chat", content=content, served=served, **rest)

    @classmethod
    def openai_responses(
        cls, body: bytes | str | Mapping[str, Any], *, served: Target, **rest: Unpack[DescriptorOptions]
    ) -> Self:
        """Describe a body of `POST /v1/responses`."""
        content = ProviderBody(body)
        return cls(dialect="openai", endpoint="responses", content=content, served=served, **rest)

    @classmethod
    def openai_embeddings(
        cls, body: bytes | str | Mapping[str, Any], *, served: Target, **rest: Unpack[DescriptorOptions]
    ) -> Self:
        """Describe a body of `POST /v1/embeddings`."""
        content = ProviderBody(body)
        return cls(dialect="openai", endpoint="embeddings", content=content, served=served, **rest)

    @classmethod
    def anthropic_messages(
        cls, body: bytes | str | Mapping[str, Any], *, served: Target, **rest: Unpack[DescriptorOptions]
    ) -> Self:
        """Describe a body of `POST /v1/messages`."""
        content = ProviderBody(body)
        return cls(dialect="anthropic", endpoint="messages", content=content, served=served, **rest)
