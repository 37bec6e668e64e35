"""A few threads before a verifier, so that no caller waits longer than it may."""

from __future__ import annotations

from askonce_server.calls.queue import CallQueue
from askonce_server.ports import Case, OverBudget, Verifier, VerifierFailed


class VerifyQueue:
    """A verifier whose work is done by a few threads, each caller answered by its deadline."""

    def __init__(self, verifier: Verifier, *, threads: int, length: int = 64) -> None:
        """Stand before `verifier` with at most `length` cases waiting. Threads begin with the first case."""
        self.verifier = verifier
        self._queue = CallQueue(
            f"verifier {verifier.name}",
            failed=VerifierFailed,
            expected=(OverBudget, VerifierFailed),
            threads=threads,
            length=length,
        )

    @property
    def name(self) -> str:
        """The verifier's name."""
        return self.verifier.name

    def verify(self, case: Case, *, deadline: float) -> bool:
        """Whether the verifier accepts, or raise, by `deadline`.

        Raises what the verifier raises; OverBudget when there is no verdict by then or none can be expected;
        VerifierFailed for every other fault, of a closed queue too.
        """
        verifier = self.verifier
        size = len(case.text) + len(case.candidate.row.text)
        return self._queue.run(lambda: verifier.verify(case, deadline=deadline), size=size, deadline=deadline)

    def close(self) -> None:
        """Take no more cases, fail those that wait, give those under way a moment, and close the verifier."""
        self._queue.close()
        self.verifier.close()
