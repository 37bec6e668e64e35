"""Lookup: may a stored answer be served? Fails open: a fault inside is a bypass, never an error."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field

from askonce_server.core.decide import decide
from askonce_server.core.decision import Decision, Request, bypass
from askonce_server.core.descriptor import Controls, Descriptor
from askonce_server.core.errors import MalformedRequest, Unrepresentable, Violation
from askonce_server.core.plan import Plan, plan
from askonce_server.core.reasons import BypassReason
from askonce_server.core.requirements import (
    content_violations,
    control_violations,
    rule_violations,
    stream_violations,
    ttl_violations,
    wants_stream,
)
from askonce_server.core.rules import Rule, first_match
from askonce_server.ports import Clock, EntryStore, ReadView
from askonce_server.service.content import read
from askonce_server.service.driver import drive
from askonce_server.service.faults import FaultLog
from askonce_server.service.tallies import Tallies


@dataclass(frozen=True, slots=True)
class Asked:
    """A Lookup as it came over the wire, not yet judged."""

    descriptor: Descriptor
    controls: Controls = field(default_factory=Controls)
    known_fields: bool = True
    """False when the descriptor or the controls had fields that this version does not know."""
    known_mode: bool = True
    accepts: frozenset[bool] = frozenset()
    omit_body: bool = False
    anchor: bool = False
    violations: tuple[Violation, ...] = ()
    """What the wire format alone already showed to be wrong."""


class LookupService:
    """Decides lookups under the current rules."""

    def __init__(
        self,
        *,
        store: EntryStore,
        clock: Clock,
        rules: Callable[[], Sequence[Rule]],
        tallies: Tallies,
        faults: FaultLog,
    ) -> None:
        self._store = store
        self._clock = clock
        self._rules = rules
        self._tallies = tallies
        self._faults = faults

    @property
    def rules(self) -> Sequence[Rule]:
        """The current rules: plans that were made under others must not be used."""
        return self._rules()

    def plan(self, asked: Asked, rules: Sequence[Rule] | None = None) -> Plan:
        """Read the content and find the rule, among the current ones unless `rules` are given.

        Raises MalformedRequest naming everything that is wrong.
        """
        return plan_for(asked, self._rules() if rules is None else rules)

    def lookup(self, plan: Plan) -> Decision:
        """Decide one lookup, and count it. Never raises."""
        decision = self._decide(plan, self._store.read, self._clock.now_ms())
        self._tallies.decided(decision)
        return decision

    def lookup_all(self, plans: Sequence[Plan]) -> list[Decision]:
        """Decide lookups in order, over one view of the store, and count each once. Never raises."""
        now_ms = self._clock.now_ms()
        decisions: list[Decision] = []
        try:
            with ExitStack() as stack:
                opened: list[ReadView] = []

                def read() -> AbstractContextManager[ReadView]:
                    if not opened:
                        opened.append(stack.enter_context(self._store.read()))
                    return nullcontext(opened[0])

                decisions = [self._decide(plan, read, now_ms) for plan in plans]
        except Exception as error:
            self._faults.record("closing a view", error)
            decisions = [_failed(plan, now_ms) for plan in plans]
        for decision in decisions:
            self._tallies.decided(decision)
        return decisions

    def give_up(self, reason: BypassReason) -> Decision:
        """Return, and count, the bypass of a lookup that could not be taken up. Never raises."""
        decision = bypass(reason, None, now_ms=self._clock.now_ms())
        self._tallies.decided(decision)
        return decision

    def _decide(
        self, plan: Plan, read: Callable[[], AbstractContextManager[ReadView]], now_ms: int
    ) -> Decision:
        try:
            return drive(decide(plan, now_ms=now_ms), read)
        except Exception as error:
            self._faults.record("lookup", error)
            return _failed(plan, now_ms)
        finally:
            if plan.derivation is not None:
                plan.derivation.forget()


def _failed(plan: Plan, now_ms: int) -> Decision:
    return bypass(BypassReason.STORE_FAILED, plan.rule, now_ms=now_ms, anchor=plan.anchor)


def plan_for(asked: Asked, rules: Sequence[Rule]) -> Plan:
    """Read the content and find the rule. Raises MalformedRequest naming everything that is wrong."""
    descriptor, controls = asked.descriptor, asked.controls
    parts, representable, violations = None, asked.known_fields, list(asked.violations)
    try:
        parts = read(descriptor)
    except Unrepresentable:
        representable = False
    except MalformedRequest as malformed:
        violations += malformed.violations
    stream = wants_stream(descriptor, parts)
    rule = first_match(rules, descriptor, stream=stream)
    if asked.known_fields:
        if not any(violation.field == "descriptor.content" for violation in asked.violations):
            violations += content_violations(descriptor, parts)
        violations += stream_violations(descriptor, parts)
    violations += control_violations(controls)
    violations += ttl_violations("controls.ttl", controls.ttl_ms, rule)
    if rule is not None:
        violations += rule_violations(descriptor, rule)
    if violations:
        raise MalformedRequest(violations)
    request = Request(
        descriptor=descriptor,
        controls=controls,
        stream=stream,
        representable=representable,
        known_mode=asked.known_mode,
        accepts=asked.accepts,
        omit_body=asked.omit_body,
        anchor=asked.anchor,
    )
    return plan(request, rule, parts, reload=lambda: read(descriptor))


def identity(plan: Plan) -> Hashable:
    """Return what two lookups have in common when one answer serves both, or None when it cannot be said."""
    if plan.rule is None or plan.scope is None or plan.derivation is None:
        return None
    try:
        fingerprint = plan.derivation.fingerprint(plan.rule.strategy[0])
    except Unrepresentable:
        return None
    if isinstance(fingerprint, BypassReason):
        return None
    request = plan.request
    shapes = request.accepts or {request.stream}
    return (
        plan.rule.id,
        plan.scope.root,
        fingerprint,
        request.controls,
        frozenset(shapes),
        request.omit_body,
    )
