"""How a rule's near hits are voted on, and what makes counted labels worthless."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import StrEnum
from hashlib import blake2b

from askonce_server.core.bound import CONFIDENCE
from askonce_server.core.vote import BANDS, DEFAULT_SHAPE, VoteShape

_EPOCH_BYTES = 8


class Start(StrEnum):
    """What is served before there are enough labels."""

    SILENT = "silent"
    """Nothing."""
    SHIPPED = "shipped"
    """What has a vote of `VotePolicy.shipped`; no bound is claimed of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VotePolicy:
    """The policy `vote`, or `vote-fixed` where there is no `max_wrong`."""

    max_wrong: float | None = None
    """The bound on wrong / served; None: the cut is `fixed` and no bound is claimed."""
    fixed: float = 0.80
    """The least vote that is served under `vote-fixed`."""
    start: Start = Start.SILENT
    shipped: float = 0.95
    """The least vote that is served before `min_labels` under `start: shipped`."""
    min_labels: int = 500
    """The first serves are the risky ones: a cut that was drawn from few labels is not used."""
    confidence: float = CONFIDENCE
    audit_every: int = 20
    """Of so many serves of one answer one is labelled instead: all others may be wrong before it shows."""
    probation: int = 2
    """Right labels that an answer needs after a wrong one before it is served again."""
    recalculate_every: int = 25
    """Labels after which the cut is drawn anew; a wrong audit draws it at once."""
    groups: int = 10_000
    """How many answers are remembered: about 300 bytes each in memory, some twenty on disk."""
    shape: VoteShape = DEFAULT_SHAPE

    def __post_init__(self) -> None:
        """Refuse what bounds nothing."""
        if self.max_wrong is not None and not 0 < self.max_wrong < 1:
            raise ValueError("max_wrong must be between 0 and 1")
        if not 0.5 <= self.confidence < 1:
            raise ValueError("confidence must be at least 0.5 and less than 1")
        if min(self.audit_every, self.recalculate_every, self.groups) < 1:
            raise ValueError("audit_every, recalculate_every and groups must be at least 1")


def epoch(shape: VoteShape, *, embedder: bytes, guards: bytes, comparator: bytes) -> bytes:
    """Return a name of 8 bytes for everything that gives a label its meaning.

    `embedder` and `comparator` are fingerprints; `guards` says which are on, and in what version.
    """
    constants = struct.pack(
        "<dddHH", shape.temperature, shape.something_new, shape.floor, shape.neighbors, BANDS
    )
    parts = (constants, embedder, guards, comparator)
    framed = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
    return blake2b(framed, digest_size=_EPOCH_BYTES, person=b"askonce.epoch").digest()
