"""Single flight: of the callers that miss on one entry at once, one fills it and the others wait.

Waiting takes no permit. Whoever waits looks again when the leader is done: its Store is a hit, an Abandon, a
refused Store or the lease's end makes exactly one of those who wait the next leader.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING

from askonce_server.core.decision import Decision
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import Matcher, Outcome
from askonce_server.core.rules import Coalesce
from askonce_server.ports import Clock, Leases

if TYPE_CHECKING:
    from collections.abc import Iterator

_LOOK_SECONDS = 0.25
"""How often whoever waits sees whether its caller is still there."""
_REFRESH = Coalesce()
"""How long the one who refreshes a stale answer may take, where the rule says nothing."""


def _always() -> AbstractContextManager[bool]:
    return nullcontext(True)


def _unhurried() -> float:
    return math.inf


@dataclass(slots=True)  # not frozen: that costs four times as much to make, once a Lookup
class Turn:
    """What a caller needs to be worked for."""

    work: Callable[[], AbstractContextManager[bool]] = _always
    """Holds a permit to work, for a block; gives False when there is none in time."""
    left: Callable[[], float] = _unhurried
    """Returns the seconds until the caller's deadline: 0 when it has gone, infinite when it has none."""


class Flight:
    """Hands out leases, and lets callers wait for those who have one: at most `most` under all rules."""

    def __init__(self, leases: Leases, clock: Clock, *, most: int = 256) -> None:
        self.leases = leases
        self._clock = clock
        self._most = most
        self._lock = Lock()
        self._waiting: Counter[str] = Counter()

    def lead(self, decision: Decision, plan: Plan) -> Decision:
        """Return the decision with the lease, where it is to be had."""
        return self._lead(decision, plan)[0]

    def wait(
        self, decision: Decision, plan: Plan, turn: Turn, *, mark: int, look: Callable[[Plan], Decision]
    ) -> Decision:
        """Return the decision once it is this caller's turn, or there is an answer, or its time is over.

        `mark` was taken before `decision` was made; `look` decides again.
        """
        decision, until_ms = self._lead(decision, plan)
        if not until_ms or decision.outcome is Outcome.HIT or not plan.request.wait_ms:
            return decision
        assert plan.rule is not None
        assert plan.rule.coalesce is not None
        with self._room(plan.rule.id, plan.rule.coalesce.max_waiters) as room:
            if not room:
                return decision
            return self._wait(decision, plan, turn, mark=mark, until_ms=until_ms, look=look)

    def _wait(  # noqa: PLR0913 - the state of one wait
        self,
        decision: Decision,
        plan: Plan,
        turn: Turn,
        *,
        mark: int,
        until_ms: int,
        look: Callable[[Plan], Decision],
    ) -> Decision:
        again = _deterministic(plan)
        deadline = time.monotonic() + plan.request.wait_ms / 1000
        while (seconds := min(deadline - time.monotonic(), turn.left())) > 0:
            ends = max(0.0, (until_ms - self._clock.now_ms()) / 1000)
            changed = self.leases.wait(decision.lease, mark, seconds=min(seconds, ends, _LOOK_SECONDS))
            if self.leases.closed:
                return decision
            if not changed and ends > _LOOK_SECONDS:
                continue
            with turn.work() as held:
                if not held:
                    return decision
                mark = self.leases.mark()
                found = look(again)
                if found.outcome is Outcome.HIT:
                    return replace(found, collapsed=True)
                decision, until_ms = self._lead(decision, plan)
            if not until_ms:
                return decision
        return decision

    def _lead(self, decision: Decision, plan: Plan) -> tuple[Decision, int]:
        """Take the lease where the decision has one; return until when somebody else has it, else 0.

        Only a caller that may store can lead. A stale hit is refreshed by its leader alone.
        """
        if not decision.lease:
            return decision, 0
        if decision.grant is None:
            return decision, self.leases.held_until(decision.lease)
        terms = (plan.rule.coalesce if plan.rule is not None else None) or _REFRESH
        now_ms = self._clock.now_ms()
        taken = self.leases.take(decision.lease, now_ms=now_ms, until_ms=now_ms + terms.lease_ms)
        if taken.holder is not None:
            return replace(decision, lease_holder=True, grant=replace(decision.grant, holder=taken.holder)), 0
        if decision.outcome is Outcome.HIT:
            return replace(decision, grant=None, store_answer=False), taken.until_ms
        return decision, taken.until_ms

    @contextmanager
    def _room(self, rule_id: str, most: int) -> Iterator[bool]:
        """Count one who waits under a rule. Gives False when enough do already."""
        with self._lock:
            room = self._waiting[rule_id] < most and self._waiting.total() < self._most
            self._waiting[rule_id] += room
        try:
            yield room
        finally:
            with self._lock:
                self._waiting[rule_id] -= room


def _deterministic(plan: Plan) -> Plan:
    """Return the plan without the semantic matcher: who waits for an equal request embeds nothing again."""
    assert plan.rule is not None
    same = tuple(matcher for matcher in plan.rule.strategy if matcher is not Matcher.SEMANTIC)
    return replace(plan, rule=replace(plan.rule, strategy=same))
