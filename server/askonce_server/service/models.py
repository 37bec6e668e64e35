"""What the semantic matcher asks of models: vectors, neighbours, verdicts. A fault is a reason."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, runtime_checkable

import numpy as np

from askonce_server.core.decision import Embed, EmbeddedText, Recall, Verdict, Verify
from askonce_server.core.descriptor import Descriptor, Embedding
from askonce_server.core.entries import Entry, Neighbor
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.reasons import BypassReason, DenyReason
from askonce_server.core.rules import Gray, Rule
from askonce_server.ports import (
    Case,
    Embedded,
    Embedder,
    EmbedderFailed,
    EmbeddingMissing,
    OverBudget,
    PartitionLoading,
    PartitionTooLarge,
    PartitionUnreadable,
    ReadView,
    StoreUnavailable,
    TextTooLong,
    TextUnreadable,
    TooFewNeighbors,
    Vector,
    VectorIndex,
    Verifier,
    VerifierFailed,
)
from askonce_server.service.faults import FaultLog

Read = Callable[[], AbstractContextManager[ReadView]]

_REASONS: Mapping[type[Exception], BypassReason] = {
    OverBudget: BypassReason.OVER_BUDGET,
    TextTooLong: BypassReason.TEXT_TOO_LONG,
    TextUnreadable: BypassReason.NO_EMBEDDABLE_TEXT,
    EmbeddingMissing: BypassReason.EMBEDDING_MISSING,
    EmbedderFailed: BypassReason.EMBEDDER_FAILED,
}
_NOT_SEARCHED: Mapping[type[Exception], BypassReason] = {
    PartitionLoading: BypassReason.PARTITION_LOADING,
    PartitionTooLarge: BypassReason.PARTITION_TOO_LARGE,
    PartitionUnreadable: BypassReason.STORE_FAILED,
}


@runtime_checkable
class EmbeddingTaker(Protocol):
    """An embedder whose vectors the gateway makes."""

    def take(self, embedding: Embedding | None) -> Embedded:
        """Return the vector. Raises EmbeddingMissing, MalformedRequest."""


class Models:
    """The embedders and verifiers by name, and the index.

    At most `slots` calls wait for a model at once: the threads that answer from the store stay free.
    """

    def __init__(  # noqa: PLR0913 - the composition root passes each by name
        self,
        *,
        embedders: Mapping[str, Embedder],
        verifiers: Mapping[Gray, Verifier],
        index: VectorIndex,
        faults: FaultLog,
        slots: int,
        took: Callable[[str, float], None] = lambda _what, _seconds: None,
    ) -> None:
        """`took` is told how long embedding and recall took, in seconds."""
        self.embedders = embedders
        self._verifiers = verifiers
        self.index = index
        self._faults = faults
        self._slots = threading.Semaphore(slots)
        self._took = took

    def violations(self, rule: Rule, descriptor: Descriptor) -> Sequence[Violation]:
        """Return what is wrong with the vector that the gateway sent for `rule`."""
        if rule.semantic is None or descriptor.embedding is None:
            return ()
        embedder = self.embedders.get(rule.semantic.embedder)
        if not isinstance(embedder, EmbeddingTaker):
            return ()
        try:
            embedder.take(descriptor.embedding)
        except MalformedRequest as malformed:
            return malformed.violations
        except EmbeddingMissing:
            return ()
        return ()

    def embed(self, question: Embed, *, deadline: float) -> EmbeddedText | BypassReason:
        """Return the vector of a text by `deadline` (seconds of `time.monotonic`), or why there is none."""
        embedder = self.embedders.get(question.policy.embedder)
        if embedder is None:
            return BypassReason.EMBEDDER_FAILED
        try:
            if isinstance(embedder, EmbeddingTaker):
                embedded = embedder.take(question.embedding)
            else:
                embedded = self._embed(embedder, question.text, deadline)
            return EmbeddedText(embedded.vector.tobytes(), embedder.fingerprint, embedded.cost_usd)
        except tuple(_REASONS) as known:
            return _REASONS[type(known)]
        except Exception as fault:
            self._faults.record("embedding", fault)
            return BypassReason.EMBEDDER_FAILED

    def _embed(self, embedder: Embedder, text: str, deadline: float) -> Embedded:
        if not self._slots.acquire(blocking=False):
            raise OverBudget("too many calls wait for models")
        began = time.monotonic()
        try:
            return embedder.embed(text, deadline=deadline)
        finally:
            self._slots.release()
            self._took("embed", time.monotonic() - began)

    def recall(self, view: ReadView, question: Recall) -> tuple[Neighbor, ...] | BypassReason:
        """Return the nearest unexpired entries that `view` has. Raises StoreUnavailable."""
        began = time.monotonic()
        try:
            found = self._recall(view, question)
            self._took("recall", time.monotonic() - began)
            return found
        except StoreUnavailable:
            raise
        except tuple(_NOT_SEARCHED) as known:
            return _NOT_SEARCHED[type(known)]
        except Exception as fault:
            self._faults.record("recall", fault)
            return BypassReason.STORE_FAILED

    def _recall(self, view: ReadView, question: Recall) -> tuple[Neighbor, ...]:
        since_ms = question.unexpired_ms

        def alive(entry: Entry) -> bool:
            return entry.answer.expire_ms > since_ms

        vector = _vector(question.vector)
        return tuple(self.index.recall(view, question.partition, vector, k=question.k, alive=alive))

    def verify(self, question: Verify, *, deadline: float, read: Read) -> Verdict:
        """Return the verdict on a candidate by `deadline`; every fault is against it."""
        verifier = self._verifiers.get(question.policy.verifier)
        if verifier is None or not self._slots.acquire(blocking=False):
            return Verdict(DenyReason.VERIFIER_FAILED)
        try:
            confirmed = verifier.verify(self._case(question, read), deadline=deadline)
        except TooFewNeighbors:
            return Verdict(DenyReason.VERIFIER_TOO_FEW_NEIGHBORS)
        except (OverBudget, VerifierFailed):  # told by its breaker, and counted
            return Verdict(DenyReason.VERIFIER_FAILED)
        except Exception as fault:
            self._faults.record(f"verifier {question.policy.verifier.value}", fault)
            return Verdict(DenyReason.VERIFIER_FAILED)
        finally:
            self._slots.release()
        return Verdict(None if confirmed else DenyReason.VERIFIER_REJECTED)

    def _case(self, question: Verify, read: Read) -> Case:
        def around(vector: bytes, k: int) -> Sequence[Neighbor]:
            with read() as view:
                return self._recall(view, Recall(question.partition, vector, question.now_ms, k))

        return Case(
            text=question.text, candidate=question.candidate, neighbors=question.neighbors, around=around
        )

    def forget(self) -> None:
        """Let go of what the index read: the store is another one."""
        self.index.forget()

    def close(self) -> None:
        """Let go of every model and of the index."""
        models: list[Embedder | Verifier | VectorIndex] = [*self.embedders.values(), self.index]
        models += self._verifiers.values()
        for model in models:
            try:
                model.close()
            except Exception as fault:
                self._faults.record("closing a model", fault)


def _vector(data: bytes) -> Vector:
    return np.frombuffer(data, dtype="<f4")
