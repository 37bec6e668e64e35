"""Answers of OpenAI's responses endpoint, as one document or as a recorded stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from askonce_server.core.finish import AnswerFacts
from askonce_server.dialects.bodies import NotUnderstood, blank, failed, is_object, members, see, text
from askonce_server.dialects.events import DONE

_TERMINAL = frozenset({"response.completed", "response.incomplete", "response.failed"})
_ITEM_EVENTS = frozenset({"response.output_item.added", "response.output_item.done"})
_UNSEEN = frozenset({"reasoning", "mcp_list_tools"})
"""Types of output items that a reader does not see."""


@dataclass(slots=True)
class _Output:
    """What the output items amount to."""

    visible: bool = False
    refused: bool = False
    calls: bool = False
    invalid: bool = False

    def absorb(self, item: dict[str, Any]) -> None:
        """Take in one whole output item."""
        kind = text(item.get("type"))
        if kind == "message":
            visible, refused = see(item.get("content"))
            self.visible, self.refused = self.visible or visible, self.refused or refused
        elif kind not in _UNSEEN:
            self.visible = True
        if kind.endswith("_call"):
            self.calls = True
        if kind == "function_call":
            self.invalid = self.invalid or not is_object(item.get("arguments"))


@dataclass(slots=True)
class _Stream:
    """The output items of a stream, put together from its events."""

    items: dict[int | str, dict[str, Any]] = field(default_factory=dict)
    arguments: dict[int | str, list[str]] = field(default_factory=dict)
    whole: set[int | str] = field(default_factory=set)
    visible: bool = False
    refused: bool = False

    def absorb(self, kind: str, event: dict[str, Any]) -> None:
        """Take in one event about an output item; other events say nothing of the output."""
        if kind == "response.output_text.delta":
            self.visible = self.visible or not blank(event.get("delta"))
        elif kind == "response.refusal.delta":
            self.visible = self.refused = True
        elif kind == "response.function_call_arguments.delta":
            self.arguments.setdefault(_key(event), []).append(text(event.get("delta")))
        elif kind in _ITEM_EVENTS and isinstance(item := event.get("item"), dict):
            key = _key(event, item)
            self.items[key] = item
            if kind.endswith("done"):
                self.whole.add(key)

    def output(self) -> list[dict[str, Any]]:
        """Return the items; one that did not come whole has the arguments that came."""
        return [
            item if key in self.whole or key not in self.arguments else self._pieced(key, item)
            for key, item in self.items.items()
        ]

    def _pieced(self, key: int | str, item: dict[str, Any]) -> dict[str, Any]:
        return {**item, "arguments": "".join(self.arguments[key])}


def document(root: Any) -> AnswerFacts:
    """Read one JSON document. Raises NotUnderstood."""
    if not isinstance(root, dict):
        raise NotUnderstood("the answer is no object")
    known = root.get("object") == "response" or isinstance(root.get("output"), list)
    if not known and not failed(root):
        raise NotUnderstood("there is no output")
    return _facts(root, _Stream(), terminal=None)


def stream(chunks: Iterator[tuple[str, Any]]) -> AnswerFacts:
    """Read a recorded stream up to its terminal event. Raises NotUnderstood."""
    seen = _Stream()
    understood = error = False
    for name, event in chunks:
        if event is DONE:
            break
        if not isinstance(event, dict):
            raise NotUnderstood("an event is no object")
        kind = text(event.get("type")) or name
        error = error or kind == "error" or failed(event)
        understood = understood or kind.startswith("response.")
        if kind in _TERMINAL:
            response = event.get("response")
            root = response if isinstance(response, dict) else {}
            # Some servers send no more than an id in it: the event's own name is the status then.
            root = {**root, "status": text(root.get("status")) or kind.removeprefix("response.")}
            return _facts(root, seen, terminal=True, error=error)
        seen.absorb(kind, event)
    if not understood and not error:
        raise NotUnderstood("no event belongs to a response")
    return _facts({}, seen, terminal=False, error=error)


def _key(event: dict[str, Any], item: dict[str, Any] | None = None) -> int | str:
    index = event.get("output_index")
    if isinstance(index, int):
        return index
    return text(event.get("item_id")) or text((item or {}).get("id"))


def _facts(root: dict[str, Any], seen: _Stream, *, terminal: bool | None, error: bool = False) -> AnswerFacts:
    output = _Output(visible=seen.visible, refused=seen.refused)
    for item in members(root.get("output")) or seen.output():
        output.absorb(item)
    status = text(root.get("status"))
    error = error or failed(root) or status == "failed"
    return AnswerFacts(
        understood=True,
        empty=not error and not output.visible,
        error=error,
        finish_reasons=() if error and not status else (_finish_reason(root, status),),
        terminal=terminal,
        contains_tool_calls=output.calls,
        refused=output.refused,
        invalid_tool_json=output.invalid,
    )


def _finish_reason(root: dict[str, Any], status: str) -> str:
    """Return why an incomplete response ended, else the status itself."""
    details = root.get("incomplete_details")
    if status == "completed" or not isinstance(details, dict):
        return status
    return text(details.get("reason")) or status
