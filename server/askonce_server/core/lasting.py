"""Decisions that hold for as long as no row changes: made once, they can be given again.

`decide` asks the store and looks at the time. While the store answers as it did, only the time can change a
decision, and of an exact or normalized hit it changes one thing: whether the answer is still fresh. An entry
that was passed over for its age, too old to be served even stale, is passed over later as well.
"""

from __future__ import annotations

from askonce_server.core.decision import Decision
from askonce_server.core.freshness import Freshness, freshness
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import Matcher, Outcome

_FRESH = Freshness.FRESH
_HIT = Outcome.HIT
_SEMANTIC = Matcher.SEMANTIC


def lasts(plan: Plan, decision: Decision) -> bool:
    """Whether `decision`, made for `plan`, is a fresh hit that no model had a part in.

    Who wants to see the steps must have them taken.
    """
    if (
        decision.outcome is not _HIT
        or decision.stale
        or decision.kind is None
        or plan.rule is None
        or plan.request.trace
    ):
        return False
    strategy = plan.rule.strategy
    return _SEMANTIC not in strategy[: strategy.index(decision.kind) + 1]


def again(plan: Plan, earlier: Decision, now_ms: int) -> Decision | None:
    """Return what `plan` leads to now over the rows that `earlier` was made over, or None: decide anew.

    `earlier` is one that lasts.
    """
    candidate, rule = earlier.candidate, plan.rule
    if candidate is None or rule is None:
        return None
    if freshness(candidate.entry.answer, plan.request.controls, now_ms, rule=rule) is not _FRESH:
        return None
    return Decision(
        earlier.outcome,
        now_ms,
        rule_id=earlier.rule_id,
        kind=earlier.kind,
        candidate=candidate,
        skipped=earlier.skipped,
        anchor=earlier.anchor,
        encoded=earlier.encoded,
    )
