"""Where a provider's request body keeps its messages, system prompt and tools."""

from __future__ import annotations

from dataclasses import dataclass, field

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
    own: frozenset[str] = field(init=False)
    """The members that are not parameters. `model` is one: the target has its own place in the key."""

    def __post_init__(self) -> None:
        """Derive `own`, so that a split looks every member up once."""
        own = {"model", "stream", self.messages, self.system, self.tools} - {None}
        object.__setattr__(self, "own", frozenset(own))

    def split(self, body: JsonValue) -> Parts:
        """Return the parts of `body`, sharing its trees. Raises MalformedRequest."""
        if not isinstance(body, dict):
            raise MalformedRequest([Violation(BODY, f"is {kind(body)}; a request body is an object")])
        get, own = body.get, self.own
        messages, stream = get(self.messages), get("stream")
        if stream is None:
            stream = False if self.generating else None
        if messages is None or not (stream is None or isinstance(stream, bool)):
            self._refuse_malformed(body)
        return Parts(
            messages,
            get(self.system) if self.system else None,
            get(self.tools) if self.tools else None,
            {name: value for name, value in body.items() if value is not None and name not in own},
            stream,  # type: ignore[arg-type]  # a boolean or None, or it was refused above
        )

    def _refuse_malformed(self, body: dict[str, JsonValue]) -> None:
        """Name everything that is wrong at once; return when absent messages are no fault."""
        violations = wrong_stream(body.get("stream"), BODY)
        instead = any(body.get(name) is not None for name in self.messages_instead)
        if body.get(self.messages) is None and not instead:
            violations.append(Violation(f"{BODY}.{self.messages}", "is missing; this endpoint requires it"))
        if violations:
            raise MalformedRequest(violations)


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
