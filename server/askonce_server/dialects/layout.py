"""Where a provider's request body keeps its messages, system prompt and tools."""

from __future__ import annotations

from dataclasses import dataclass

from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.parts import JsonValue, Parts

BODY = "descriptor.body_json"


@dataclass(frozen=True, slots=True)
class Layout:
    """The member names of one endpoint's body. What is not named here is a parameter."""

    messages: str
    system: str | None = None
    """None: the endpoint keeps no system prompt apart."""
    tools: str | None = None
    """None: the endpoint knows no tools."""
    generating: bool = True
    messages_instead: tuple[str, ...] = ()
    """The members that may stand where messages are absent."""

    def split(self, body: JsonValue) -> Parts:
        """Take `body` apart: what is left of it are the params. Raises MalformedRequest."""
        if not isinstance(body, dict):
            raise MalformedRequest([Violation(BODY, f"is {kind(body)}; a request body is an object")])
        take = body.pop
        messages, stream = take(self.messages, None), take("stream", None)
        system = take(self.system, None) if self.system else None
        tools = take(self.tools, None) if self.tools else None
        take("model", None)  # the target has its own place in the key
        params = without_nulls(body)
        if messages is None or not (stream is None or isinstance(stream, bool)):
            self._refuse_malformed(messages, stream, params)
        if stream is None and self.generating:
            stream = False
        return Parts(messages, system, tools, params, stream)  # type: ignore[arg-type]  # a boolean or None

    def _refuse_malformed(self, messages: JsonValue, stream: JsonValue, params: dict[str, JsonValue]) -> None:
        """Name everything that is wrong at once; return when absent messages are no fault."""
        violations = wrong_stream(stream, BODY)
        if messages is None and params.keys().isdisjoint(self.messages_instead):
            violations.append(Violation(f"{BODY}.{self.messages}", "is missing; this endpoint requires it"))
        if violations:
            raise MalformedRequest(violations)


def without_nulls(members: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return `members` without those that are null, which say the same as absent ones."""
    if None not in members.values():
        return members
    return {name: value for name, value in members.items() if value is not None}


def wrong_stream(stream: JsonValue, where: str) -> list[Violation]:
    """Return what is wrong with the `stream` member of the object at the field path `where`."""
    if stream is None or isinstance(stream, bool):
        return []
    return [Violation(f"{where}.stream", f"is {kind(stream)}; send true, false or nothing")]


def kind(value: JsonValue) -> str:
    """Return the JSON type of `value` in words, with its article."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case str():
            return "a string"
        case list():
            return "an array"
        case dict():
            return "an object"
    return "a number"
