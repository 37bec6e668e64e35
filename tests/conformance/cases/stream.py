"""How a case about recorded streams is written down, and how streams of each API are spelt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Json = Any
DONE = "[DONE]"
LOSSY, INCOMPLETE, NOT_UNDERSTOOD = "lossy", "incomplete", "not_understood"


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamCase:
    """One vector: a stream that is to become a document, or a document that is to become a stream."""

    name: str
    why: str
    api: str
    stream: str | None = None
    """As recorded."""
    document: Json = None
    """Given, where there is no `stream`; else wanted."""
    events: Sequence[tuple[str, Json]] = ()
    """Wanted of a given document: names and data."""
    include_usage: bool = False
    refused: str = ""
    says: Mapping[str, Json] | None = None
    """What the given body says of itself."""

    def vector(self) -> dict[str, Any]:
        given: dict[str, Any] = {"api": self.api}
        want: dict[str, Any] = {}
        if self.stream is not None:
            given["stream"] = self.stream
            if not self.refused:
                want["document"] = self.document
        else:
            given["document"] = self.document
            if self.api == "openai-chat":
                given["include_usage"] = self.include_usage
            if not self.refused:
                want["events"] = [{"event": name, "data": data} for name, data in self.events]
        if self.refused:
            want["refused"] = self.refused
        if self.says is not None:
            want["says"] = self.says
        return {"name": self.name, "why": self.why, "given": given, "want": want}


def says(*reasons: str, usage: tuple[int, int] | None = None, **more: Json) -> dict[str, Json]:
    """Say what a body tells of itself; what is not said is false."""
    said = {"complete": False, "failed": False, "finish_reasons": list(reasons), "tool_calls": False}
    told = None if usage is None else {"input_tokens": usage[0], "output_tokens": usage[1]}
    return {**said, "refused": False, "usage": told, **more}


def spelt(*events: tuple[str, Json] | Json) -> str:
    """Spell a stream: events with a name and data, or data alone."""
    frames = []
    for event in events:
        name, data = event if isinstance(event, tuple) else ("", event)
        text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
        frames.append((f"event: {name}\n" if name else "") + f"data: {text}\n\n")
    return "".join(frames)


def typed(kind: str, **members: Json) -> tuple[str, Json]:
    """An event whose name is its type, as those of Anthropic and of OpenAI's responses are."""
    return kind, {"type": kind, **members}
