"""Answers of OpenAI's chat endpoint, as one document or as a recorded stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from askonce_server.core.finish import AnswerFacts
from askonce_server.dialects.bodies import NotUnderstood, blank, failed, is_object, members, see, text
from askonce_server.dialects.events import DONE


@dataclass(slots=True)
class _Call:
    """One tool call, put together from its deltas."""

    custom: bool = False
    """Whether the input is free text."""
    parsed: bool = False
    """Whether the arguments came as a JSON object, as some servers send them."""
    arguments: list[str] = field(default_factory=list)

    def absorb(self, call: dict[str, Any]) -> None:
        """Take in a call or a delta of one."""
        self.custom = self.custom or call.get("type") == "custom"
        function = call.get("function")
        self.absorb_function(function if isinstance(function, dict) else {})

    def absorb_function(self, function: dict[str, Any]) -> None:
        """Take in a function's name and arguments, or a delta of them."""
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            self.parsed = True
        else:
            self.arguments.append(text(arguments))

    def invalid(self) -> bool:
        """Whether the arguments, now whole, are not a JSON object."""
        return not self.custom and not self.parsed and not is_object("".join(self.arguments))


@dataclass(slots=True)
class _Choice:
    """One choice, put together from its deltas; a document's message is one delta."""

    visible: bool = False
    refused: bool = False
    error: bool = False
    finish_reason: str = ""
    calls: dict[int | str, _Call] = field(default_factory=dict)

    def absorb(self, choice: dict[str, Any]) -> None:
        """Take in a member of `choices`."""
        self.finish_reason = text(choice.get("finish_reason")) or self.finish_reason
        self.error = self.error or bool(choice.get("error"))
        message = choice.get("delta") or choice.get("message")
        if isinstance(message, dict):
            self._absorb_message(message)

    def _absorb_message(self, message: dict[str, Any]) -> None:
        content = message.get("content")
        if content is not None and not (self.visible and isinstance(content, str)):
            visible, refused = see(content)
            self.visible, self.refused = self.visible or visible, self.refused or refused
        if message.get("refusal") and not blank(message["refusal"]):
            self.visible = self.refused = True
        if message.get("audio") or message.get("images"):
            self.visible = True
        if message.get("tool_calls"):
            self._absorb_calls(members(message["tool_calls"]))
        if isinstance(function := message.get("function_call"), dict):
            self.calls.setdefault("function_call", _Call()).absorb_function(function)

    def _absorb_calls(self, calls: Sequence[dict[str, Any]]) -> None:
        for position, call in enumerate(calls):
            # Some servers leave the index out and send each call whole, under an id of its own.
            index = call.get("index")
            key = index if isinstance(index, int) else text(call.get("id")) or position
            self.calls.setdefault(key, _Call()).absorb(call)


def document(root: Any) -> AnswerFacts:
    """Read one JSON document. Raises NotUnderstood."""
    if not isinstance(root, dict):
        raise NotUnderstood("the answer is no object")
    error = failed(root)
    if not error and "choices" not in root and root.get("object") != "chat.completion":
        raise NotUnderstood("there are no choices")
    choices: dict[int, _Choice] = {}
    _absorb(choices, root.get("choices"))
    return _facts(choices, error=error, terminal=None)


def stream(chunks: Iterator[tuple[str, Any]]) -> AnswerFacts:
    """Read a recorded stream up to `[DONE]`. Raises NotUnderstood."""
    choices: dict[int, _Choice] = {}
    error = terminal = understood = False
    for name, chunk in chunks:
        if chunk is DONE:
            terminal = understood = True
            break
        if not isinstance(chunk, dict):
            raise NotUnderstood("a chunk is no object")
        understood = understood or "choices" in chunk
        error = error or name == "error" or failed(chunk)
        _absorb(choices, chunk.get("choices"))
    if not understood and not error:
        raise NotUnderstood("no chunk has choices")
    return _facts(choices, error=error, terminal=terminal)


def _absorb(choices: dict[int, _Choice], found: Any) -> None:
    if found is None:
        return
    if not isinstance(found, list):
        raise NotUnderstood("choices are no list")
    for position, choice in enumerate(found):
        if not isinstance(choice, dict):
            raise NotUnderstood("a choice is no object")
        index = choice.get("index")
        choices.setdefault(index if isinstance(index, int) else position, _Choice()).absorb(choice)


def _facts(choices: dict[int, _Choice], *, error: bool, terminal: bool | None) -> AnswerFacts:
    ordered = [choices[index] for index in sorted(choices)]
    calls = [call for choice in ordered for call in choice.calls.values()]
    error = error or any(choice.error for choice in ordered)
    seen = all(choice.visible or choice.calls for choice in ordered)
    return AnswerFacts(
        understood=True,
        empty=not error and not (ordered and seen),
        error=error,
        finish_reasons=tuple(choice.finish_reason for choice in ordered),
        terminal=terminal,
        contains_tool_calls=bool(calls),
        refused=any(choice.refused for choice in ordered),
        invalid_tool_json=any(call.invalid() for call in calls),
    )
