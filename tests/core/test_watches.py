"""Who watches is told of every decision, once, and can hurt none."""

from __future__ import annotations

from dataclasses import replace

from askonce_server.core.decision import Decision
from askonce_server.core.reasons import Outcome
from askonce_server.service.asked import Asked
from askonce_server.service.call import Call
from askonce_server.service.lookup import LookupService
from core.builders import said
from core.cache import Cache


class Notes:
    """Keeps what it is told."""

    def __init__(self):
        self.seen: list[tuple[Decision, Call]] = []

    def decided(self, decision: Decision, call: Call) -> None:
        self.seen.append((decision, call))


class Broken:
    def decided(self, decision: Decision, call: Call) -> None:
        raise RuntimeError("a watch has a bug")


def test_each_decision_is_told_once_with_what_was_asked(caplog):
    cache, notes = Cache(), Notes()
    lookups = LookupService(replace(cache.shared, watches=(Broken(), notes)))
    call = Call("ab" * 16)
    plan = lookups.plan(Asked(said("hi")))
    decision = lookups.lookup(plan, call=call)
    assert decision.outcome is Outcome.MISS
    assert notes.seen == [(decision, call)]
    assert call.plan is plan
    assert "watching a decision: RuntimeError" in caplog.text
