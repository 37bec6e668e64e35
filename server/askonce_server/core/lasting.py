"""Decisions that hold for as long as no row changes: made once, they can be given again.

`decide` asks the store and looks at the time. While the store answers as it did, only the time can change a
decision, and of an exact or normalized hit it changes one thing: whether the answer is still fresh. An entry
that was passed over for its age, too old to be served even stale, is passed over later as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from askonce_server.core.decision import Decision
from askonce_server.core.freshness import fresh_until
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import Matcher, Outcome

_HIT = Outcome.HIT
_SEMANTIC = Matcher.SEMANTIC


@dataclass(slots=True)
class Lasting:
    """A hit that can be given again before `until_ms`, with nothing changed but the time of it."""

    decision: Decision
    until_ms: int
    encoded: object = field(default=None, repr=False, compare=False)
    """Where the transport keeps what it made of all but the time."""


def lasting(plan: Plan, decision: Decision) -> Lasting | None:
    """Return what can be given again of `decision`, made for `plan`: a fresh hit that no model had a part in.

    None: it must be made anew. Who wants to see the steps must have them taken.
    """
    candidate, rule = decision.candidate, plan.rule
    if (
        decision.outcome is not _HIT
        or decision.stale
        or decision.kind is None
        or candidate is None
        or rule is None
        or plan.request.trace
        or _SEMANTIC in rule.strategy[: rule.strategy.index(decision.kind) + 1]
    ):
        return None
    return Lasting(decision, fresh_until(candidate.entry.answer, plan.request.controls, rule=rule))
