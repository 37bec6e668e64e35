"""Texts as vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vector = npt.NDArray[np.float32]
"""One embedding: float32[dim], of unit length."""


class EmbedderUnavailable(Exception):
    """The embedder cannot be set up; the message says why and names the mend."""


class EmbedderFailed(Exception):
    """The embedder gave no usable vector; the message says why and holds nothing of the text."""


class OverBudget(Exception):
    """The vector was not there by the deadline, or could not be expected to be."""


class TextTooLong(Exception):
    """The text has more tokens than the embedder reads. It is never cut: other tails would look the same."""


class TextUnreadable(Exception):
    """The text is blank, or the model lacks a token for part of it: other texts would look the same."""


class EmbeddingMissing(Exception):
    """The gateway sent no vector of this embedder."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """A text's vector and what it took."""

    vector: Vector
    tokens: int | None
    """As the model or its service counts them; None when that is unknown."""
    cost_usd: float | None
    """None when that is unknown."""


class Embedder(Protocol):
    """Turns texts into vectors, one text a run. Safe to call from any thread."""

    @property
    def name(self) -> str:
        """The name that rules give it."""

    @property
    def dim(self) -> int:
        """How many dimensions its vectors have; 0 until the first vector, where nothing else tells."""

    @property
    def fingerprint(self) -> bytes:
        """32 bytes that change whenever equal texts may get other vectors.

        Raises EmbedderFailed while `dim` is 0: ask after `embed`.
        """

    @property
    def max_tokens(self) -> int | None:
        """The greatest number of tokens that it reads; None when only its service knows."""

    def embed(self, text: str, *, deadline: float) -> Embedded:
        """Return the vector of `text`. `deadline` is in seconds of `time.monotonic`.

        Raises OverBudget, TextTooLong, TextUnreadable, EmbeddingMissing, EmbedderFailed.
        """

    def close(self) -> None:
        """Let go of threads and connections."""
