"""Answers of Anthropic's messages endpoint, as one document or as a recorded stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from askonce_server.core.finish import REFUSED, AnswerFacts
from askonce_server.dialects.bodies import NotUnderstood, blank, failed, is_object, members, text
from askonce_server.dialects.events import DONE

_UNSEEN = frozenset({"thinking", "redacted_thinking"})
"""Types of content blocks that a reader does not see."""


@dataclass(slots=True)
class _Block:
    """One content block, put together from its deltas."""

    kind: str = ""
    visible: bool = False
    given: Any = None
    """A tool's input as the block itself has it; a stream starts with an empty one."""
    partial: list[str] = field(default_factory=list)

    def start(self, block: dict[str, Any]) -> None:
        """Take in a whole block, or the start of one."""
        self.kind = text(block.get("type"))
        self.given = block.get("input")
        self.visible = not blank(block.get("text")) if self.kind == "text" else self.kind not in _UNSEEN

    def absorb(self, delta: dict[str, Any]) -> None:
        """Take in a delta."""
        if not blank(delta.get("text")):
            self.visible = True
        if partial := text(delta.get("partial_json")):
            self.partial.append(partial)

    @property
    def call(self) -> bool:
        """Whether the block calls a tool, the caller's or the provider's own."""
        return self.kind.endswith("tool_use")

    def invalid(self) -> bool:
        """Whether the input of a tool call, now whole, is not a JSON object."""
        return self.call and not is_object("".join(self.partial) if self.partial else self.given)


@dataclass(slots=True)
class _Message:
    """One message, put together from its events."""

    blocks: dict[int, _Block] = field(default_factory=dict)
    stop_reason: str = ""
    started: bool = False

    def start(self, message: dict[str, Any]) -> None:
        """Take in a whole message, or the start of one."""
        self.started = True
        self.stop_reason = text(message.get("stop_reason"))
        for index, block in enumerate(members(message.get("content"))):
            self._block(index).start(block)

    def absorb(self, kind: str, event: dict[str, Any]) -> None:
        """Take in one event of a stream."""
        if kind == "message_start" and isinstance(message := event.get("message"), dict):
            self.start(message)
        elif kind == "content_block_start" and isinstance(block := event.get("content_block"), dict):
            self._block(event.get("index")).start(block)
        elif isinstance(delta := event.get("delta"), dict):
            if kind == "content_block_delta":
                self._block(event.get("index")).absorb(delta)
            elif kind == "message_delta":
                self.stop_reason = text(delta.get("stop_reason")) or self.stop_reason

    def facts(self, *, error: bool, terminal: bool | None) -> AnswerFacts:
        """Return what the message tells of itself."""
        blocks = self.blocks.values()
        return AnswerFacts(
            understood=True,
            empty=not error and not any(block.visible for block in blocks),
            error=error,
            finish_reasons=(self.stop_reason,) if self.started else (),
            terminal=terminal,
            contains_tool_calls=any(block.call for block in blocks),
            refused=self.stop_reason in REFUSED,
            invalid_tool_json=any(block.invalid() for block in blocks),
        )

    def _block(self, index: Any) -> _Block:
        return self.blocks.setdefault(index if isinstance(index, int) else len(self.blocks), _Block())


def document(root: Any) -> AnswerFacts:
    """Read one JSON document. Raises NotUnderstood."""
    if not isinstance(root, dict):
        raise NotUnderstood("the answer is no object")
    error = failed(root)
    content = root.get("content")
    known = isinstance(content, list) or (content is None and root.get("type") == "message")
    if not error and not known:
        raise NotUnderstood("there is no list of content blocks")
    message = _Message()
    if known:
        message.start(root)
    return message.facts(error=error, terminal=None)


def stream(chunks: Iterator[tuple[str, Any]]) -> AnswerFacts:
    """Read a recorded stream up to `message_stop`. Raises NotUnderstood."""
    message = _Message()
    error = terminal = False
    for name, event in chunks:
        if event is DONE:
            continue
        if not isinstance(event, dict):
            raise NotUnderstood("an event is no object")
        kind = text(event.get("type")) or name
        error = error or kind == "error" or failed(event)
        if kind == "message_stop":
            terminal = True
            break
        message.absorb(kind, event)
    if not message.started and not error:
        raise NotUnderstood("no event starts a message")
    return message.facts(error=error, terminal=terminal)
