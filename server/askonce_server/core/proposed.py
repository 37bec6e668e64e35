"""A near answer that was found, to be labelled by the fresh one."""

from __future__ import annotations

from enum import IntEnum
from hashlib import blake2b
from typing import NamedTuple

LABEL_ID_BYTES = 16


class Method(IntEnum):
    """How a label came about."""

    SHADOW = 1
    """The rule only watches: the fresh answer was compared with the one that would have been served."""
    EXPLORE = 2
    """The near answer was not served, so as to compare it."""
    AUDIT = 3
    """It would have been served, and was compared instead."""
    FEEDBACK = 4
    """Somebody said so."""
    JUDGE = 5


class Proposed(NamedTuple):
    """A near answer that the fresh one will be compared with, and what its label is counted under."""

    label_id: bytes
    """16 bytes: a label that is given twice counts once."""
    method: Method
    fingerprint: bytes
    """Of the entry, 32 bytes; its scope key and partition are those of the grant's semantic key."""
    similarity: float
    ticket: bytes
    """See `core.ruling.Ticket`. Empty: no vote was taken."""
    guard: str = ""


def label_id(asked: bytes, found: bytes, *, now_ms: int) -> bytes:
    """Return the id of the label that entry `found` gets by the answer to entry `asked`, looked up at a time.

    Who asks the same twice in a millisecond labels once.
    """
    framed = asked + found + now_ms.to_bytes(8, "big")
    return blake2b(framed, digest_size=LABEL_ID_BYTES, person=b"askonce.label").digest()
