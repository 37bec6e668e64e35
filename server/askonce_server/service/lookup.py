"""Lookup: may a stored answer be served? Fails open: a fault inside is a bypass, never an error."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field

from askonce_server.core.decide import decide
from askonce_server.core.decision import Decision, Request, bypass
from askonce_server.core.descriptor import Controls, Descriptor
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.reasons import BypassReason
from askonce_server.core.requirements import (
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


@dataclass(frozen=True, slots=True)
class Prepared:
    """A Lookup that may be decided: well-formed, with the rule that it matched."""

    request: Request
    rule: Rule | None


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

    def prepare(self, asked: Asked) -> Prepared:
        """Read the content and find the rule. Raises MalformedRequest naming everything that is wrong."""
        return prepare(asked, self._rules(), now_ms=self._clock.now_ms())

    def lookup(self, asked: Asked) -> Decision:
        """Decide one lookup. Raises MalformedRequest."""
        prepared = self.prepare(asked)
        decisions = self.decide_all([prepared])
        return decisions[0]

    def decide_all(self, prepared: Sequence[Prepared]) -> list[Decision]:
        """Decide lookups in order, over one view of the store, and count each once. Never raises."""
        decisions: list[Decision] = []
        try:
            with ExitStack() as stack:
                opened: list[ReadView] = []

                def view() -> ReadView:
                    if not opened:
                        opened.append(stack.enter_context(self._store.read()))
                    return opened[0]

                for one in prepared:
                    decisions.append(self._decide(one, view))
        except Exception as error:
            self._faults.record("closing a view", error)
        decisions += [_failed(one) for one in prepared[len(decisions) :]]
        for decision in decisions:
            self._tallies.decided(decision)
        return decisions

    def _decide(self, prepared: Prepared, view: Callable[[], ReadView]) -> Decision:
        try:
            return drive(decide(prepared.request, prepared.rule), view)
        except Exception as error:
            self._faults.record("lookup", error)
            return _failed(prepared)


def _failed(prepared: Prepared) -> Decision:
    rule_id = prepared.rule.id if prepared.rule is not None else ""
    return bypass(BypassReason.STORE_FAILED, now_ms=prepared.request.now_ms, rule_id=rule_id)


def prepare(asked: Asked, rules: Sequence[Rule], *, now_ms: int) -> Prepared:
    """Read the content and find the rule. Raises MalformedRequest naming everything that is wrong."""
    descriptor, controls = asked.descriptor, asked.controls
    reading = read(descriptor)
    parts = reading.parts
    stream = wants_stream(descriptor, parts)
    rule = first_match(rules, descriptor, stream=stream)
    violations = [*asked.violations, *reading.violations, *stream_violations(descriptor, parts)]
    violations += control_violations(controls)
    if rule is not None:
        violations += rule_violations(descriptor, rule)
        violations += ttl_violations("controls.ttl", controls.ttl_ms, rule)
    if violations:
        raise MalformedRequest(violations)
    request = Request(
        descriptor=descriptor,
        parts=parts,
        controls=controls,
        stream=stream,
        now_ms=now_ms,
        representable=asked.known_fields and reading.representable,
        known_mode=asked.known_mode,
        accepts=asked.accepts,
        omit_body=asked.omit_body,
        anchor=asked.anchor,
    )
    return Prepared(request, rule)
