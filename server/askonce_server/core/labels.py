"""Labels: whether a near answer was right. They have no text, and no value of a scope."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from askonce_server.core.entries import EntryKey, Generations
from askonce_server.core.proposed import Method, Proposed


class Judgement(IntEnum):
    """What a label says of the near answer."""

    RIGHT = 1
    WRONG = 2
    STALE = 3
    """It was right once: wrong now."""


class Label(NamedTuple):
    """What was found of one near answer."""

    label_id: bytes
    at_ms: int
    rule_id: str
    method: Method
    judgement: Judgement
    scope_key: bytes
    generations: Generations
    """Those in the scope key: when one is raised the label is forgotten."""
    partition: bytes
    entry_id: bytes
    similarity: float
    guard: str = ""
    ticket: bytes = b""
    source: str = ""
    epoch: bytes = b""
    """See `core.voting.epoch`. Empty: somebody said so, whatever was compared by."""

    @property
    def right(self) -> bool:
        """Whether it speaks for the answer."""
        return self.judgement is Judgement.RIGHT


class Served(NamedTuple):
    """A near answer that was served, and what a judgement on it is recorded under, in a feedback token."""

    proposed: Proposed
    rule_id: str
    key: EntryKey
    """Of the entry."""
    generations: Generations
    vector: bytes
    """Of what was asked: float32 little endian, of unit length."""
    expire_ms: int
    """When the token ends."""
