"""The turns of a conversation and the text in them, whatever the dialect calls its parts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

from askonce_server.core.parts import JsonValue

PROSE_ROLES = frozenset({"system", "developer", "user", "assistant"})
TEXT_PARTS = frozenset({"text", "input_text", "output_text"})
"""The `type` of a content part whose `text` a person or a model wrote."""


def map_prose(messages: JsonValue, change: Callable[[str], str], *, bare_text: bool) -> JsonValue:
    """Return `messages` with `change` applied to the text of system, user and assistant turns alone.

    Text is a string content or the `text` of a text part. Tool results, tool calls and every other member
    stay as they are. `bare_text` says that a bare string stands for a user turn. What does not change is
    shared with the input, not copied.
    """
    if isinstance(messages, str):
        return change(messages) if bare_text else messages
    if not isinstance(messages, list):
        return messages
    return [_map_turn(turn, change) if _is_prose(turn) else turn for turn in messages]


def map_system(system: JsonValue, change: Callable[[str], str]) -> JsonValue:
    """Return the system prompt, a string or a list of blocks, with `change` applied to its text."""
    return _map_content(system, change)


def _is_prose(turn: JsonValue) -> TypeGuard[dict[str, Any]]:
    # A role or type of another JSON type cannot be looked up in a set.
    return isinstance(turn, dict) and isinstance(role := turn.get("role"), str) and role in PROSE_ROLES


def _map_turn(turn: dict[str, Any], change: Callable[[str], str]) -> JsonValue:
    content = turn.get("content")
    changed = _map_content(content, change)
    return turn if changed is content else {**turn, "content": changed}


def _map_content(content: JsonValue, change: Callable[[str], str]) -> JsonValue:
    if isinstance(content, str):
        return change(content)
    if not isinstance(content, list):
        return content
    return [{**part, "text": change(part["text"])} if is_text(part) else part for part in content]


def is_text(part: JsonValue) -> TypeGuard[dict[str, Any]]:
    """Whether a content part is text with a string in it."""
    return (
        isinstance(part, dict)
        and isinstance(part.get("text"), str)
        and isinstance(kind := part.get("type"), str)
        and kind in TEXT_PARTS
    )


def prose(messages: JsonValue, system: JsonValue, *, bare_text: bool) -> list[str]:
    """Return the texts that `map_prose` and `map_system` would change."""
    texts: list[str] = []
    bare = bare_text and isinstance(messages, str)
    for content in (system, messages) if bare else _contents(messages, system):
        if isinstance(content, str):
            texts.append(content)
        else:
            texts += _texts(content)
    return texts


def prefill(messages: JsonValue) -> list[str]:
    """Return the texts of a last turn that is the assistant's: the model goes on from its last character."""
    last = messages[-1] if isinstance(messages, list) and messages else None
    if isinstance(last, dict) and last.get("role") == "assistant":
        return _texts(last.get("content"))
    return []


def inner_ends(messages: JsonValue, system: JsonValue) -> Iterator[str]:
    """Yield the first and last characters of text parts that stand beside another part.

    Parts may be joined without anything between them: `re` and ` sign` are not `re` and `sign`.
    """
    for content in _contents(messages, system):
        if isinstance(content, list) and len(content) > 1:
            yield from (part["text"][:1] for part in content[1:] if is_text(part))
            yield from (part["text"][-1:] for part in content[:-1] if is_text(part))


def _contents(messages: JsonValue, system: JsonValue) -> list[JsonValue]:
    """Return the system prompt and the contents of the turns that are prose."""
    if not isinstance(messages, list):
        return [system]
    return [system, *(turn.get("content") for turn in messages if _is_prose(turn))]


def _texts(content: JsonValue) -> list[str]:
    if isinstance(content, str):
        return [content]
    if isinstance(content, list):
        return [part["text"] for part in content if is_text(part)]
    return []


def user_texts(messages: JsonValue) -> list[list[str]]:
    """Return the texts of each user turn, in order; a bare string counts as one user turn."""
    if isinstance(messages, str):
        return [[messages]]
    if not isinstance(messages, list):
        return []
    return [_texts(turn.get("content")) for turn in messages if _is_user(turn)]


def _is_user(turn: JsonValue) -> TypeGuard[dict[str, Any]]:
    return isinstance(turn, dict) and turn.get("role") == "user"


def without_user_text(messages: JsonValue, *, last: int) -> JsonValue:
    """Return `messages` with each text of the last `last` user turns (0: all) replaced in place by null."""
    if isinstance(messages, str):
        return None
    if not isinstance(messages, list):
        return messages
    users = [number for number, turn in enumerate(messages) if _is_user(turn)]
    embedded = set(users[-last:] if last else users)
    return [_without_text(turn) if number in embedded else turn for number, turn in enumerate(messages)]


def _without_text(turn: JsonValue) -> JsonValue:
    if not isinstance(turn, dict):
        return turn
    content = turn.get("content")
    if isinstance(content, str):
        return {**turn, "content": None}
    if not isinstance(content, list):
        return turn
    return {**turn, "content": [{**part, "text": None} if is_text(part) else part for part in content]}
