"""Explain: why did this not hit? Two requests are compared, segment by segment; nothing is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from askonce_server.core.causes import Cause, causes, unmatched
from askonce_server.core.descriptor import Descriptor
from askonce_server.core.errors import MalformedRequest, Unrepresentable, Violation
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, Matcher
from askonce_server.core.rules import Rule
from askonce_server.core.segments import Difference, Subject, compare
from askonce_server.service.asked import Asked, plan_for
from askonce_server.service.content import read
from askonce_server.service.explain_key import KeyExplanation, MatcherKey, explain_plan
from askonce_server.service.shared import Shared

MOST_DIFFERENCES = 100
"""More are counted as left out: an answer is read by a person."""
_FEW = 3
More = Callable[[Rule, Descriptor], Sequence[Violation]]


@dataclass(frozen=True, slots=True)
class Skipped:
    """A matcher for which a request has no key, and what that is due to."""

    matcher: Matcher
    reason: BypassReason
    causes: tuple[Cause, ...] = ()


@dataclass(frozen=True, slots=True)
class Side:
    """One request by itself."""

    plan: Plan
    subject: Subject
    explained: KeyExplanation
    reason: BypassReason | None
    """Why it has no key at all. None: it has."""
    causes: tuple[Cause, ...] = ()
    skipped: tuple[Skipped, ...] = ()


@dataclass(frozen=True, slots=True)
class SameKey:
    """Whether two requests have the same key for one matcher, and why."""

    matcher: Matcher
    same: bool
    description: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two requests side by side."""

    first: Side
    second: Side
    differences: tuple[Difference, ...]
    left_out: bool
    """Whether there are more."""
    keys: tuple[SameKey, ...]
    summary: str


def compare_requests(
    first: Asked, second: Asked, rules: Sequence[Rule], *, more: More | None = None
) -> Comparison:
    """Compare two requests under `rules`. Asks no store. Raises MalformedRequest, naming fields of both."""
    sides, violations = [], []
    for name, asked in (("lookup", first), ("other", second)):
        try:
            sides.append(side(asked, rules, more=more))
        except MalformedRequest as malformed:
            violations += under(name, malformed.violations)
    if violations:
        raise MalformedRequest(violations)
    mine, others = sides
    found, left_out = bounded(_differences(mine, others))
    keys = tuple(_same_keys(mine, others, found))
    return Comparison(mine, others, found, left_out, keys, _summary(mine, others, found, keys))


def under(name: str, violations: Iterable[Violation]) -> list[Violation]:
    """Return violations as those of a message's field `name`."""
    return [Violation(f"{name}.{one.field}", one.description) for one in violations]


def bounded(found: Iterable[Difference]) -> tuple[tuple[Difference, ...], bool]:
    """Return as many differences as are told, and whether there are more."""
    some = tuple(islice(found, MOST_DIFFERENCES + 1))
    return some[:MOST_DIFFERENCES], len(some) > MOST_DIFFERENCES


def side(asked: Asked, rules: Sequence[Rule], *, more: More | None = None) -> Side:
    """Return what is known of one request without a store. Raises MalformedRequest."""
    plan = plan_for(asked, rules) if more is None else plan_for(asked, rules, more=more)
    try:
        parts = read(asked.descriptor)
    except Unrepresentable:
        parts = None
    subject = Subject(plan.request, plan.rule, parts)
    explained = explain_plan(plan)
    reason = plan.bypass_reason or explained.bypass_reason
    if plan.rule is None:
        found = unmatched(rules, asked.descriptor, stream=plan.request.stream)
    else:
        found = causes(reason, plan.request, plan.rule, parts) if reason is not None else []
    skipped = tuple(_skipped(subject, one) for one in explained.matchers if one.skipped is not None)
    return Side(plan, subject, explained, reason, tuple(found), skipped)


def _skipped(subject: Subject, one: MatcherKey) -> Skipped:
    assert one.skipped is not None
    assert subject.rule is not None
    found = causes(one.skipped, subject.request, subject.rule, subject.parts)
    return Skipped(one.matcher, one.skipped, tuple(found))


def _differences(mine: Side, others: Side) -> Iterable[Difference]:
    try:
        yield from compare(mine.subject, others.subject)
    except Unrepresentable:  # the side that has it says so
        return


def _same_keys(mine: Side, others: Side, found: Sequence[Difference]) -> Iterable[SameKey]:
    keyed = [{one.matcher: one for one in each.explained.matchers} for each in (mine, others)]
    for matcher in Matcher:
        pair = [each.get(matcher) for each in keyed]
        if pair == [None, None]:
            continue
        if pair[0] is None or pair[1] is None:
            where = "first" if pair[0] is None else "second"
            yield SameKey(matcher, same=False, description=f"the {where} has no key for it")
            continue
        yield _same_key(pair[0], pair[1], found)


def _same_key(mine: MatcherKey, others: MatcherKey, found: Sequence[Difference]) -> SameKey:
    for name, one in (("first", mine), ("second", others)):
        if one.skipped is not None:
            said = f"has no key in the {name}: {one.skipped.name.lower()}"
            return SameKey(mine.matcher, same=False, description=said)
    same = (mine.key, mine.partition) == (others.key, others.partition)
    places = _places([one for one in found if mine.matcher in one.matchers])
    semantic = mine.matcher is Matcher.SEMANTIC
    if same:
        said = "the same partition: their texts are compared by nearness" if semantic else "the same key"
    else:
        said = ("another partition: " if semantic else "another key: ") + places
    return SameKey(mine.matcher, same=same, description=said)


def _summary(mine: Side, others: Side, found: Sequence[Difference], keys: Sequence[SameKey]) -> str:
    for name, one in (("first", mine), ("second", others)):
        if one.reason is not None:
            return f"the {name} request is never looked up: {one.reason.name.lower()}{because(one.causes)}"
    deterministic = [one for one in keys if one.matcher is not Matcher.SEMANTIC]
    same = [one.matcher.name.lower() for one in deterministic if one.same]
    keyed = [one for one in found if one.matchers]
    places = _places(keyed)
    if same and len(same) == len(deterministic):
        return "both have the same keys: what one stores, the other is served"
    if same:
        return f"they share the {' and '.join(same)} key alone: {places}"
    return f"they share no key: {places}" if keyed else "they share no key"


def _places(found: Sequence[Difference]) -> str:
    """Return where the first few differences are."""
    return ", ".join(name_of(one) for one in found[:_FEW]) + (", …" if len(found) > _FEW else "")


def name_of(one: Difference) -> str:
    """Return where a difference is, in one word."""
    inside = "messages", "system", "tools", "params", "digests"
    if one.path.startswith(inside) or not one.path:
        return one.path or one.segment
    return f"{one.segment}.{one.path}" if not one.path.startswith("[") else one.segment + one.path


def because(found: Sequence[Cause]) -> str:
    """Return the first cause, as the end of a sentence."""
    return f" ({found[0].path} {found[0].description})" if found else ""


class ExplainService:
    """Explains under the current rules. Nothing is counted, taken or marked as used."""

    def __init__(self, shared: Shared) -> None:
        self._shared = shared

    def compare(self, first: Asked, second: Asked) -> Comparison:
        """Compare two requests. Asks no store. Raises MalformedRequest, naming fields of both."""
        return compare_requests(
            first, second, self._shared.rules(), more=self._shared.driver.models.violations
        )
