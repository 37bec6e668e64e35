"""One lookup on its way, as whoever counts and watches it sees it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from askonce_server.core.decision import Decision
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import RefusalReason
from askonce_server.service.steps import Steps


@dataclass(slots=True)  # not frozen: that costs four times as much to make, once a Lookup
class Call:
    """What is known of a lookup beside its decision."""

    decision_id: str = ""
    """The one that its caller is told: 32 hex characters."""
    began_ns: int = field(default_factory=time.perf_counter_ns)
    """When it came, in nanoseconds of `time.perf_counter_ns`."""
    plan: Plan | None = None
    """What was asked, once it is read. None for what was not taken up."""
    now_ms: int = 0
    """What time it was when an earlier decision was given again, in milliseconds since 1970."""
    steps: Steps | None = None
    """What was done for it. None: nobody follows it."""

    def follow(self, plan: Plan) -> Steps | None:
        """Take note of what was asked; return what is to be told the steps, where somebody wants them."""
        self.plan = plan
        if plan.request.trace and self.steps is None:
            self.steps = Steps()
        return self.steps


class Watch(Protocol):
    """Whoever is told of decisions, beside those that count them."""

    def decided(self, decision: Decision, call: Call) -> None:
        """Take note of a decision that reaches its caller. What it raises is logged, and hurts nobody."""


class StoreWatch(Protocol):
    """Whoever is told of Stores, beside those that count them."""

    def stored(self, refusal: RefusalReason | None) -> None:
        """Take note of what became of one: it was acknowledged where `refusal` is None. Raises nothing."""
