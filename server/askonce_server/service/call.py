"""One lookup on its way, as whoever counts and watches it sees it."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Protocol

from askonce_server.core.decision import Decision
from askonce_server.core.plan import Plan


@dataclass(slots=True)  # not frozen: that costs four times as much to make, once a Lookup
class Call:
    """What is known of a lookup beside its decision."""

    decision_id: str = ""
    """The one that its caller is told: 32 hex characters."""
    began_ns: int = field(default_factory=time.perf_counter_ns)
    """When it came, in nanoseconds of `time.perf_counter_ns`."""
    plan: Plan | None = None
    """What was asked, once it is read. None for what was not taken up."""


class Watch(Protocol):
    """Whoever is told of decisions, beside those that count them."""

    def decided(self, decision: Decision, call: Call) -> None:
        """Take note of a decision that reaches its caller. What it raises is logged, and hurts nobody."""
