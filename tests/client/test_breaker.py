"""The circuit breaker by itself, on a clock of the test's own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest

import askonce
from askonce import BreakerState, CircuitBreaker


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def made(clock: Clock, **options) -> CircuitBreaker:
    return CircuitBreaker(clock=clock, jitter=lambda: 0.0, **options)


def fail(breaker: CircuitBreaker, times: int = 1) -> None:
    for _ in range(times):
        permit = breaker.enter()
        assert permit is not None
        breaker.fail(permit, "UNAVAILABLE")


def test_it_opens_at_the_fifth_failure_in_a_row(clock):
    breaker = made(clock)
    fail(breaker, 4)
    assert breaker.state is BreakerState.CLOSED
    fail(breaker)
    assert breaker.state is BreakerState.OPEN
    assert breaker.enter() is None


def test_a_success_in_between_starts_the_count_again(clock):
    breaker = made(clock)
    for _ in range(10):
        fail(breaker, 4)
        breaker.succeed(breaker.enter())
    assert breaker.state is BreakerState.CLOSED


def test_calls_that_say_nothing_change_nothing(clock):
    breaker = made(clock)
    fail(breaker, 4)
    breaker.release(breaker.enter())
    assert breaker.state is BreakerState.CLOSED
    fail(breaker)
    assert breaker.state is BreakerState.OPEN


def test_after_the_wait_exactly_one_probe_goes_through(clock):
    breaker = made(clock)
    fail(breaker, 5)
    clock.now += 0.999
    assert breaker.enter() is None
    clock.now += 0.001
    probe = breaker.enter()
    assert probe is not None
    assert probe.probe
    assert breaker.state is BreakerState.HALF_OPEN
    assert [breaker.enter() for _ in range(3)] == [None] * 3
    breaker.succeed(probe)
    assert breaker.state is BreakerState.CLOSED
    assert breaker.enter() is not None


def test_of_many_threads_exactly_one_gets_the_probe(clock):
    breaker = made(clock)
    for _ in range(20):
        fail(breaker, 1 if breaker.state is BreakerState.HALF_OPEN else 5)
        clock.now += 60
        barrier = threading.Barrier(8)

        def enter(barrier=barrier):
            barrier.wait()
            return breaker.enter()

        with ThreadPoolExecutor(8) as pool:
            permits = [future.result() for future in [pool.submit(enter) for _ in range(8)]]
        [probe] = [permit for permit in permits if permit is not None]
        breaker.succeed(probe)


def test_the_wait_doubles_up_to_its_limit_and_starts_again_after_a_success(clock):
    breaker = made(clock)
    fail(breaker, 5)
    waits = []
    for _ in range(7):
        began = clock.now
        while (probe := breaker.enter()) is None:
            clock.now += 0.25
        waits.append(clock.now - began)
        breaker.fail(probe, "UNAVAILABLE")
    assert waits == [1, 2, 4, 8, 16, 30, 30]
    clock.now += 30
    breaker.succeed(breaker.enter())
    fail(breaker, 5)
    clock.now += 1
    assert breaker.enter() is not None


def test_jitter_takes_at_most_a_fifth_off(clock):
    breaker = CircuitBreaker(clock=clock, jitter=lambda: 0.999)
    fail(breaker, 5)
    clock.now += 0.8
    assert breaker.enter() is None
    clock.now += 0.001
    assert breaker.enter() is not None


def test_calls_from_before_it_opened_have_no_say(clock):
    breaker = made(clock)
    late_success, late_failure = breaker.enter(), breaker.enter()
    fail(breaker, 5)
    breaker.succeed(late_success)
    assert breaker.state is BreakerState.OPEN
    clock.now += 1
    probe = breaker.enter()
    breaker.fail(late_failure, "UNAVAILABLE")
    breaker.release(late_failure)
    assert breaker.state is BreakerState.HALF_OPEN
    assert breaker.enter() is None
    breaker.succeed(probe)
    assert breaker.state is BreakerState.CLOSED


def test_a_probe_that_says_nothing_is_given_to_the_next_call(clock):
    breaker = made(clock)
    fail(breaker, 5)
    clock.now += 1
    breaker.release(breaker.enter())
    assert breaker.state is BreakerState.HALF_OPEN
    assert breaker.enter().probe


def test_a_probe_that_never_ends_does_not_keep_it_half_open_for_ever(clock):
    breaker = made(clock)
    fail(breaker, 5)
    clock.now += 1
    assert breaker.enter() is not None
    clock.now += 29.9
    assert breaker.enter() is None
    clock.now += 0.1
    assert breaker.enter() is not None


def test_a_lost_probe_that_ends_late_has_no_say(clock):
    breaker = made(clock)
    fail(breaker, 5)
    clock.now += 1
    lost = breaker.enter()
    clock.now += 30
    fail(breaker)
    breaker.succeed(lost)
    assert breaker.state is BreakerState.OPEN
    assert breaker.enter() is None


def test_zero_failures_means_that_it_never_opens(clock):
    breaker = made(clock, failures=0)
    fail(breaker, 100)
    assert breaker.state is BreakerState.CLOSED


def test_one_log_line_a_change(clock, log):
    breaker = made(clock)
    fail(breaker, 4)
    assert log() == []
    fail(breaker)
    for _ in range(100):
        breaker.enter()
    clock.now += 1
    fail(breaker)
    clock.now += 2
    breaker.release(breaker.enter())
    breaker.succeed(breaker.enter())
    assert log() == [
        "circuit open for 1.0 s after 5 failed calls in a row: the cache is bypassed; last: UNAVAILABLE",
        "circuit half-open: one call finds out whether the sidecar is back",
        "circuit open for 2.0 s after 6 failed calls in a row: the cache is bypassed; last: UNAVAILABLE",
        "circuit half-open: one call finds out whether the sidecar is back",
        "circuit closed: the sidecar answers again",
    ]


@pytest.mark.parametrize("options", [{"failures": -1}, {"backoff": 0}, {"backoff": 2, "max_backoff": 1}])
def test_settings_that_make_no_sense_are_refused(options):
    with pytest.raises(ValueError, match="backoff"):
        CircuitBreaker(**options)


def test_the_waits_of_a_fleet_differ(clock):
    breakers = [CircuitBreaker(clock=clock) for _ in range(20)]
    for breaker in breakers:
        fail(breaker, 5)
    assert any(a._retry_at != b._retry_at for a, b in pairwise(breakers))


def test_it_is_public_on_the_client():
    breaker = CircuitBreaker()
    with askonce.AskOnce("unix:///nowhere", breaker=breaker) as client:
        assert client.breaker is breaker
