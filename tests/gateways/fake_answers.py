"""What the fake provider answers: documents and streams in the shapes of OpenAI's and Anthropic's APIs."""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

Json = Any
CREATED = 1_700_000_000


def last_text(messages: Json) -> str:
    """The text of the last turn, of whatever API."""
    if isinstance(messages, str):
        return messages
    content = messages[-1].get("content", "") if messages else ""
    if isinstance(content, list):
        return " ".join(part.get("text", "") for part in content)
    return content or ""


def pieces(text: str) -> list[str]:
    """Cut a text as a model would say it, word by word."""
    words = text.split(" ")
    return [word if at == 0 else f" {word}" for at, word in enumerate(words)]


def arguments_for(tool: Mapping[str, Json]) -> str:
    """Arguments that a tool may be called with."""
    schema = tool.get("parameters") or tool.get("input_schema") or {}
    return json.dumps(dict.fromkeys(schema.get("properties", {}), "Paris"))


def answer_text(body: Mapping[str, Json], number: int) -> str:
    """An answer that tells one call of the provider from another; JSON where a schema is asked for."""
    shape = body.get("response_format") or (body.get("text") or {}).get("format") or body.get("output_format")
    shape = shape or (body.get("output_config") or {}).get("format") or {}
    if shape.get("type") in ("json_schema", "json_object"):
        return json.dumps({"city": "Paris", "number": number})
    said = last_text(body.get("messages") or body.get("input") or "")
    return f"Answer {number} to: {said}"


# --- OpenAI: chat ---------------------------------------------------------------------------------------


def chat(body: Mapping[str, Json], number: int, *, finish: str = "", call: bool = False) -> Json:
    """A chat completion."""
    usage = {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}
    choices = []
    for index in range(body.get("n") or 1):
        message: Json = {"role": "assistant", "content": answer_text(body, number), "refusal": None}
        if call:
            function = body["tools"][0]["function"]
            asked = {"name": function["name"], "arguments": arguments_for(function)}
            tool_call = {"id": f"call_{number}", "type": "function", "function": asked}
            message |= {"content": None, "tool_calls": [tool_call]}
        elif str(body["model"]).startswith("reasoning"):
            message["reasoning_content"] = "Let me think about it."
        reason = finish or ("tool_calls" if call else "stop")
        choices.append({"index": index, "message": message, "logprobs": None, "finish_reason": reason})
    head = {
        "id": f"chatcmpl-{number}",
        "object": "chat.completion",
        "created": CREATED,
        "model": body["model"],
    }
    return {**head, "choices": choices, "usage": usage, "system_fingerprint": "fp_fake"}


def chat_frames(document: Json, body: Mapping[str, Json]) -> Iterator[str]:
    """The same completion as chunks."""
    counted = (body.get("stream_options") or {}).get("include_usage", False)
    head = {name: document[name] for name in ("id", "created", "model", "system_fingerprint")}
    head["object"] = "chat.completion.chunk"
    more = {"usage": None} if counted else {}

    def chunk(index: int, delta: Json, finish: str | None = None) -> str:
        choice = {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish}
        return frame({**head, "choices": [choice], **more})

    for choice in document["choices"]:
        index, message = choice["index"], choice["message"]
        calls = message.get("tool_calls", [])
        yield chunk(index, {"role": "assistant", "content": None if calls else "", "refusal": None})
        for piece in pieces(message.get("reasoning_content", "")):
            if piece:
                yield chunk(index, {"reasoning_content": piece})
        for at, call in enumerate(calls):
            begun = {"index": at, **call, "function": {**call["function"], "arguments": ""}}
            yield chunk(index, {"tool_calls": [begun]})
            for piece in pieces(call["function"]["arguments"]):
                yield chunk(index, {"tool_calls": [{"index": at, "function": {"arguments": piece}}]})
        for piece in pieces(message["content"]) if message["content"] else ():
            yield chunk(index, {"content": piece})
        yield chunk(index, {}, choice["finish_reason"])
    if counted:
        yield frame({**head, "choices": [], "usage": document["usage"]})
    yield "data: [DONE]\n\n"


# --- OpenAI: responses ----------------------------------------------------------------------------------


