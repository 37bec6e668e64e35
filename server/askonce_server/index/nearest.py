"""From candidates to neighbours: what lives, with exact cosines, in an order that never varies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from askonce_server.core.entries import Entry, Neighbor
from askonce_server.index.candidates import NOTHING_BEYOND, Candidates, Search
from askonce_server.index.exact import cosines
from askonce_server.ports import PartitionState, ReadView, StoredVector, Vector

Age = tuple[int, int]
"""Grows with every change of a partition: rows are added under a new sequence, or removed."""

_WIDER: Final = 4
"""How many times greater the effort is when the candidates that came do not settle it."""
_NEVER: Final[Age] = (1 << 63, 0)


def age(state: PartitionState) -> Age:
    """Return what orders the states of a partition in time."""
    return state.sequence, -state.rows


class Walk:
    """Goes through the candidates of one recall until nothing that was not looked at can be nearer."""

    __slots__ = ("_age", "_alive", "_dead", "_k", "_live", "_partition", "_seen", "_vector", "_view", "gone")

    def __init__(  # noqa: PLR0913 - what a recall is asked, and what is known of the partition
        self,
        view: ReadView,
        partition: bytes,
        vector: Vector,
        *,
        k: int,
        alive: Callable[[Entry], bool],
        at: Age,
        dead: Mapping[int, Age],
    ) -> None:
        """Look into `view`, which shows the partition as it was `at`; `dead` tells since when rows are."""
        self._view = view
        self._partition = partition
        self._vector = vector
        self._k = k
        self._alive = alive
        self._age = at
        self._dead = dead
        self._seen: set[int] = set()
        self._live: list[tuple[float, int, StoredVector]] = []
        """The nearest so far: negated cosine, negated sequence, what is stored; so they sort as they rank."""
        self.gone: list[int] = []
        """Rows that the view lacks although they are no newer."""

    def run(self, search: Search) -> list[Neighbor]:
        """Return the nearest, best first; of equally near ones the newest first."""
        effort = 1
        while not self._settle(search(effort)):
            effort *= _WIDER
        return [Neighbor(found.entry, found.row, -negated) for negated, _, found in self._live]

    def _settle(self, found: Candidates) -> bool:
        """Look at candidates; whether no other vector can be among the nearest."""
        numbers, scores, margin = found.sequences.tolist(), found.scores.tolist(), found.margin
        at, count = 0, len(numbers)
        while at < count and not self._better_than(scores[at] + margin):
            end = self._end(scores, at, margin)
            self._look(numbers[at:end])
            at = end
        return found.beyond == NOTHING_BEYOND or self._better_than(found.beyond)

    def _better_than(self, cosine: float) -> bool:
        """Whether there are enough, all nearer than `cosine`."""
        return len(self._live) == self._k and -self._live[-1][0] > cosine

    def _end(self, scores: list[float], at: int, margin: float) -> int:
        """Return up to where to look at once: so many as are missing, and those that may be as near."""
        end = at + max(self._k - len(self._live), 1)
        if end >= len(scores):
            return len(scores)
        least, most = scores[end - 1] - 2 * margin, min(end + self._k, len(scores))
        while end < most and scores[end] >= least:
            end += 1
        return end

    def _look(self, numbers: list[int]) -> None:
        """Read what is not known to be dead, and keep the nearest that live."""
        wanted = numbers
        if self._seen or self._dead:
            wanted = [number for number in numbers if self._may_live(number)]
            if not wanted:
                return
        self._seen.update(wanted)
        live: list[tuple[int, StoredVector]] = []
        for number, found in zip(wanted, self._view.stored_vectors(self._partition, wanted), strict=True):
            if found is None:
                if number <= self._age[0]:
                    self.gone.append(number)
            elif self._alive(found.entry):
                live.append((number, found))
        if live:
            joined = b"".join([found.row.vector for _, found in live])
            exact = cosines(self._vector, np.frombuffer(joined, "<f4").reshape(len(live), -1))
            self._live += [
                (-cosine, -number, found) for cosine, (number, found) in zip(exact, live, strict=True)
            ]
            self._live.sort()
            del self._live[self._k :]

    def _may_live(self, number: int) -> bool:
        return number not in self._seen and self._dead.get(number, _NEVER) > self._age
