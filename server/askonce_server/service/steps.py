"""The steps on the way to a decision, kept only for a call that somebody follows.

A matcher's step has the time between its questions too, in which the core derives keys and judges what was
found. Nothing here says what a request says: names, counts and reasons alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from askonce_server.core.decision import (
    Answer,
    Decision,
    Embed,
    EmbeddedText,
    Probe,
    Question,
    ReadBars,
    ReadBody,
    Recall,
    Verdict,
    Verify,
    Weigh,
)
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, Matcher, Outcome
from askonce_server.core.ruling import Ruling

Value = str | int | float | bool
NO_ENTRY = "no entry"
HIT = "hit"
_FOUND = "found"


@dataclass(slots=True)
class Step:
    """One step; times in nanoseconds of `time.perf_counter_ns`."""

    name: str
    began_ns: int
    ended_ns: int
    result: str = ""
    """How it ended: `hit`, `no entry`, or a reason in lower case."""
    within: Step | None = None
    """The matcher's step that it is a part of."""
    matcher: Matcher | None = None
    """Of a matcher's own step."""
    attributes: Mapping[str, Value] | None = None


class Steps:
    """What was done for one lookup, in the order in which it began."""

    __slots__ = ("_mark", "_now_ns", "_open", "all")

    def __init__(self) -> None:
        self.all: list[Step] = []
        self._open: Step | None = None
        self._now_ns = 0
        self._mark = 0

    def add(self, name: str, began_ns: int, result: str = "") -> None:
        """Add a step that ends now."""
        self.all.append(Step(name, began_ns, time.perf_counter_ns(), result))

    def add_around(self, first: int, name: str, began_ns: int, result: str) -> None:
        """Add a step that ends now and began before the one at index `first`."""
        self.all.insert(first, Step(name, began_ns, time.perf_counter_ns(), result))

    def given_again(self, decision: Decision, began_ns: int) -> None:
        """Add the step of a decision that still held: of its matcher, which was not asked anew."""
        assert decision.kind is not None
        step = Step(_match(decision.kind), began_ns, time.perf_counter_ns(), HIT, matcher=decision.kind)
        step.attributes = {"again": True}
        self.all.append(step)

    def begin(self) -> None:
        """Begin a decision: what is asked from now on belongs to it."""
        self._open, self._mark = None, len(self.all)
        self._now_ns = time.perf_counter_ns()

    def answered(self, question: Question, answer: Answer, began_ns: int) -> None:
        """Take note that `question`, which came at `began_ns`, has its answer now."""
        ended_ns = time.perf_counter_ns()
        matcher = _matcher(question)
        if matcher is not None:
            self._open = Step(_match(matcher), self._now_ns, ended_ns, NO_ENTRY, matcher=matcher)
            self.all.append(self._open)
        if isinstance(question, Probe):
            assert self._open is not None
            self._open.result = NO_ENTRY if answer is None else _FOUND
        else:
            self.all.append(_part(question, answer, began_ns, ended_ns, self._open))
        if self._open is not None:
            self._open.ended_ns = ended_ns
        self._now_ns = ended_ns

    def end(self, decision: Decision, plan: Plan) -> None:
        """End a decision: say how each matcher of the plan's rule did."""
        if self._open is not None:
            self._open.ended_ns = time.perf_counter_ns()
        asked = {step.matcher: step for step in self.all[self._mark :] if step.matcher is not None}
        skipped = {skip.matcher: skip.reason.name.lower() for skip in decision.skipped}
        at = len(self.all)
        for matcher in reversed(plan.rule.strategy if plan.rule is not None else ()):
            step = asked.get(matcher)
            if step is not None:
                at = self.all.index(step)
            elif matcher in skipped:
                then_ns = self.all[at].began_ns if at < len(self.all) else self._now_ns
                step = Step(_match(matcher), then_ns, then_ns, matcher=matcher)
                self.all.insert(at, step)
            else:
                continue
            step.result = skipped.get(matcher) or _result(step, decision)
            step.attributes = _nearness(step, decision)


def _result(step: Step, decision: Decision) -> str:
    if decision.kind is not step.matcher:
        return "denied" if step.result == _FOUND else step.result  # what the last one denied stands for all
    if decision.outcome is Outcome.HIT or decision.deny_reason is None:
        return HIT
    return decision.deny_reason.name.lower()


def _nearness(step: Step, decision: Decision) -> Mapping[str, Value] | None:
    candidate = decision.candidate
    if decision.kind is not step.matcher or candidate is None or candidate.nearness is None:
        return None
    near = candidate.nearness
    return {"zone": near.zone.name.lower(), "similarity": near.similarity}


def _matcher(question: Question) -> Matcher | None:
    """Return the matcher that begins with `question`, if one does."""
    if isinstance(question, Probe):
        return question.key.matcher
    return Matcher.SEMANTIC if isinstance(question, Embed) else None


def _match(matcher: Matcher) -> str:
    return f"match {matcher.name.lower()}"


def _part(question: Question, answer: Answer, began_ns: int, ended_ns: int, within: Step | None) -> Step:
    step = Step("read generations", began_ns, ended_ns, "", within)
    if isinstance(answer, BypassReason):
        step.result = answer.name.lower()
    if isinstance(question, Embed):
        step.name, step.attributes = "embed", {"embedder": question.policy.embedder}
        step.result = "embedded" if isinstance(answer, EmbeddedText) else step.result
    elif isinstance(question, Recall):
        step.name = "recall"
        if isinstance(answer, tuple):
            step.result, step.attributes = _FOUND if answer else NO_ENTRY, {"neighbors": len(answer)}
    elif isinstance(question, Verify):
        assert isinstance(answer, Verdict)
        step.name, step.attributes = "verify", {"verifier": question.policy.verifier.value}
        step.result = "confirmed" if answer.reason is None else answer.reason.name.lower()
    elif isinstance(question, ReadBars):
        step.name = "read bars"
    elif isinstance(question, Weigh):
        assert isinstance(answer, Ruling)
        step.name, step.result = "weigh", answer.outcome.name.lower()
    elif isinstance(question, ReadBody):
        step.name, step.result = "read body", "gone" if answer is None else _FOUND
    return step
