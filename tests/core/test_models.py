"""What verifiers tell is no fault of the server, and what breaks in one is."""

from __future__ import annotations

import logging
import time
from contextlib import nullcontext

import pytest

from askonce_server.core.decision import Verdict, Verify
from askonce_server.core.reasons import DenyReason
from askonce_server.core.rules import Gray
from askonce_server.ports import OverBudget, TooFewNeighbors, VerifierFailed
from askonce_server.service.faults import FaultLog
from askonce_server.service.models import Models
from core.cache import NoIndex
from core.near import near_rule, neighbor


class Saying:
    """A verifier that does as it was told."""

    name = "judge"

    def __init__(self, outcome):
        self.outcome = outcome

    def verify(self, case, *, deadline):
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome

    def close(self):
        pass


def verdict(outcome):
    models = Models(
        embedders={}, verifiers={Gray.JUDGE: Saying(outcome)}, index=NoIndex(), faults=FaultLog(), slots=1
    )
    candidate = neighbor("what is asked?", 0.9)
    question = Verify(
        near_rule(verifier=Gray.JUDGE).semantic, "what was asked?", bytes(32), candidate, (candidate,), 0
    )
    return models.verify(question, deadline=time.monotonic() + 1, read=nullcontext)


@pytest.mark.parametrize(
    ("outcome", "reason"),
    [
        (True, None),
        (False, DenyReason.VERIFIER_REJECTED),
        (TooFewNeighbors("two"), DenyReason.VERIFIER_TOO_FEW_NEIGHBORS),
        (VerifierFailed("the service answered 500"), DenyReason.VERIFIER_FAILED),
        (OverBudget("late"), DenyReason.VERIFIER_FAILED),
    ],
    ids=repr,
)
def test_what_a_verifier_tells_is_the_verdict_and_no_fault(outcome, reason, caplog):
    with caplog.at_level(logging.DEBUG):
        assert verdict(outcome) == Verdict(reason)
    assert caplog.messages == []


def test_what_breaks_in_a_verifier_is_a_fault_and_speaks_against_the_candidate(caplog):
    with caplog.at_level(logging.DEBUG):
        assert verdict(RuntimeError("a customer's words")) == Verdict(DenyReason.VERIFIER_FAILED)
    (line,) = caplog.messages
    assert line.startswith("verifier judge: RuntimeError at ")
    assert "customer" not in line
