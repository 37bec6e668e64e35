"""What a provider's answer says, without what differs from call to call."""

from __future__ import annotations

from typing import NamedTuple


class ToolCall(NamedTuple):
    """A tool that the answer calls. Ids of calls are left out."""

    name: str
    arguments: bytes
    """As canonical JSON; free text as it is."""


class Said(NamedTuple):
    """The content of one answer: of all its choices, in order. Equal ones say the same."""

    text: str = ""
    """What a reader sees."""
    calls: tuple[ToolCall, ...] = ()
    rest: bytes = b""
    """Content of other kinds, as canonical JSON: images, audio, the body of an endpoint that is not known."""
    refused: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing was understood of it."""
        return not (self.text or self.calls or self.rest)
