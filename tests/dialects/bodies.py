"""Answers as the providers send them, in the smallest shape that is still theirs."""

import json


def chat(*messages, finish="stop", **extra):
    """One chat completion; each message is a choice."""
    choices = [
        {"index": i, "message": {"role": "assistant", **message}, "finish_reason": finish}
        for i, message in enumerate(messages)
    ]
    return dumps({"id": "chatcmpl-1", "object": "chat.completion", "choices": choices, **extra})


def tool_call(arguments, **extra):
    """One entry of `tool_calls`."""
    return {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}, **extra}


def chunk(delta, index=0, finish=None):
    """One chunk of a chat stream."""
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return {"object": "chat.completion.chunk", "choices": [choice]}


def sse(*events, end="\n"):
    """A recorded stream; a dict becomes `data:`, with its type as the event's name, a string stays."""
    lines = []
    for event in events:
        if isinstance(event, str):
            lines += [f"data: {event}", ""]
        else:
            lines += [f"event: {event['type']}"] if "type" in event else []
            lines += [f"data: {json.dumps(event)}", ""]
    return "".join(line + end for line in lines).encode()


def message(*content, stop="end_turn"):
    """One Anthropic message."""
    return dumps(
        {"id": "msg_1", "type": "message", "role": "assistant", "content": list(content), "stop_reason": stop}
    )


def message_events(*blocks, stop="end_turn"):
    """The events of a streamed Anthropic message; each block is its start and its deltas."""
    events = [{"type": "message_start", "message": {"type": "message", "content": [], "stop_reason": None}}]
    for index, (start, *deltas) in enumerate(blocks):
        events.append({"type": "content_block_start", "index": index, "content_block": start})
        events += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": index})
    events.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}})
    return [*events, {"type": "message_stop"}]


def response(*output, status="completed", **extra):
    """One response as a tree."""
    return {
        "id": "resp_1",
        "object": "response",
        "status": status,
        "error": None,
        "output": list(output),
        **extra,
    }


def said(text, kind="output_text"):
    """An output message with one part."""
    name = "refusal" if kind == "refusal" else "text"
    return {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": kind, name: text}]}


def dumps(tree):
    """A JSON document."""
    return json.dumps(tree).encode()
