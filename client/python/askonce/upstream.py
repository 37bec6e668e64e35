"""What a provider answered, with what must be known to store it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Self, TypedDict, Unpack

from askonce.descriptor import Target
from askonce.results import Usage


class ResponseOptions(TypedDict, total=False):
    """What no provider body says; see `UpstreamResponse`."""

    content_type: str
    cost_usd: float | None
    output_guardrail_modified: bool
    guardrail_failed_open: bool
    cacheable: bool | None
    served: Target | None
    fallback_used: bool
    source_request_id: str
    request_start_time: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamResponse:
    """An answer of the provider. What is left unsaid counts against storing it.

    The class methods read finish reasons, usage, tool calls and refusals from a provider's JSON document.
    They never fail: what they cannot read stays unsaid. A recorded stream has no single document; say its
    facts yourself.
    """

    body: bytes = field(repr=False)
    """To be replayed unchanged."""
    content_type: str = "application/json"
    status_code: int
    """The provider's HTTP status. Outside 200 to 299 nothing is stored."""
    finish_reasons: Sequence[str] = ()
    """Of every choice, in the dialect's words."""
    stream_complete: bool = False
    """Whether the stream came to its terminal event. Required for streams."""
    usage: Usage | None = None
    cost_usd: float | None = None
    """What the provider charged. None: unknown."""
    contains_tool_calls: bool = False
    refused: bool = False
    """Whether the model refused."""
    output_guardrail_modified: bool = False
    guardrail_failed_open: bool = False
    """Whether an output guardrail could not run and let the answer pass."""
    cacheable: bool | None = None
    """Whether the answer may be stored. None: it may."""
    served: Target | None = None
    """The upstream that answered. None: as looked up."""
    fallback_used: bool = False
    source_request_id: str = ""
    """A later hit carries it."""
    request_start_time: datetime | None = None
    """When the request to the provider began, with a time zone. None: when it was looked up."""

    @classmethod
    def openai_chat(cls, body: bytes, *, status_code: int, **rest: Unpack[ResponseOptions]) -> Self:
        """Read a document of `POST /v1/chat/completions`."""
        document = _document(body)
        choices = list(_objects(document, "choices"))
        messages = [_object(choice, "message") for choice in choices]
        return cls(
            body=body,
            status_code=status_code,
            finish_reasons=_finish_reasons(choices),
            usage=_usage(document, "prompt_tokens", "completion_tokens"),
            contains_tool_calls=any(m.get("tool_calls") or m.get("function_call") for m in messages),
            refused=any(bool(m.get("refusal")) for m in messages),
            **rest,
        )

    @classmethod
    def openai_responses(cls, body: bytes, *, status_code: int, **rest: Unpack[ResponseOptions]) -> Self:
        """Read a document of `POST /v1/responses`."""
        document = _document(body)
        output = list(_objects(document, "output"))
        why = _object(document, "incomplete_details").get("reason")
        parts = [part for item in output for part in _objects(item, "content")]
        return cls(
            body=body,
            status_code=status_code,
            finish_reasons=tuple(r for r in (why or document.get("status"),) if isinstance(r, str)),
            usage=_usage(document, "input_tokens", "output_tokens"),
            contains_tool_calls=any(str(item.get("type", "")).endswith("_call") for item in output),
            refused=any(part.get("type") == "refusal" for part in parts),
            **rest,
        )

    @classmethod
    def openai_embeddings(cls, body: bytes, *, status_code: int, **rest: Unpack[ResponseOptions]) -> Self:
        """Read a document of `POST /v1/embeddings`."""
        usage = _usage(_document(body), "prompt_tokens", None)
        return cls(body=body, status_code=status_code, usage=usage, **rest)

    @classmethod
    def anthropic_messages(cls, body: bytes, *, status_code: int, **rest: Unpack[ResponseOptions]) -> Self:
        """Read a document of `POST /v1/messages`."""
        document = _document(body)
        reason = document.get("stop_reason")
        blocks = _objects(document, "content")
        return cls(
            body=body,
            status_code=status_code,
            finish_reasons=(reason,) if isinstance(reason, str) else (),
            usage=_usage(document, "input_tokens", "output_tokens"),
            contains_tool_calls=any(str(block.get("type", "")).endswith("tool_use") for block in blocks),
            refused=reason == "refusal",
            **rest,
        )


def _document(body: bytes) -> Mapping[str, Any]:
    try:
        document = json.loads(body)
    except (TypeError, ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _object(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    member = parent.get(name)
    return member if isinstance(member, dict) else {}


def _objects(parent: Mapping[str, Any], name: str) -> Iterator[Mapping[str, Any]]:
    members = parent.get(name)
    return (m for m in members if isinstance(m, dict)) if isinstance(members, list) else iter(())


def _finish_reasons(choices: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return one reason a choice; a choice without one makes the whole answer unfinished, hence `null`."""
    reasons = [choice.get("finish_reason") for choice in choices]
    return tuple(reason if isinstance(reason, str) else "null" for reason in reasons)


def _usage(document: Mapping[str, Any], input_name: str, output_name: str | None) -> Usage | None:
    usage = _object(document, "usage")
    tokens_in = _count(usage.get(input_name))
    tokens_out = 0 if output_name is None else _count(usage.get(output_name))
    return None if tokens_in is None or tokens_out is None else Usage(tokens_in, tokens_out)


def _count(value: object) -> int | None:
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64:
        return value
    return None
