"""The twin of `labels` that keeps labels in memory."""

from __future__ import annotations

from collections.abc import Callable

from askonce_server.core.labels import Label
from askonce_server.ports import MOST_LABELS, LabelPage


class MemoryLabels:
    """Labels as long as the process runs. Not safe to call from several threads."""

    def __init__(self) -> None:
        self._labels: dict[int, Label] = {}
        self._ids: set[bytes] = set()
        self._next = 1
        self._rewritten = 0

    def add(self, label: Label) -> None:
        """Keep a label that is new, and no more than the newest."""
        if label.label_id in self._ids:
            return
        self._labels[self._next] = label
        self._ids.add(label.label_id)
        self._next += 1
        if len(self._labels) > MOST_LABELS:
            self._ids.discard(self._labels.pop(next(iter(self._labels))).label_id)

    def page(self, after: int, *, limit: int) -> LabelPage:
        """Return at most `limit` labels after number `after`."""
        found = [(number, label) for number, label in self._labels.items() if number > after][:limit]
        return LabelPage([label for _, label in found], found[-1][0] if found else after, self._rewritten)

    def remove(self, which: Callable[[Label], bool]) -> None:
        """Take out labels."""
        gone = [number for number, label in self._labels.items() if which(label)]
        for number in gone:
            self._ids.discard(self._labels.pop(number).label_id)
        self._rewritten += bool(gone)
