"""A few threads before an embedder, so that no caller waits longer than it may."""

from __future__ import annotations

from askonce_server.calls.queue import CallQueue
from askonce_server.ports import (
    Embedded,
    Embedder,
    EmbedderFailed,
    EmbeddingMissing,
    OverBudget,
    TextTooLong,
    TextUnreadable,
)

_EXPECTED = (EmbedderFailed, EmbeddingMissing, OverBudget, TextTooLong, TextUnreadable)


class EmbedQueue:
    """An embedder whose work is done by a few threads, each caller answered by its deadline."""

    def __init__(self, embedder: Embedder, *, threads: int = 1, length: int = 64) -> None:
        """Stand before `embedder` with at most `length` texts waiting. Threads begin with the first text."""
        self.embedder = embedder
        self._queue = CallQueue(
            f"embedder {embedder.name}",
            failed=EmbedderFailed,
            expected=_EXPECTED,
            threads=threads,
            length=length,
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
        """Return the vector of `text`, or raise, by `deadline`.

        Raises what the embedder raises; OverBudget when there is no vector by then or none can be expected;
        EmbedderFailed for every other fault, of a closed queue too.
        """
        embedder = self.embedder
        return self._queue.run(
            lambda: embedder.embed(text, deadline=deadline), size=len(text), deadline=deadline
        )

    def close(self) -> None:
        """Take no more texts, fail those that wait, give those under way a moment, and close the embedder."""
        self._queue.close()
        self.embedder.close()
