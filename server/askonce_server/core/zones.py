"""Where a similarity falls under a rule's two thresholds."""

from __future__ import annotations

from enum import IntEnum

EQUAL = 1e-6
"""Cosines that differ from 1 by no more are those of equal vectors: float32 products are no more exact."""


class Zone(IntEnum):
    """Numbered like `Zone` of the contract."""

    ABOVE = 1
    GRAY = 2
    BELOW = 3


def zone(similarity: float, *, threshold: float, low_threshold: float) -> Zone:
    """Return the zone of a cosine. Thresholds are in [0, 1], low <= high; low 0 means no gray band.

    A value that is not a number is below.
    """
    if similarity >= threshold or similarity >= 1 - EQUAL:
        return Zone.ABOVE
    if low_threshold > 0 and similarity >= low_threshold:
        return Zone.GRAY
    return Zone.BELOW
