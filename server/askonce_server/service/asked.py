"""A Lookup as it came over the wire, read and matched with its rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from askonce_server.core.decision import Request
from askonce_server.core.descriptor import Controls, Descriptor
from askonce_server.core.errors import MalformedRequest, Unrepresentable, Violation
from askonce_server.core.plan import Plan, plan
from askonce_server.core.requirements import (
    content_violations,
    control_violations,
    rule_violations,
    stream_violations,
    ttl_violations,
    wants_stream,
)
from askonce_server.core.rules import Rule, first_match
from askonce_server.service.content import read


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
    after_upstream_error: bool = False
    wait_ms: int = 0
    trace: bool = False
    request_id: str = ""
    violations: tuple[Violation, ...] = ()
    """What the wire format alone already showed to be wrong."""


def _nothing(_: Rule, __: Descriptor) -> Sequence[Violation]:
    return ()


def plan_for(
    asked: Asked,
    rules: Sequence[Rule],
    *,
    more: Callable[[Rule, Descriptor], Sequence[Violation]] = _nothing,
) -> Plan:
    """Read the content and find the rule. Raises MalformedRequest naming everything that is wrong.

    `more` finds what else is wrong with a descriptor under its rule.
    """
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
        named = {violation.field for violation in violations}
        violations += [one for one in more(rule, descriptor) if one.field not in named]
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
        after_upstream_error=asked.after_upstream_error,
        wait_ms=asked.wait_ms,
        trace=asked.trace,
        request_id=asked.request_id,
    )
    return plan(request, rule, parts, reload=lambda: read(descriptor))
