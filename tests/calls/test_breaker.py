"""What is down is skipped, found out about now and then, and asked again once it answers."""

from __future__ import annotations

import logging
import threading

import pytest

from askonce_server.calls.breaker import Breaker, Patience
from askonce_server.ports import OverBudget


class Down(Exception):
    pass


class NotItsFault(Exception):
    pass


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def breaker(clock):
    patience = Patience(failures=3, first_pause_seconds=1, longest_pause_seconds=4)
    return Breaker("judge", failed=Down, blameless=(NotItsFault,), patience=patience, clock=clock)


def call(breaker, outcome="fine", *, given=10.0):
    """Make a call that returns or raises `outcome`; return what came of it, and whether it was made."""
    made = []

    def work():
        made.append(outcome)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    try:
        result = breaker.call(work, deadline=breaker._clock() + given)
    except BaseException as error:
        result = error
    return result, bool(made)


def raised(breaker, work):
    with pytest.raises(Down) as caught:
        breaker.call(work, deadline=breaker._clock() + 10)
    return caught.value


def is_open(breaker):
    return breaker._retry_at is not None


def opened(breaker):
    for _ in range(3):
        call(breaker, Down("gone"))
    assert is_open(breaker)
    return breaker


def test_a_call_returns_and_raises_what_its_work_does(breaker):
    fault = Down("gone")
    assert call(breaker, "fine") == ("fine", True)
    assert call(breaker, fault) == (fault, True)


def test_it_opens_after_failures_in_a_row_and_then_makes_no_call(breaker, caplog):
    with caplog.at_level(logging.WARNING, "askonce"):
        for _ in range(3):
            assert call(breaker, Down("the service answered 500"))[1]
    skipped, made = call(breaker)
    assert not made
    assert isinstance(skipped, Down)
    assert str(skipped).startswith("judge is skipped for another ")
    assert caplog.messages == [
        "judge is skipped while it is down, after 3 failures: the service answered 500"
    ]


def test_a_success_between_failures_starts_the_count_anew(breaker):
    for outcome in (Down("a"), Down("b"), "fine", Down("c"), Down("d")):
        call(breaker, outcome)
    assert not is_open(breaker)


def test_one_call_after_the_pause_finds_out_and_closes_it(breaker, clock, caplog):
    opened(breaker)
    clock.now += 0.79
    assert not call(breaker)[1]
    clock.now += 0.22
    caplog.clear()
    with caplog.at_level(logging.WARNING, "askonce"):
        assert call(breaker) == ("fine", True)
    assert not is_open(breaker)
    assert caplog.messages == ["judge answers again"]
    assert call(breaker, Down("once"))[1]
    assert not is_open(breaker)


def test_while_one_call_finds_out_the_others_are_skipped(breaker, clock):
    opened(breaker)
    clock.now += 1.01
    others = []

    def work():
        others.append(call(breaker)[1])
        return "fine"

    assert breaker.call(work, deadline=clock.now + 1) == "fine"
    assert others == [False]


def test_a_call_that_never_ends_does_not_keep_it_from_finding_out(breaker, clock):
    opened(breaker)
    clock.now += 1.01
    begun, end = threading.Event(), threading.Event()

    def hang():
        begun.set()
        end.wait(10)
        raise Down("at last")

    outcomes = []
    hanging = threading.Thread(target=lambda: outcomes.append(raised(breaker, hang)))
    hanging.start()
    begun.wait(10)
    assert not call(breaker)[1]
    clock.now += 1.01
    assert call(breaker) == ("fine", True)
    end.set()
    hanging.join()
    assert str(outcomes[0]) == "at last"
    assert not is_open(breaker)


def test_pauses_double_up_to_the_longest(breaker, clock):
    opened(breaker)
    waits = []
    for _ in range(4):
        begun = clock.now
        while not call(breaker, Down("still"))[1]:
            clock.now += 0.01
        waits.append(clock.now - begun)
    for wait, pause in zip(waits, [1, 2, 4, 4], strict=True):
        assert 0.8 * pause <= wait <= pause + 0.02


def test_blameless_errors_count_for_nothing(breaker, clock):
    for _ in range(9):
        call(breaker, NotItsFault("too long"))
    assert not is_open(breaker)
    opened(breaker)
    clock.now += 1.01
    assert call(breaker, NotItsFault("too long"))[1]
    assert call(breaker) == ("fine", True)
    assert not is_open(breaker)


def test_running_out_of_time_counts_where_the_usual_time_was_given(breaker, clock):
    def work():
        clock.now += 0.5
        return "fine"

    breaker.call(work, deadline=clock.now + 1)
    for _ in range(9):
        call(breaker, OverBudget("too soon"), given=0.2)
    assert not is_open(breaker)
    for _ in range(3):
        call(breaker, OverBudget("hangs"), given=0.6)
    assert is_open(breaker)


def test_a_deadline_that_had_passed_counts_for_nothing(breaker):
    for _ in range(9):
        call(breaker, OverBudget("passed"), given=-1)
    assert not is_open(breaker)


def test_an_answer_behind_the_deadline_is_no_success(breaker, clock):
    def late():
        clock.now += 2
        return "fine"

    for _ in range(3):
        assert breaker.call(late, deadline=clock.now + 1) == "fine"
    assert is_open(breaker)


def test_no_fault_but_its_own_is_quoted_in_the_log(breaker, caplog):
    with caplog.at_level(logging.WARNING, "askonce"):
        for _ in range(3):
            call(breaker, ValueError("of the text"))
    assert caplog.messages == ["judge is skipped while it is down, after 3 failures: ValueError"]


def test_a_late_failure_of_a_call_from_before_prolongs_nothing(breaker, clock):
    def work():
        opened(breaker)
        raise Down("late")

    with pytest.raises(Down, match="late"):
        breaker.call(work, deadline=clock.now + 1)
    clock.now += 1.01
    assert call(breaker) == ("fine", True)
