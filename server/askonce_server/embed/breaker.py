"""A breaker before an embedder, so that a service that is down is not asked each time."""

from __future__ import annotations

from askonce_server.calls.breaker import Breaker
from askonce_server.ports import (
    Embedded,
    Embedder,
    EmbedderFailed,
    EmbeddingMissing,
    TextTooLong,
    TextUnreadable,
)

_BLAMELESS = (EmbeddingMissing, TextTooLong, TextUnreadable)
"""What is the text's fault."""


class BreakerEmbedder:
    """An embedder that is skipped while it is down."""

    def __init__(self, embedder: Embedder, breaker: Breaker | None = None) -> None:
        """Stand before `embedder`, with a breaker of its own unless one is given."""
        self.embedder = embedder
        self._breaker = breaker or Breaker(
            f"embedder {embedder.name}", failed=EmbedderFailed, blameless=_BLAMELESS
        )

    @property
    def name(self) -> str:
        """The embedder's name."""
        return self.embedder.name

    @property
    def dim(self) -> int:
        """The embedder's dimensions."""
        return self.embedder.dim

    @property
    def fingerprint(self) -> bytes:
        """The embedder's fingerprint. Raises EmbedderFailed while it is unknown."""
        return self.embedder.fingerprint

    @property
    def max_tokens(self) -> int | None:
        """The embedder's window."""
        return self.embedder.max_tokens

    def embed(self, text: str, *, deadline: float) -> Embedded:
        """Return the vector of `text`. Raises what the embedder raises; EmbedderFailed when it is skipped."""
        embedder = self.embedder
        return self._breaker.call(lambda: embedder.embed(text, deadline=deadline), deadline=deadline)

    def close(self) -> None:
        """Close the embedder."""
        self.embedder.close()
