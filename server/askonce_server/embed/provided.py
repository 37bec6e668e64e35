"""Vectors that the gateway sends along."""

from __future__ import annotations

import numpy as np

from askonce_server.core.descriptor import Embedding
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.embed.vectors import fingerprint, unit
from askonce_server.ports import Embedded, EmbedderFailed, EmbeddingMissing

_FIELD = "descriptor.embedding.values"
_BYTES = 4


class ProvidedEmbedder:
    """Checks and takes what the gateway embedded itself."""

    max_tokens: int | None = None

    def __init__(self, name: str, *, dim: int) -> None:
        self.name = name
        self.dim = dim
        self.fingerprint = fingerprint("provided", name, dim)

    def take(self, embedding: Embedding | None) -> Embedded:
        """Return the vector in `embedding`, scaled to unit length.

        Raises EmbeddingMissing when it is absent or another embedder's, and MalformedRequest when it is of
        another length, not finite, or all zero.
        """
        if embedding is None:
            raise EmbeddingMissing(f"the descriptor has no embedding; {self.name} makes none itself")
        if embedding.embedder != self.name:
            raise EmbeddingMissing("the descriptor's embedding is of another embedder")
        if len(embedding.values) != self.dim * _BYTES:
            sent = f"{len(embedding.values)} bytes, {len(embedding.values) / _BYTES:g} dimensions"
            wanted = f"{self.dim * _BYTES} bytes, {self.dim} dimensions of float32"
            raise MalformedRequest([Violation(_FIELD, f"has {sent}; embedder {self.name!r} takes {wanted}")])
        try:
            vector = unit(np.frombuffer(embedding.values, dtype="<f4"), dim=self.dim)
        except EmbedderFailed as failed:
            raise MalformedRequest([Violation(_FIELD, str(failed))]) from failed
        return Embedded(vector, tokens=None, cost_usd=None)

    def embed(self, text: str, *, deadline: float) -> Embedded:  # noqa: ARG002 - the port's shape
        """Raise EmbeddingMissing: only the gateway can."""
        raise EmbeddingMissing(f"{self.name} makes no vectors itself: the gateway sends them")

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""
