"""Who decides in the gray band."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from askonce_server.core.entries import Neighbor


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A candidate in the gray band, to be confirmed or not."""

    text: str
    """What was asked."""
    candidate: Neighbor
    neighbors: Sequence[Neighbor]
    """What was recalled, best first, the candidate among them."""
    around: Callable[[bytes, int], Sequence[Neighbor]]
    """Recalls the nearest live entries of a vector in the same partition, best first."""


class VerifierUnavailable(Exception):
    """The verifier cannot be set up; the message says why and names the mend."""


class VerifierFailed(Exception):
    """The verifier gave no verdict; the message says why and holds nothing of the texts."""


class TooFewNeighbors(VerifierFailed):
    """There are too few other entries to judge by."""


class Verifier(Protocol):
    """Confirms candidates whose similarity alone does not decide. Safe to call from any thread."""

    @property
    def name(self) -> str:
        """As the rules name it."""

    def verify(self, case: Case, *, deadline: float) -> bool:
        """Whether the candidate answers what was asked. `deadline` is in seconds of `time.monotonic`.

        Raises TooFewNeighbors, OverBudget, and VerifierFailed for every other fault.
        """

    def close(self) -> None:
        """Let go of threads and connections."""
