"""A look into a provider's answer, so that nothing broken is stored. Works on bytes and never raises."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import orjson

from askonce_server.core.finish import AnswerFacts
from askonce_server.dialects import anthropic_answers, openai_chat, openai_embeddings, openai_responses
from askonce_server.dialects.bodies import NotUnderstood
from askonce_server.dialects.events import chunks, has_data, looks_like_events

__all__ = ["AnswerFacts", "inspect"]

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_OPENING = (b"{", b"[")
_MARKUP = b"<"
"""Begins the page of a proxy or a captive portal, and no answer of an endpoint that is known here."""
_EMPTY_DOCUMENTS = frozenset({b"", b"null", b"{}", b"[]", b'""'})


@dataclass(frozen=True, slots=True)
class _Reader:
    document: Callable[[Any], AnswerFacts]
    stream: Callable[[Iterator[tuple[str, Any]]], AnswerFacts]


_READERS: Mapping[tuple[str, str], _Reader] = {
    ("openai", "chat"): _Reader(openai_chat.document, openai_chat.stream),
    ("openai", "responses"): _Reader(openai_responses.document, openai_responses.stream),
    ("openai", "embeddings"): _Reader(openai_embeddings.document, openai_embeddings.stream),
    ("anthropic", "messages"): _Reader(anthropic_answers.document, anthropic_answers.stream),
}


def inspect(dialect: str, endpoint: str, *, stream: bool, content_type: str, body: bytes) -> AnswerFacts:
    """Say what `body`, the answer to a request that wanted a `stream` or not, tells of itself.

    The body outweighs `content_type`. A dialect, endpoint or shape that is not known gives no facts, save
    that a blank body, an empty JSON value or a stream without data is empty anywhere. Takes time linear in
    the body.
    """
    body = body.removeprefix(_BYTE_ORDER_MARK).strip()
    reader = _READERS.get((dialect, endpoint))
    events = looks_like_events(body, content_type) and (stream or reader is not None)
    if _is_empty(body) or (events and not has_data(body)):
        return AnswerFacts(empty=True)
    if reader is None:
        return AnswerFacts()
    try:
        facts = _read_events(reader, body) if events else reader.document(orjson.loads(body))
    except orjson.JSONDecodeError:
        return AnswerFacts(cut=not events and body[:1] in _OPENING, error=body.startswith(_MARKUP))
    except NotUnderstood:
        return AnswerFacts()
    if events == stream:
        return facts
    # A document has no terminal event; whoever asked for a stream has not seen its end.
    return replace(facts, wrong_shape=True, terminal=facts.terminal if events else False)


def _read_events(reader: _Reader, body: bytes) -> AnswerFacts:
    """Read a recorded stream; one that was cut inside its first event has not come to its end."""
    events = chunks(body)
    first = next(events, None)
    return AnswerFacts(terminal=False) if first is None else reader.stream(chain((first,), events))


def _is_empty(body: bytes) -> bool:
    # No empty document has more than two tokens, so a large body is not split up.
    return b"".join(body.split(None, 2)) in _EMPTY_DOCUMENTS
