"""Whether what was asked is as near to the candidate as the candidate's own neighbours are."""

from __future__ import annotations

import time

from askonce_server.core.entries import Entry, Neighbor
from askonce_server.ports import Case, OverBudget, TooFewNeighbors, VerifierFailed

K = 3
_FIRST_RECALL = 10
_MOST_RECALLED = 320
"""How many neighbours are looked at before a candidate whose answer has more keys than that is given up."""


class KReciprocalVerifier:
    """Accepts a candidate that what was asked would be among the k nearest of, and that is among its own.

    The k-reciprocal nearest neighbours of Qin et al., "Hello neighbor" (CVPR 2011). It measures how dense the
    surroundings are, and knows nothing of meaning.
    """

    name = "kreciprocal"

    def __init__(self, *, k: int = K) -> None:
        """Keep how many neighbours count."""
        self._k = k

    def verify(self, case: Case, *, deadline: float) -> bool:
        """Whether both are among each other's `k` nearest.

        The candidate itself and all entries with its answer are no neighbours of it. Raises TooFewNeighbors
        when fewer than `k` others are there, OverBudget and VerifierFailed.
        """
        candidate = case.candidate
        if _rank(case) > self._k:
            return False
        others = self._others(case, deadline)
        if len(others) < self._k:
            raise TooFewNeighbors(f"{len(others)} other entries are near the candidate; {self._k} are needed")
        return candidate.similarity >= others[self._k - 1].similarity

    def close(self) -> None:
        """Do nothing: there is nothing to let go of."""

    def _others(self, case: Case, deadline: float) -> list[Neighbor]:
        """Return the neighbours of the candidate that have another answer, best first, `k` if there are."""
        candidate, size = case.candidate.entry, _FIRST_RECALL + self._k
        while True:
            if time.monotonic() >= deadline:
                raise OverBudget("the deadline had passed before the neighbours were recalled")
            try:
                found = case.around(case.candidate.row.vector, size)
            except Exception as fault:
                raise VerifierFailed(f"no neighbours can be recalled: {type(fault).__name__}") from fault
            others = [one for one in found if not _same_answer(one.entry, candidate)]
            if len(others) >= self._k or len(found) < size or size >= _MOST_RECALLED:
                return others
            size *= 2


def _rank(case: Case) -> int:
    """Return which of the entries near what was asked the candidate is, those with its answer aside."""
    candidate = case.candidate
    nearer = (
        one
        for one in case.neighbors
        if one.similarity > candidate.similarity and not _same_answer(one.entry, candidate.entry)
    )
    return 1 + sum(1 for _ in nearer)


def _same_answer(one: Entry, other: Entry) -> bool:
    same_body = (one.scope_root, one.store_id) == (other.scope_root, other.store_id)
    return same_body or one.key.entry_id == other.key.entry_id
