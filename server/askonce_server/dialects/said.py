"""Reads what an answer says, so that two can be compared. Works on bytes and never raises.

Documents and recorded streams of one endpoint come out the same. Left out are finish reasons, usage, ids, the
time and the model's name and fingerprint, and what a reader does not see, such as reasoning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson

from askonce_server.core.said import Said, ToolCall
from askonce_server.dialects.bodies import NotUnderstood, members, text
from askonce_server.dialects.events import DONE, chunks, looks_like_events

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_VOLATILE = frozenset(
    {
        *("id", "created", "created_at", "completed_at", "model", "usage", "system_fingerprint"),
        *("service_tier", "finish_reason", "stop_reason", "request_id", "response_id", "status"),
    }
)
_UNSEEN = frozenset(
    {"thinking", "redacted_thinking", "reasoning", "reasoning_content", "annotations", "logprobs"}
)


def said(dialect: str, endpoint: str, *, content_type: str, body: bytes) -> Said | None:
    """Return what `body` says, or None where it cannot be read.

    An endpoint that is not known says its whole JSON document, or its text.
    """
    body = body.removeprefix(_BYTE_ORDER_MARK).strip()
    known = (dialect, endpoint) in _KNOWN
    try:
        if looks_like_events(body, content_type):
            return _of_events(dialect, endpoint, body) if known else None
        root = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None if known or body[:1] in (b"{", b"[") else _plain(body)
    except NotUnderstood:
        return None
    if known and isinstance(root, dict):
        return _KNOWN[dialect, endpoint](root)
    return Said(rest=_canonical(_lasting(root)))


def _plain(body: bytes) -> Said | None:
    try:
        return Said(text=body.decode()) if body else None
    except UnicodeDecodeError:
        return None


class _Gathered:
    """Pieces of one answer as they come."""

    def __init__(self) -> None:
        self.texts: dict[Any, list[str]] = {}
        self.calls: dict[Any, tuple[list[str], list[str]]] = {}
        self.rest: list[Any] = []
        self.refused = False

    def say(self, place: Any, piece: Any) -> None:
        """Add a piece of text to what stands at `place`."""
        if isinstance(piece, str):
            self.texts.setdefault(place, []).append(piece)

    def call(self, place: Any, name: Any, arguments: Any) -> None:
        """Add a piece of a tool call to what stands at `place`."""
        names, pieces = self.calls.setdefault(place, ([], []))
        names.append(text(name))
        pieces.append(orjson.dumps(arguments).decode() if isinstance(arguments, dict) else text(arguments))

    def part(self, place: Any, part: Any) -> None:
        """Add one part of a message: text, a refusal, or something else."""
        if isinstance(part, str):
            self.say(place, part)
        elif isinstance(part, dict) and (kind := text(part.get("type"))) not in _UNSEEN:
            if kind == "refusal" or isinstance(part.get("text"), str):
                self.refused = self.refused or kind == "refusal"
                self.say(place, part.get("text", part.get("refusal")))
            else:
                self.rest.append(_lasting(part))

    def said(self) -> Said:
        """Return the whole."""
        shown = "\n".join("".join(pieces) for pieces in self.texts.values()).strip()
        calls = tuple(
            ToolCall("".join(names), _arguments("".join(pieces))) for names, pieces in self.calls.values()
        )
        return Said(shown, calls, _canonical(self.rest) if self.rest else b"", self.refused)


def _of_events(dialect: str, endpoint: str, body: bytes) -> Said:
    events = [event for _, event in chunks(body) if event is not DONE and isinstance(event, dict)]
    if endpoint == "chat":
        return _chat(*events)
    if endpoint == "responses":
        return _responses_stream(events)
    if dialect == "anthropic":
        return _messages_stream(events)
    raise NotUnderstood("this endpoint has no streams")


def _chat(*roots: dict[str, Any]) -> Said:
    """Read a document, or the chunks of a stream, whose deltas are pieces of one message."""
    gathered = _Gathered()
    for root in roots:
        for position, choice in enumerate(members(root.get("choices"))):
            message = choice.get("delta") or choice.get("message")
            if isinstance(message, dict):
                _chat_message(gathered, choice.get("index", position), message)
    return gathered.said()


def _chat_message(gathered: _Gathered, index: Any, message: dict[str, Any]) -> None:
    content = message.get("content")
    for part in content if isinstance(content, list) else [content]:
        gathered.part(index, part)
    if isinstance(refusal := message.get("refusal"), str) and refusal:
        gathered.refused = True
        gathered.say(index, refusal)
    for name in ("audio", "images"):
        if message.get(name):
            gathered.rest.append(_lasting(message[name]))
    for position, call in enumerate(members(message.get("tool_calls"))):
        function = call.get("function") or call.get("custom")
        place = (index, call["index"] if isinstance(call.get("index"), int) else call.get("id") or position)
        if isinstance(function, dict):
            gathered.call(place, function.get("name"), function.get("arguments", function.get("input")))
    if isinstance(function := message.get("function_call"), dict):
        gathered.call((index, ""), function.get("name"), function.get("arguments"))


def _responses(root: dict[str, Any]) -> Said:
    return _items(members(root.get("output")))


def _items(items: Iterable[dict[str, Any]]) -> Said:
    gathered = _Gathered()
    for place, item in enumerate(items):
        kind = text(item.get("type"))
        if kind == "message":
            content = item.get("content")
            for part in content if isinstance(content, list) else [content]:
                gathered.part(place, part)
        elif kind in ("function_call", "custom_tool_call"):
            gathered.call(place, item.get("name"), item.get("arguments", item.get("input")))
        elif kind not in _UNSEEN:
            gathered.rest.append(_lasting(item))
    return gathered.said()


def _responses_stream(events: list[dict[str, Any]]) -> Said:
    items: dict[Any, dict[str, Any]] = {}
    for event in events:
        kind, response = text(event.get("type")), event.get("response")
        if kind == "response.completed" and isinstance(response, dict) and members(response.get("output")):
            return _responses(response)
        if kind == "response.output_item.done" and isinstance(item := event.get("item"), dict):
            items[event.get("output_index", len(items))] = item
    return _items(items.values())


def _messages(root: dict[str, Any]) -> Said:
    return _blocks(members(root.get("content")))


def _blocks(blocks: Iterable[dict[str, Any]]) -> Said:
    gathered = _Gathered()
    for place, block in enumerate(blocks):
        if text(block.get("type")).endswith("tool_use"):
            gathered.call(place, block.get("name"), block.get("input"))
        else:
            gathered.part(0, block)
    return gathered.said()


def _messages_stream(events: list[dict[str, Any]]) -> Said:
    blocks: dict[Any, dict[str, Any]] = {}
    for event in events:
        index, delta = event.get("index"), event.get("delta")
        if isinstance(block := event.get("content_block"), dict):
            blocks[index] = dict(block)
        elif isinstance(delta, dict) and index in blocks:
            block = blocks[index]
            if isinstance(delta.get("text"), str):
                block["text"] = text(block.get("text")) + delta["text"]
            if isinstance(partial := delta.get("partial_json"), str):
                begun = block.get("input")
                block["input"] = (begun if isinstance(begun, str) else "") + partial
    return _blocks(blocks.values())


def _embeddings(root: dict[str, Any]) -> Said:
    return Said(rest=_canonical([_lasting(row) for row in members(root.get("data"))]))


_KNOWN: Mapping[tuple[str, str], Callable[[dict[str, Any]], Said]] = {
    ("openai", "chat"): _chat,
    ("openai", "responses"): _responses,
    ("openai", "embeddings"): _embeddings,
    ("anthropic", "messages"): _messages,
}


def _arguments(written: str) -> bytes:
    try:
        return _canonical(orjson.loads(written))
    except orjson.JSONDecodeError:
        return written.strip().encode(errors="surrogatepass")


def _lasting(value: Any) -> Any:
    """Return `value` without the members that differ from call to call, at any depth."""
    if isinstance(value, dict):
        kept = ((name, _lasting(one)) for name, one in value.items())
        return {name: one for name, one in kept if name not in _VOLATILE | _UNSEEN}
    return [_lasting(one) for one in value] if isinstance(value, list) else value


def _canonical(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