def response(body: Mapping[str, Json], number: int, *, finish: str = "", call: bool = False) -> Json:
    """A response."""
    reasoning = {"id": f"rs_{number}", "type": "reasoning", "summary": []}
    if call:
        tool = body["tools"][0]
        item = {
            "id": f"fc_{number}",
            "type": "function_call",
            "status": "completed",
            "call_id": f"call_{number}",
        }
        output: list[Json] = [{**item, "name": tool["name"], "arguments": arguments_for(tool)}]
    else:
        part = {"type": "output_text", "text": answer_text(body, number), "annotations": [], "logprobs": []}
        item = {"id": f"msg_{number}", "type": "message", "status": "completed", "role": "assistant"}
        output = [reasoning, {**item, "content": [part]}]
    usage = {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}
    usage |= {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    text = body.get("text") or {"format": {"type": "text"}}
    ended = {"status": "incomplete", "incomplete_details": {"reason": finish}} if finish else {}
    head = {"id": f"resp_{number}", "object": "response", "created_at": CREATED, "status": "completed"}
    settings = {
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": body.get("tools", []),
        "text": text,
    }
    said = {
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "metadata": {},
        "model": body["model"],
    }
    return {**head, **settings, **said, "output": output, "usage": usage, **ended}


def response_frames(document: Json, _body: Mapping[str, Json]) -> Iterator[str]:
    """The same response as events."""
    number = 0

    def event(kind: str, **members: Json) -> str:
        nonlocal number
        number += 1
        return frame({"type": kind, "sequence_number": number - 1, **members}, kind)

    begun = {**document, "status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    yield event("response.in_progress", response=begun)
    for at, item in enumerate(document["output"]):
        place = {"output_index": at, "item_id": item["id"]}
        empty = {"content": []} if item["type"] == "message" else {}
        empty = {"arguments": ""} if item["type"] == "function_call" else empty
        yield event("response.output_item.added", output_index=at, item={**item, **empty})
        if item["type"] == "function_call":
            for piece in pieces(item["arguments"]):
                yield event("response.function_call_arguments.delta", **place, delta=piece)
            done = {"arguments": item["arguments"], "name": item["name"]}
            yield event("response.function_call_arguments.done", **place, **done)
        for index, part in enumerate(item.get("content", [])):
            here = {**place, "content_index": index}
            yield event("response.content_part.added", **here, part={**part, "text": ""})
            for piece in pieces(part["text"]):
                yield event("response.output_text.delta", **here, delta=piece, logprobs=[])
            yield event("response.output_text.done", **here, text=part["text"], logprobs=[])
            yield event("response.content_part.done", **here, part=part)
        yield event("response.output_item.done", output_index=at, item=item)
    yield event(f"response.{document['status']}", response=document)


# --- OpenAI: embeddings ---------------------------------------------------------------------------------


def embeddings(body: Mapping[str, Json], _number: int) -> Json:
    """Vectors of four dimensions that depend on the text alone."""
    given = body["input"] if isinstance(body["input"], list) else [body["input"]]
    rows = []
    for index, text in enumerate(given):
        digest = hashlib.sha256(json.dumps(text).encode()).digest()
        numbers = [byte / 255 for byte in digest[:4]]
        vector: Json = numbers
        if body.get("encoding_format") == "base64":
            vector = base64.b64encode(struct.pack("<4f", *numbers)).decode()
        rows.append({"object": "embedding", "index": index, "embedding": vector})
    usage = {"prompt_tokens": 5, "total_tokens": 5}
    return {"object": "list", "data": rows, "model": body["model"], "usage": usage}


# --- Anthropic: messages --------------------------------------------------------------------------------


def message(body: Mapping[str, Json], number: int, *, finish: str = "", call: bool = False) -> Json:
    """A message."""
    content: list[Json] = []
    if (body.get("thinking") or {}).get("type") == "enabled":
        content.append({"type": "thinking", "thinking": "Let me think about it.", "signature": "c2ln"})
    if call:
        tool = body["tools"][0]
        given = json.loads(arguments_for(tool))
        content.append({"type": "tool_use", "id": f"toolu_{number}", "name": tool["name"], "input": given})
    else:
        content.append({"type": "text", "text": answer_text(body, number)})
    reason = finish or ("tool_use" if call else "end_turn")
    head = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"]}
    usage = {"input_tokens": 9, "output_tokens": 4}
    return {**head, "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}


def message_frames(document: Json, _body: Mapping[str, Json]) -> Iterator[str]:
    """The same message as events."""

    def event(kind: str, **members: Json) -> str:
        return frame({"type": kind, **members}, kind)

    usage = {**document["usage"], "output_tokens": 1}
    yield event("message_start", message={**document, "content": [], "stop_reason": None, "usage": usage})
    yield event("ping")
    for index, block in enumerate(document["content"]):
        kind = block["type"]
        name, text, empty = {
            "text": ("text", block.get("text", ""), {"text": ""}),
            "thinking": ("thinking", block.get("thinking", ""), {"thinking": "", "signature": ""}),
            "tool_use": ("partial_json", json.dumps(block.get("input")), {"input": {}}),
        }[kind]
        delta_kind = "input_json_delta" if kind == "tool_use" else f"{kind}_delta"
        yield event("content_block_start", index=index, content_block={**block, **empty})
        for piece in pieces(text):
            yield event("content_block_delta", index=index, delta={"type": delta_kind, name: piece})
        if kind == "thinking":
            signed = {"type": "signature_delta", "signature": block["signature"]}
            yield event("content_block_delta", index=index, delta=signed)
        yield event("content_block_stop", index=index)
    ended = {"stop_reason": document["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=ended, usage={"output_tokens": document["usage"]["output_tokens"]})
    yield event("message_stop")


def frame(data: Json, name: str = "") -> str:
    """Spell one server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data, separators=(',', ':'))}\n\n"
