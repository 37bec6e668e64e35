"""The one driver of `decide`: answers its questions from the store."""

from __future__ import annotations

from collections.abc import Callable

from askonce_server.core.decision import (
    Answer,
    Deciding,
    Decision,
    Probe,
    Question,
    ReadGenerations,
)
from askonce_server.ports import ReadView


def drive(deciding: Deciding, view: Callable[[], ReadView]) -> Decision:
    """Run `deciding` to its end. `view` is asked for once there is a question. Raises StoreUnavailable."""
    try:
        question = next(deciding)
        answers = view()
        while True:
            question = deciding.send(_answer(question, answers))
    except StopIteration as done:
        decision: Decision = done.value
        return decision


def _answer(question: Question, view: ReadView) -> Answer:
    if isinstance(question, ReadGenerations):
        return view.generations(question.names)
    if isinstance(question, Probe):
        return view.entry(question.key)
    return view.body(question.entry)
