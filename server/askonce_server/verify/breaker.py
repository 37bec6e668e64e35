"""A breaker before a verifier, so that a service that is down is not asked each time."""

from __future__ import annotations

from askonce_server.calls.breaker import Breaker
from askonce_server.ports import Case, TooFewNeighbors, Verifier, VerifierFailed


class BreakerVerifier:
    """A verifier that is skipped while it is down."""

    def __init__(self, verifier: Verifier, breaker: Breaker | None = None) -> None:
        """Stand before `verifier`, with a breaker of its own unless one is given."""
        self.verifier = verifier
        self._breaker = breaker or Breaker(
            f"verifier {verifier.name}", failed=VerifierFailed, blameless=(TooFewNeighbors,)
        )

    @property
    def name(self) -> str:
        """The verifier's name."""
        return self.verifier.name

    def verify(self, case: Case, *, deadline: float) -> bool:
        """Whether the verifier accepts. Raises what it raises; VerifierFailed when it is skipped."""
        verifier = self.verifier
        return self._breaker.call(lambda: verifier.verify(case, deadline=deadline), deadline=deadline)

    def close(self) -> None:
        """Close the verifier."""
        self.verifier.close()
