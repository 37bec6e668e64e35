"""The conversation anchor: a digest of how a conversation begins. Never a response key."""

from __future__ import annotations

from typing import Any

from askonce_server.core.canonical import encode
from askonce_server.core.keys import digest, frame
from askonce_server.core.material import without_cache_marks
from askonce_server.core.parts import JsonValue, Parts
from askonce_server.core.turns import is_text

_LEADING_ROLES = ("system", "developer")


def conversation_anchor(parts: Parts) -> str:
    """Return 64 hex characters over the leading system turns and the first user turn; later turns keep it.

    Every part of those turns counts, text or not, behind its kind and length; `cache_control` does not, since
    gateways move it along as a conversation grows.
    """
    system, messages = without_cache_marks(parts.system), without_cache_marks(parts.messages)
    turns = [frame(b"system", _content(system))] if system is not None else []
    if isinstance(messages, str):
        turns.append(frame(b"user", _content(messages)))
    elif isinstance(messages, list):
        turns += [
            frame(str(turn.get("role")).encode(), _content(turn.get("content"))) for turn in _head(messages)
        ]
    return digest("anchor", *turns).hex()


def _head(messages: list[Any]) -> list[dict[str, Any]]:
    turns = [turn for turn in messages if isinstance(turn, dict)]
    head: list[dict[str, Any]] = []
    for turn in turns:
        if turn.get("role") not in _LEADING_ROLES:
            break
        head.append(turn)
    first_user = next((turn for turn in turns if turn.get("role") == "user"), None)
    return head if first_user is None else [*head, first_user]


def _content(content: JsonValue) -> bytes:
    if isinstance(content, str):
        return frame(frame(b"text", content.encode()))
    if not isinstance(content, list):
        return frame(frame(b"other", encode(content)))
    return frame(*(_part(part) for part in content))


def _part(part: Any) -> bytes:
    if is_text(part):
        return frame(b"text", part["text"].encode())
    kind = part.get("type") if isinstance(part, dict) else None
    return frame(kind.encode() if isinstance(kind, str) else b"other", encode(part))
