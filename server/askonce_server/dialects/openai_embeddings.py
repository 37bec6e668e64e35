"""Answers of OpenAI's embeddings endpoint."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

from askonce_server.core.finish import AnswerFacts
from askonce_server.dialects.bodies import NotUnderstood, failed


def document(root: Any) -> AnswerFacts:
    """Read one JSON document. Raises NotUnderstood."""
    if not isinstance(root, dict):
        raise NotUnderstood("the answer is no object")
    error = failed(root)
    rows = root.get("data")
    if error and rows is None:
        return AnswerFacts(understood=True, error=True)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise NotUnderstood("there is no list of embeddings")
    # A vector is a list of numbers, or base64 text.
    return AnswerFacts(
        understood=True,
        empty=not error and not (rows and all(row.get("embedding") for row in rows)),
        error=error,
    )


def stream(_chunks: Iterator[tuple[str, Any]]) -> NoReturn:
    """Embeddings are never streamed. Raises NotUnderstood."""
    raise NotUnderstood("embeddings are not streamed")
