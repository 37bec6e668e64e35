"""Labels of near answers, in the order in which they came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from askonce_server.core.entries import EntryKey
from askonce_server.core.labels import Label

MOST_LABELS = 50_000
"""So many are kept, the oldest go first: some 15 MB."""


MOST_BARS = 8
NO_BARS: Mapping[EntryKey, bytes] = {}


class LabelPage(NamedTuple):
    """Labels that follow each other."""

    labels: Sequence[Label]
    last: int
    """The sequence of the last of them; where to go on."""
    rewritten: int
    """Another number than before: some were taken out by a purge, and whoever counts them begins anew."""


class LabelLog(Protocol):
    """Labels, kept over restarts, and the groups of answers. Safe to call from any thread."""

    def file_labels(
        self,
        labels: Sequence[Label],
        groups: Mapping[EntryKey, bytes],
        bars: Mapping[EntryKey, bytes] = NO_BARS,
    ) -> None:
        """Keep labels, give entries their answer groups (16 bytes) and bar entries, all of it or nothing.

        An entry is barred for questions like a vector of signed bytes; an empty one bars it for all. It is
        for as long as that answer is stored, and of `MOST_BARS` vectors, the newest.

        A label whose id is known, or whose scope was purged since, is left out; so is the group of an entry
        that is gone. Only the newest `MOST_LABELS` stay. Raises StoreUnavailable when not acknowledged.
        """

    def labels(self, after: int, *, limit: int) -> LabelPage:
        """Return at most `limit` labels that came after number `after`, oldest first.

        Fewer than `limit`: there are no more. Raises StoreUnavailable.
        """
