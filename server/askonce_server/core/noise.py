"""How often answers that are known to be the same are called different, and what cannot be promised then.

A wrong label that is none counts against the bound like any other: below the noise of the comparator nothing
is ever served, and close above it hardly anything is.
"""

from __future__ import annotations

from typing import NamedTuple

from askonce_server.core import bound

_TIMES = 2
"""How much more than the noise may be promised: less leaves nothing for hits that are really wrong."""


class Noise(NamedTuple):
    """What the comparator said of answers that are the same: to one question, asked twice."""

    compared: int = 0
    """Those it decided on; what it does not know teaches nothing."""
    different: int = 0

    def add(self, *, same: bool) -> Noise:
        """Count one more pair."""
        return Noise(self.compared + 1, self.different + (not same))

    @property
    def share(self) -> float:
        """The measured noise; 0 while nothing was compared."""
        return self.different / self.compared if self.compared else 0.0

    @property
    def lower(self) -> float:
        """The bound from below at 95 %."""
        return bound.lower_bound(self.different, self.compared)

    @property
    def upper(self) -> float:
        """The bound from above at 95 %."""
        return bound.upper_bound(self.different, self.compared)


def refusal(max_wrong: float, noise: Noise) -> str | None:
    """Return why `max_wrong` cannot be promised, in one sentence; None: it can, as far as is known."""
    least = _TIMES * noise.share
    if max_wrong >= least:
        return None
    return (
        f"max_wrong_hit_rate {_percent(max_wrong)} is below {_TIMES} times the noise of the comparison: of "
        f"{noise.compared} pairs of the same answer it called {noise.different} different "
        f"({_percent(noise.share)}), so that nothing below {_percent(least)} can be promised"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.2f}".rstrip("0").rstrip(".") + " %"
