"""Short ways to say what a gateway would ask."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from google.protobuf.duration_pb2 import Duration

from askonce.v1 import (
    decision_service_pb2,
    descriptor_pb2,
)

Descriptor = descriptor_pb2.RequestDescriptor


HELLO = [{"role": "user", "content": "hi"}]


def dumps(value: Any) -> bytes:
    """JSON as a gateway would send it; bytes pass as they are."""
    return value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()


def parts(
    messages: Any = None, *, params: Any = None, system: Any = None, tools: Any = None
) -> descriptor_pb2.Content:
    """Normalized parts; what is None is absent."""
    given = {"messages": messages, "system": system, "tools": tools, "params": params}
    return descriptor_pb2.Content(
        **{name: dumps(value) for name, value in given.items() if value is not None}
    )


def describe(
    tenant: str | None = "acme",
    messages: Any = HELLO,
    *,
    params: Any = None,
    system: Any = None,
    tools: Any = None,
    **changes: Any,
) -> Descriptor:
    """A chat request at temperature 0, not streamed, to openai/gpt-4o, with `changes` of its fields."""
    fields: dict[str, Any] = {
        "dialect": "openai",
        "endpoint": "chat",
        "served": descriptor_pb2.Target(provider="openai", model="gpt-4o"),
        "stream": False,
        "scope": {"tenant": tenant} if tenant is not None else {},
    }
    if not {"parts", "body_json", "digests"} & changes.keys():
        params = {"temperature": 0} if params is None else params
        fields["parts"] = parts(messages, params=params, system=system, tools=tools)
    fields.update(changes)
    return Descriptor(**{name: value for name, value in fields.items() if value is not None})


def with_body(tenant: str, body: Any, **changes: Any) -> Descriptor:
    """The same as a provider's own body; it says by itself whether it is a stream."""
    return describe(tenant, **{"body_json": dumps(body), "stream": None, **changes})


def turns(*said: str) -> list[dict[str, str]]:
    """A conversation: user and assistant in turn."""
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]


BODIES: Mapping[tuple[str, str], dict[str, Any]] = {
    ("openai", "chat"): {"model": "gpt-4o", "messages": HELLO},
    ("openai", "responses"): {"model": "gpt-4o", "input": "hi"},
    ("openai", "embeddings"): {"model": "e", "input": "hi"},
    ("anthropic", "messages"): {"model": "claude", "max_tokens": 64, "messages": HELLO},
}
"""A small body of every dialect and endpoint that is known."""


def target(provider: str = "openai", model: str = "gpt-4o") -> descriptor_pb2.Target:
    return descriptor_pb2.Target(provider=provider, model=model)


def seconds(value: float) -> Duration:
    duration = Duration()
    duration.FromNanoseconds(round(value * 1e9))
    return duration


def wants_stream(asked: Descriptor) -> bool:
    """Whether the caller of `asked` wants a stream."""
    if asked.WhichOneof("content") == "body_json" and not asked.HasField("stream"):
        return bool(json.loads(asked.body_json).get("stream"))
    return bool(asked.stream)


_CONTROLS = frozenset(decision_service_pb2.Controls.DESCRIPTOR.fields_by_name)


def request(asked: Descriptor, **rest: Any) -> decision_service_pb2.LookupRequest:
    """A Lookup of `asked`; what is a control goes there."""
    controls = {name: rest.pop(name) for name in list(rest) if name in _CONTROLS}
    if controls:
        rest["controls"] = decision_service_pb2.Controls(**controls)
    return decision_service_pb2.LookupRequest(descriptor=asked, **rest)
