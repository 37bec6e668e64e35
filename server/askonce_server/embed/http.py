"""A service that speaks the OpenAI embeddings API."""

from __future__ import annotations

import re
import threading
from dataclasses import dataclass, field
from typing import Any

import orjson

from askonce_server.calls.errors import CallFailed, KeyUnusable
from askonce_server.calls.headers import json_headers
from askonce_server.calls.post import Answer, Post, PostLimits
from askonce_server.embed.tokens import refuse_unread
from askonce_server.embed.vectors import fingerprint, unit
from askonce_server.ports import (
    Embedded,
    EmbedderFailed,
    EmbedderUnavailable,
    TextTooLong,
    TextUnreadable,
    Vector,
)

_TOO_LONG = re.compile(
    rb"context.length|too.(long|large|many.tokens)|(maximum|less.than|at.most).{0,20}token|token.{0,20}limit",
    re.IGNORECASE,
)
"""How services word, in the answer to a request that they refuse, that the text has too many tokens."""
_MAY_BE_TOO_LONG = frozenset({400, 413, 422})
_MILLION = 1_000_000
_MOST_BYTES = 8 << 20
"""A vector of 65,536 dimensions, in full decimals, has less than 2 MB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpSettings:
    """How a service is asked."""

    url: str
    model: str
    api_key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 2.0
    """How long one try may take."""
    retries: int = 2
    connections: int = 8
    dim: int | None = None
    """None: the first vector settles it."""
    max_text: int | None = None
    """In tokens, as the service counts them; one less than its window where it cuts texts."""
    price_per_million_tokens: float | None = None


class HttpEmbedder:
    """Asks a service for each vector."""

    def __init__(self, name: str, settings: HttpSettings) -> None:
        """Keep the settings; nothing is asked yet.

        Raises EmbedderUnavailable when the API key cannot stand in a header.
        """
        self.name = name
        self.max_tokens = settings.max_text
        self._price = settings.price_per_million_tokens
        self._url, self._model = settings.url, settings.model
        self._dim = settings.dim or 0
        self._lock = threading.Lock()
        try:
            headers = json_headers(settings.api_key)
        except KeyUnusable as unusable:
            raise EmbedderUnavailable(str(unusable)) from unusable
        self._post = Post(
            settings.url,
            headers=headers,
            limits=PostLimits(
                timeout_seconds=settings.timeout_seconds,
                retries=settings.retries,
                connections=settings.connections,
                most_bytes=_MOST_BYTES,
            ),
        )

    @property
    def dim(self) -> int:
        """How many dimensions a vector has; 0 until the first one, unless it was declared."""
        return self._dim

    @property
    def fingerprint(self) -> bytes:
        """The hash of URL, model and dimensions. Raises EmbedderFailed while `dim` is 0."""
        if not self._dim:
            raise EmbedderFailed("the service has given no vector yet, so that its dimensions are unknown")
        return fingerprint("http", self._url, self._model, self._dim)

    def embed(self, text: str, *, deadline: float) -> Embedded:
        """Return the vector of `text`.

        Raises OverBudget, TextTooLong, TextUnreadable and EmbedderFailed.
        """
        refuse_unread(text, max_tokens=self.max_tokens)
        try:
            answer = self._post(self._asked(text), deadline=deadline)
        except CallFailed as failed:
            raise EmbedderFailed(str(failed)) from failed
        if answer.status != 200:
            raise _refused(answer)
        values, tokens = _read(answer.body)
        self._check_length(text, tokens)
        return Embedded(self._settled(values), tokens=tokens, cost_usd=self._cost(tokens))

    def close(self) -> None:
        """Let go of the connections."""
        self._post.close()

    def _asked(self, text: str) -> bytes:
        try:
            return orjson.dumps({"model": self._model, "input": text})
        except orjson.JSONEncodeError:
            raise TextUnreadable("the text holds half a character") from None

    def _check_length(self, text: str, tokens: int | None) -> None:
        """Refuse what the service may have cut. Where it does not count, a token is taken to be one byte."""
        if self.max_tokens is None:
            return
        count = len(text.encode()) if tokens is None else tokens
        if count > self.max_tokens:
            raise TextTooLong(f"the text has {count} tokens; {self.max_tokens} are read")

    def _settled(self, values: list[float]) -> Vector:
        vector = unit(values, dim=self._dim or len(values))
        with self._lock:
            self._dim = self._dim or len(vector)
        if len(vector) != self._dim:
            raise EmbedderFailed(f"gave a vector of {len(vector)} dimensions, not {self._dim}")
        return vector

    def _cost(self, tokens: int | None) -> float | None:
        if tokens is None or self._price is None:
            return None
        return tokens * self._price / _MILLION


def _refused(answer: Answer) -> Exception:
    """Return the error of an answer that is none; what it says stays out, since it may repeat the text."""
    if answer.status in _MAY_BE_TOO_LONG and (answer.status == 413 or _TOO_LONG.search(answer.body)):
        return TextTooLong("the service reads no text of this length")
    return EmbedderFailed(f"the service answered {answer.status}")


def _read(body: bytes) -> tuple[list[float], int | None]:
    """Return the vector and, if it is told, the number of tokens. Raises EmbedderFailed."""
    try:
        answer = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise EmbedderFailed("the service answered with something that is not JSON") from None
    data = answer.get("data") if isinstance(answer, dict) else None
    item = data[0] if isinstance(data, list) and len(data) == 1 else None
    values = item.get("embedding") if isinstance(item, dict) else None
    if not isinstance(values, list) or not values or not {type(value) for value in values} <= {float, int}:
        raise EmbedderFailed("the service answered without one list of numbers at data[0].embedding")
    return values, _tokens(answer.get("usage"))


def _tokens(usage: Any) -> int | None:
    count = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None
