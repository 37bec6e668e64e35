"""The one driver of `decide`: answers its questions from the store."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from askonce_server.core.decision import (
    Answer,
    Deciding,
    Decision,
    Probe,
    Question,
    ReadGenerations,
)
from askonce_server.ports import ReadView


def drive(deciding: Deciding, read: Callable[[], AbstractContextManager[ReadView]]) -> Decision:
    """Run `deciding` to its end. `read` opens a view once there is a question. Raises StoreUnavailable."""
    try:
        question = next(deciding)
    except StopIteration as done:
        return _decision(done)
    with read() as view:
        try:
            while True:
                question = deciding.send(_answer(question, view))
        except StopIteration as done:
            decision = _decision(done)
    return decision


def _decision(done: StopIteration) -> Decision:
    decision: Decision = done.value
    return decision


def _answer(question: Question, view: ReadView) -> Answer:
    if isinstance(question, ReadGenerations):
        return view.generations(question.names)
    if isinstance(question, Probe):
        return view.entry(question.key)
    return view.body(question.entry)
