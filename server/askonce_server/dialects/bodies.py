"""What the readers of answer bodies share."""

from __future__ import annotations

from typing import Any

import orjson

_TEXT_PARTS = frozenset({"text", "output_text"})
_UNSEEN_PARTS = frozenset({"thinking", "reasoning"})


class NotUnderstood(Exception):
    """The body does not have the shape of its dialect and endpoint, so nothing can be said of it."""


def blank(text: Any) -> bool:
    """Whether `text` is no string, or one in which a reader would see nothing."""
    return not isinstance(text, str) or not text or text.isspace()


def members(value: Any) -> list[dict[str, Any]]:
    """Return the objects in a list; anything else has none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Any) -> str:
    """Return a string as it is and "" for anything else."""
    return value if isinstance(value, str) else ""


def see(content: Any) -> tuple[bool, bool]:
    """Return whether a reader sees anything in a message's content, and whether it holds a refusal."""
    if content is None or isinstance(content, str):
        return not blank(content), False
    if not isinstance(content, list):
        return True, False
    refused = any(isinstance(part, dict) and part.get("type") == "refusal" for part in content)
    return any(_shows(part) for part in content), refused


def _shows(part: Any) -> bool:
    if not isinstance(part, dict):
        return not blank(part)
    kind = text(part.get("type"))
    return not blank(part.get("text")) if kind in _TEXT_PARTS else kind not in _UNSEEN_PARTS


def failed(root: dict[str, Any]) -> bool:
    """Whether an object carries an error in the way of any known server."""
    return bool(root.get("error")) or root.get("object") == "error" or root.get("type") == "error"


def is_object(arguments: Any) -> bool:
    """Whether the arguments of a tool call are a JSON object, parsed or as text."""
    if not isinstance(arguments, str):
        return isinstance(arguments, dict)
    try:
        return isinstance(orjson.loads(arguments), dict)
    except orjson.JSONDecodeError:
        return False
