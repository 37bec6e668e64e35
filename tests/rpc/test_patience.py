"""How long a call may wait: by its deadline, and by the smallest budget of its items from when it came."""

from __future__ import annotations

import math
import time

import pytest

from askonce.v1.decision_service_pb2 import LookupRequest
from askonce_server.rpc.patience import Caller
from rpc.requests import seconds


class Context:
    """A call with so many seconds left, whose caller is there or has gone."""

    def __init__(self, remaining=None, *, active=True):
        self.remaining, self.active = remaining, active

    def time_remaining(self):
        return self.remaining

    def is_active(self):
        return self.active


def caller(context, *budgets):
    items = [LookupRequest() if one is None else LookupRequest(budget=seconds(one)) for one in budgets]
    return Caller(context, lambda: items)


def test_a_budget_counts_from_when_the_call_came():
    before = time.monotonic()
    one = caller(Context(), 9, None, 2)
    after = time.monotonic()
    first = one.cut_off()
    assert before + 2 <= first <= after + 2
    assert one.cut_off() == first, "however often and late it is asked"


def test_the_sooner_of_budget_and_deadline_counts():
    assert caller(Context(), None).cut_off() == math.inf
    assert caller(Context(5.0), 100).cut_off() < time.monotonic() + 5.1
    assert caller(Context(100.0), 5).cut_off() < time.monotonic() + 5.1


def test_half_of_the_time_is_for_the_work_and_nobody_waits_longer_than_a_second():
    assert caller(Context()).patience() == 1
    assert caller(Context(100.0)).patience() == 1
    assert 0 < caller(Context(0.5)).patience() <= 0.25
    assert 0 < caller(Context(), 60, 1.5).patience() <= 0.75


@pytest.mark.parametrize("budgets", [(), (60,)])
def test_a_caller_that_has_gone_waits_for_nothing(budgets):
    gone = caller(Context(30.0, active=False), *budgets)
    assert gone.cut_off() <= time.monotonic()
    assert gone.patience() <= 0
    assert gone.left() == 0


def test_waiting_for_another_comes_on_top_of_the_budget_but_not_of_the_deadline():
    assert caller(Context(), 1).left() == math.inf
    assert caller(Context(30.0), 1).left() == pytest.approx(29.99)
    assert caller(Context(0.001), 1).left() == 0


def test_items_are_read_once_and_only_when_a_budget_counts():
    read = []
    one = Caller(Context(), lambda: read.append(1) or [LookupRequest()])
    assert one.left() == math.inf
    assert read == []
    assert one.patience() == one.patience() == 1
    assert read == [1]
