"""Short ways to say what a provider would answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from askonce.v1 import (
    decision_service_pb2,
)
from rpc.requests import Descriptor, dumps, wants_stream


def chat_body(text: str = "Hello.", *, finish: str = "stop") -> bytes:
    """An answer of OpenAI's chat endpoint."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    return dumps({"id": "c", "object": "chat.completion", "choices": [choice]})


def chat_stream(text: str = "Hello.", *, finish: str = "stop", done: bool = True) -> bytes:
    """The same as a recorded stream."""
    chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in text]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    events = [b"data: " + dumps(chunk) + b"\n\n" for chunk in chunks]
    return b"".join(events) + (b"data: [DONE]\n\n" if done else b"")


def answer(body: bytes | str = "Hello.", /, **changes: Any) -> decision_service_pb2.UpstreamResponse:
    """A whole answer of status 200; text becomes a chat answer that says it."""
    fields: dict[str, Any] = {
        "body": chat_body(body) if isinstance(body, str) else body,
        "content_type": "application/json",
        "status_code": 200,
        "finish_reasons": ["stop"],
    }
    fields.update(changes)
    return decision_service_pb2.UpstreamResponse(**fields)


def streamed(text: str = "Hello.", /, **changes: Any) -> decision_service_pb2.UpstreamResponse:
    """A whole answer that was streamed."""
    fields = {"content_type": "text/event-stream", "stream_complete": True, **changes}
    return answer(chat_stream(text), **fields)


def answer_for(asked: Descriptor, text: str = "Hello.", /, **changes: Any) -> Any:
    """An answer that may be stored for `asked`, whatever its dialect and shape."""
    shape = {"stream_complete": True, "content_type": "text/event-stream"} if wants_stream(asked) else {}
    known = _ANSWERS.get((asked.dialect, asked.endpoint))
    body = text.encode() if known is None else known[0](text, stream=wants_stream(asked))
    return answer(body, **{"finish_reasons": ["stop"] if known is None else known[1], **shape, **changes})


def _chat(text: str, *, stream: bool) -> bytes:
    return chat_stream(text) if stream else chat_body(text)


def _responses(text: str, *, stream: bool) -> bytes:
    content = [{"type": "output_text", "text": text}]
    response = {
        "object": "response",
        "status": "completed",
        "output": [{"type": "message", "role": "assistant", "content": content}],
    }
    if not stream:
        return dumps(response)
    return _events(
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_text.delta", "delta": text},
        {"type": "response.completed", "response": response},
    )


def _messages(text: str, *, stream: bool) -> bytes:
    content = {"type": "text", "text": text}
    if not stream:
        whole = {"type": "message", "role": "assistant", "content": [content], "stop_reason": "end_turn"}
        return dumps(whole)
    return _events(
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )


def _events(*events: dict[str, Any]) -> bytes:
    return b"".join(
        b"event: " + event["type"].encode() + b"\ndata: " + dumps(event) + b"\n\n" for event in events
    )


def _embeddings(text: str, *, stream: bool) -> bytes:
    assert not stream
    data = [{"object": "embedding", "index": 0, "embedding": [0.25, 0.5], "note": text}]
    return dumps({"object": "list", "data": data})


_ANSWERS: Mapping[tuple[str, str], tuple[Callable[..., bytes], list[str]]] = {
    ("openai", "chat"): (_chat, ["stop"]),
    ("openai", "responses"): (_responses, ["completed"]),
    ("openai", "embeddings"): (_embeddings, []),
    ("anthropic", "messages"): (_messages, ["end_turn"]),
}


def storing(source: Descriptor | bytes, response: Any = None, **rest: Any) -> Any:
    """A Store by descriptor or by token."""
    if isinstance(source, bytes):
        rest["fill_token"] = source
        response = answer() if response is None else response
    else:
        rest["descriptor"] = source
        response = answer_for(source) if response is None else response
    return decision_service_pb2.StoreRequest(
        response=response, **{name: value for name, value in rest.items() if value is not None}
    )
