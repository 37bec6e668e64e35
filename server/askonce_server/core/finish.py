"""How answers end: which finish reasons mean that one is whole, and what a look into a body told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

_COMPLETE: Mapping[str, frozenset[str]] = {
    "openai": frozenset({"stop", "tool_calls", "function_call", "completed"}),
    "anthropic": frozenset({"end_turn", "stop_sequence", "tool_use"}),
}

FILTERED = frozenset(
    {
        "content_filter",  # OpenAI, Azure
        "content_filtered",  # Amazon Bedrock
        "guardrail_intervened",  # Amazon Bedrock
        "sensitive",  # Zhipu, in the openai dialect
        "SAFETY",  # Google, this and the following
        "RECITATION",
        "BLOCKLIST",
        "PROHIBITED_CONTENT",
        "SPII",
        "IMAGE_SAFETY",
    }
)
"""Finish reasons with which a provider's filter cut the answer."""

REFUSED = frozenset({"refusal"})
"""Finish reasons with which a model refused."""


def complete_reasons(dialect: str) -> frozenset[str] | None:
    """Return the finish reasons of `dialect` that mean a whole answer, or None when the rule has to say."""
    return _COMPLETE.get(dialect)


@dataclass(frozen=True, slots=True)
class AnswerFacts:
    """What a provider's body says of itself. Facts are claimed only where `understood`, save `empty`."""

    understood: bool = False
    """Whether the body has the shape of its dialect and endpoint."""
    empty: bool = False
    """Whether a reader would see nothing, in the whole answer or in one of its choices."""
    error: bool = False
    """Whether the body carries an error in spite of its status."""
    finish_reasons: tuple[str, ...] = ()
    """One per choice, in the order of the choices; "" stands for a choice that has none."""
    terminal: bool | None = None
    """Whether a stream came to its terminal event; None: not a stream, or not understood."""
    contains_tool_calls: bool = False
    refused: bool = False
    invalid_tool_json: bool = False
    """Whether the arguments of a tool call are not a JSON object."""
    cut: bool = False
    """Whether the body begins as a JSON document and is none to its end."""
    wrong_shape: bool = False
    """Whether the body is a document where a stream was asked for, or the reverse."""
