"""A request's content as JSON trees, whichever form the gateway sent it in."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

JsonValue: TypeAlias = "bool | int | Decimal | str | list[JsonValue] | dict[str, JsonValue] | None"
"""A parsed JSON document. A number with a fraction or an exponent is a Decimal, so that its spelling can be
judged before its value is rounded."""


@dataclass(slots=True)  # not frozen: that costs four times as much to make, once a Lookup
class Parts:
    """What a request says, in the four parts of the contract. Never mutated after it was made.

    The trees are shared with the parser's.
    """

    messages: JsonValue | None
    """None: absent. The turns, or the `input` of a responses or embeddings call; any JSON type."""
    system: JsonValue | None
    """None: absent. The system prompt where the dialect keeps it apart from the turns."""
    tools: JsonValue | None
    """None: absent."""
    params: dict[str, JsonValue]
    """Every other member that is forwarded; never `model` or `stream`, and no member that is null."""
    stream: bool | None
    """What the content itself says about streaming; None: nothing."""
