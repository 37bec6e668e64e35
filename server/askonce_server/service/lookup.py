"""Lookup: may a stored answer be served? Fails open: a fault inside is a bypass, never an error."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial

from askonce_server.core.decide import decide
from askonce_server.core.decision import Decision, bypass
from askonce_server.core.eligibility import content_size
from askonce_server.core.lasting import Lasting, lasting
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason
from askonce_server.core.rules import Rule
from askonce_server.ports import ReadView
from askonce_server.service.asked import Asked, plan_for
from askonce_server.service.call import Call
from askonce_server.service.driver import CutOff, never
from askonce_server.service.flight import Turn
from askonce_server.service.shared import Shared
from askonce_server.service.steps import Steps

_KEPT_BYTES = 4096
"""A decision and its plan, without the request's content."""


@dataclass(slots=True)  # not frozen: that costs four times as much to make, once a Lookup
class Begun:
    """A lookup that was decided, but for waiting."""

    plan: Plan
    mark: int
    """What had changed among the leases before it was decided."""
    decision: Decision


_AT_ONCE = Turn()


class LookupService:
    """Decides lookups under the current rules."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._recall = shared.driver.recall
        self._now_ms = shared.clock.now_ms

    @property
    def rules(self) -> Sequence[Rule]:
        """The current rules: plans that were made under others must not be used."""
        return self._shared.rules()

    def plan(self, asked: Asked, rules: Sequence[Rule] | None = None) -> Plan:
        """Read the content and find the rule, among the current ones unless `rules` are given.

        Raises MalformedRequest naming everything that is wrong.
        """
        return plan_for(
            asked,
            self._shared.rules() if rules is None else rules,
            more=self._shared.driver.models.violations,
        )

    def again(self, plan: Plan, call: Call) -> Lasting | None:
        """Return, and count, what was decided before over the same rows; None: decide. Never raises.

        `call` is told what time it is.
        """
        try:
            kept = self._recall(plan)
            if not isinstance(kept, Lasting):
                return None
            call.now_ms = now_ms = self._now_ms()
        except Exception as error:
            self._shared.faults.record("lookup", error)
            return None
        if now_ms >= kept.until_ms:
            return None
        call.plan = plan
        if call.steps is not None:
            call.steps.given_again(kept.decision, call.began_ns)
        self.count(kept.decision, call)
        return kept

    def lookup(
        self, plan: Plan, cut_off: CutOff = never, turn: Turn = _AT_ONCE, call: Call | None = None
    ) -> Decision:
        """Decide one lookup, and count it. Never raises."""
        call = call or Call()
        return self.end(self.begin(plan, cut_off, call), turn, cut_off, call)

    def begin(self, plan: Plan, cut_off: CutOff, call: Call) -> Begun:
        """Decide one lookup as far as nobody has to be waited for. Never raises.

        `cut_off` is asked only when a model must be: it says when the caller must have its answer.
        """
        call.follow(plan)
        return Begun(plan, self._shared.flight.leases.mark(), self._decide(plan, cut_off, call.steps))

    def end(self, begun: Begun, turn: Turn, cut_off: CutOff, call: Call) -> Decision:
        """Wait for whoever fills the same, where the caller will; count the decision. Never raises.

        No permit is to be held: what work there is takes one by `turn`.
        """
        decision = begun.decision
        if decision.lease:
            decision = self._wait(begun, turn, cut_off, call.steps)
        self.count(decision, call)
        return decision

    def _wait(self, begun: Begun, turn: Turn, cut_off: CutOff, steps: Steps | None) -> Decision:
        began_ns, first = time.perf_counter_ns(), len(steps.all) if steps is not None else 0
        decision = self._shared.flight.wait(
            begun.decision,
            begun.plan,
            turn,
            mark=begun.mark,
            look=lambda anew: self._decide(anew, cut_off, steps),
        )
        if steps is not None and begun.plan.request.wait_ms:
            result = "filled" if decision.collapsed else "lead" if decision.lease_holder else "not filled"
            steps.add_around(first, "wait for fill", began_ns, result)
        return decision

    def let_go(self, decision: Decision) -> None:
        """Let go of the lease of a decision that never reached its caller. Never raises."""
        if decision.grant is None or not decision.lease_holder:
            return
        try:
            self._shared.flight.leases.release(decision.lease, decision.grant.holder)
        except Exception as error:  # it ends by itself
            self._shared.faults.record("letting go of a lease", error)

    @contextmanager
    def led(self, heard: Callable[[], bool]) -> Iterator[list[Decision]]:
        """Gather decisions that one caller will have, and let go of their leases unless it has `heard`."""
        led: list[Decision] = []
        reached = False
        try:
            yield led
            reached = heard()
        finally:
            for decision in () if reached else led:
                self.let_go(decision)

    def lookup_all(
        self, plans: Sequence[Plan], cut_off: CutOff = never, calls: Sequence[Call] = ()
    ) -> list[Decision]:
        """Decide lookups in order, what needs no model over one view; each may have its call. Never raises.

        Nothing is counted: a batch may have no room for a decision, and whoever asks again gets another.
        """
        now_ms = self._shared.clock.now_ms()
        deciding = [decide(plan, now_ms=now_ms, token=self._shared.guard_token) for plan in plans]
        pairs = zip(plans, calls, strict=bool(calls))
        steps = [call.follow(plan) for plan, call in pairs] or [None] * len(plans)
        try:
            ended: Sequence[Decision | Exception] = self._shared.driver.run_all(deciding, cut_off, steps)
        except Exception as error:
            ended = [error for _ in plans]
        return [
            self._led(plan, self._sound(plan, end, now_ms, told), now_ms)
            for plan, end, told in zip(plans, ended, steps, strict=True)
        ]

    def _led(self, plan: Plan, decision: Decision, now_ms: int) -> Decision:
        """Return the decision with the lease, where it is to be had; those of others stand when it breaks."""
        try:
            return self._shared.flight.lead(decision, plan)
        except Exception as error:
            self._shared.faults.record("lookup", error)
            return _failed(plan, now_ms)

    def give_up(self, reason: BypassReason, call: Call) -> Decision:
        """Return, and count, the bypass of a lookup that could not be taken up. Never raises."""
        decision = bypass(reason, None, now_ms=0)  # nothing in it has an age
        self.count(decision, call)
        return decision

    def count(self, decision: Decision, call: Call) -> None:
        """Count a decision that reaches its caller, as those of `lookup_all` do later. Never raises."""
        self._shared.tallies.decided(decision, call)
        for watch in self._shared.watches:
            try:
                watch.decided(decision, call)
            except Exception as error:
                self._shared.faults.record("watching a decision", error)

    def _decide(self, plan: Plan, cut_off: CutOff, steps: Steps | None) -> Decision:
        now_ms = self._shared.clock.now_ms()
        end: Decision | Exception
        try:
            deciding = decide(plan, now_ms=now_ms, token=self._shared.guard_token)
            end = self._shared.driver.run(deciding, cut_off, decided=partial(_keep, plan), steps=steps)
        except Exception as error:
            end = error
        return self._sound(plan, end, now_ms, steps)

    def _sound(self, plan: Plan, end: Decision | Exception, now_ms: int, steps: Steps | None) -> Decision:
        """Return the decision, or the bypass that a fault leads to; let go of the content."""
        if plan.derivation is not None:
            plan.derivation.forget()
        if not isinstance(end, Decision):
            self._shared.faults.record("lookup", end)
            end = _failed(plan, now_ms)
        if end.served is not None and plan.rule is not None and self._shared.proven(plan.rule):
            end = replace(end, priced=True)
        if steps is not None:
            steps.end(end, plan)
        return end


def _keep(plan: Plan, decision: Decision, view: ReadView) -> None:
    """Keep what can be given again while no row changes."""
    candidate, kept = decision.candidate, lasting(plan, decision)
    if candidate is not None and kept is not None:
        size = _KEPT_BYTES + content_size(plan.request.descriptor)
        view.keep(plan, kept, entry=candidate.entry, size=size)


def _failed(plan: Plan, now_ms: int) -> Decision:
    return bypass(BypassReason.STORE_FAILED, plan.rule, now_ms=now_ms, anchor=plan.anchor)
