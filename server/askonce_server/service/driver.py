"""The one driver of `decide`: answers its questions from the store, the index and the models.

A view of the store is held only while questions to the store follow each other: never while a text is
embedded or a verifier asked.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from typing import TypeVar, TypeVarTuple

from askonce_server.core.decision import (
    Answer,
    Bars,
    Deciding,
    Decision,
    Embed,
    Probe,
    Question,
    ReadBars,
    ReadGenerations,
    Recall,
    Verify,
    Weigh,
)
from askonce_server.core.reasons import BypassReason
from askonce_server.core.ruling import Ruling
from askonce_server.ports import EntryStore, ReadView
from askonce_server.service.ledgers import explored
from askonce_server.service.models import Models
from askonce_server.service.steps import Steps

CutOff = Callable[[], float]
"""Says when the caller must have its answer, in seconds of `time.monotonic`; infinite: whenever."""


def never() -> float:
    """Return infinity: the caller waits as long as it takes."""
    return math.inf


Decided = Callable[[Decision, ReadView], None]


def _nothing(_decision: Decision, _view: ReadView) -> None:
    pass


RETURN_SECONDS = 0.010
"""What is kept of the caller's time, so that the answer, a miss with its fill token too, still reaches it."""


class Driver:
    """Runs decisions to their end, over `store` and `models`."""

    def __init__(
        self, store: EntryStore, models: Models, *, weigh: Callable[[Weigh], Ruling] = explored
    ) -> None:
        """`weigh` rules on near answers under a vote policy; by default none is served."""
        self._store = store
        self.models = models
        self._weigh = weigh

    def run(
        self,
        deciding: Deciding,
        cut_off: CutOff,
        *,
        budget_ms: int | None = None,
        decided: Decided = _nothing,
        steps: Steps | None = None,
    ) -> Decision:
        """Decide. `budget_ms` takes the place of the rule's. Raises StoreUnavailable.

        `decided` is given what one view alone decided, before that view ends; `steps` are told of questions.
        """
        walk = _Walk(deciding, steps)
        if walk.question is not None:
            with self._store.read() as view:
                self._from_view(walk, view)
                if walk.question is None:
                    decided(walk.end(), view)
            self._outside(walk, cut_off, budget_ms)
        return walk.end()

    def recall(self, key: Hashable) -> object | None:
        """Return what was kept under `key` in a view of the store as it is now, or None."""
        return self._store.recall(key)

    def run_all(
        self, deciding: Sequence[Deciding], cut_off: CutOff, steps: Sequence[Steps | None]
    ) -> list[Decision | Exception]:
        """Decide in order: what the store alone can answer over one view, then the rest one by one.

        What one of them raises stands in its place; each has its `steps`. Raises StoreUnavailable when there
        is no view.
        """
        walks: list[_Walk | Exception] = [
            _caught(_Walk, one, told) for one, told in zip(deciding, steps, strict=True)
        ]
        with ExitStack() as stack:
            view: ReadView | None = None
            for at, walk in enumerate(walks):
                if isinstance(walk, _Walk) and walk.question is not None:
                    view = view if view is not None else stack.enter_context(self._store.read())
                    walks[at] = _caught(self._from_view, walk, view)
        return [_caught(self._finish, walk, cut_off) if isinstance(walk, _Walk) else walk for walk in walks]

    def _finish(self, walk: _Walk, cut_off: CutOff) -> Decision:
        self._outside(walk, cut_off, None)
        return walk.end()

    def _from_view(self, walk: _Walk, view: ReadView) -> _Walk:
        """Answer what the store can answer, over one view."""
        question = walk.question
        while question is not None and not isinstance(question, (Embed, Verify)):
            question = walk.answer(self._answer(question, view))
        return walk

    def _outside(self, walk: _Walk, cut_off: CutOff, budget_ms: int | None) -> None:
        """Answer what models must be asked for, and what the store is asked after that."""
        deadline: float | None = None
        while (question := walk.question) is not None:
            if isinstance(question, (Embed, Verify)):
                deadline = deadline or _deadline(budget_ms or question.policy.budget_ms, cut_off)
                if isinstance(question, Embed):
                    embedded = self.models.embed(question, deadline=deadline)
                    walk.answer(BypassReason.OVER_BUDGET if _is_late(cut_off) else embedded)
                else:
                    walk.answer(self.models.verify(question, deadline=deadline, read=self._store.read))
            else:
                with self._store.read() as view:
                    self._from_view(walk, view)

    def _answer(self, question: Question, view: ReadView) -> Answer:
        if isinstance(question, ReadGenerations):
            return view.generations(question.names)
        if isinstance(question, Probe):
            return view.entry(question.key)
        if isinstance(question, ReadBars):
            return Bars(view.bars(question.entry))
        if isinstance(question, Weigh):
            return self._weigh(question)
        if isinstance(question, Recall):
            return self.models.recall(view, question)
        assert not isinstance(question, (Embed, Verify))
        return view.body(question.entry)


class _Walk:
    """A decision under way: its next question, or its end."""

    __slots__ = ("_asked_ns", "_deciding", "_decision", "_steps", "question")

    def __init__(self, deciding: Deciding, steps: Steps | None) -> None:
        self._deciding = deciding
        self._decision: Decision | None = None
        self._steps = steps
        self._asked_ns = 0
        self.question: Question | None = None
        if steps is not None:
            steps.begin()
        try:
            self.question = next(deciding)
        except StopIteration as done:
            self._decision = done.value
        if steps is not None:
            self._asked_ns = time.perf_counter_ns()

    def answer(self, answer: Answer) -> Question | None:
        """Give the answer to the question; return the next one."""
        steps = self._steps
        if steps is not None and self.question is not None:
            steps.answered(self.question, answer, self._asked_ns)
        try:
            self.question = self._deciding.send(answer)
        except StopIteration as done:
            self.question, self._decision = None, done.value
        if steps is not None:
            self._asked_ns = time.perf_counter_ns()
        return self.question

    def end(self) -> Decision:
        assert self._decision is not None
        return self._decision


def _is_late(cut_off: CutOff) -> bool:
    """Whether the caller has gone, or its time is over: what is asked on its behalf would be for nobody."""
    return time.monotonic() >= cut_off()


def _deadline(budget_ms: int, cut_off: CutOff) -> float:
    return min(time.monotonic() + budget_ms / 1000, cut_off() - RETURN_SECONDS)


Given = TypeVarTuple("Given")
Result = TypeVar("Result")


def _caught(call: Callable[[*Given], Result], *given: *Given) -> Result | Exception:
    """Return what `call` returns or raises."""
    try:
        return call(*given)
    except Exception as fault:
        return fault
