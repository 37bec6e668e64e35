"""The circuit breaker: stops asking a sidecar that does not answer, and finds out when it is back."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from enum import StrEnum
from typing import NamedTuple

logger = logging.getLogger("askonce")


class BreakerState(StrEnum):
    """What a breaker lets through."""

    CLOSED = "closed"
    """Every call."""
    OPEN = "open"
    """No call."""
    HALF_OPEN = "half-open"
    """One call at a time, to find out."""


class Permit(NamedTuple):
    """The leave to make one call. Its end must be told to the breaker that gave it."""

    epoch: int
    probe: bool


class CircuitBreaker:
    """Opens after several failures in a row, then lets one probe through now and then. Thread-safe.

    Writes one log line per change of state, to the logger `askonce`, and none per call.
    """

    def __init__(
        self,
        *,
        failures: int = 5,
        backoff: float = 1.0,
        max_backoff: float = 30.0,
        clock: Callable[[], float] = time.monotonic,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Make a closed breaker.

        Args:
            failures: How many failures in a row open it; 0 means never.
            backoff: For how many seconds it stays open at first. Doubles with every failed probe.
            max_backoff: For how many seconds it stays open at most.
            clock: Seconds that only advance.
            jitter: A number in [0, 1). Takes up to a fifth off each wait, so that the gateways of a fleet
                do not come back all at once.
        """
        if failures < 0 or not 0 < backoff <= max_backoff:
            raise ValueError("failures must be 0 or more, and 0 < backoff <= max_backoff")
        self._threshold = failures
        self._backoff = backoff
        self._max_backoff = max_backoff
        self._clock = clock
        self._jitter = jitter
        self._lock = threading.Lock()
        self._state = BreakerState.CLOSED
        self._epoch = 0
        self._failures = 0
        self._openings = 0
        self._retry_at = 0.0
        self._probe_until: float | None = None

    @property
    def state(self) -> BreakerState:
        """What the breaker lets through now. OPEN until a call finds that the wait is over."""
        return self._state

    def enter(self) -> Permit | None:
        """Return the leave to make a call, or None when none may be made."""
        with self._lock:
            if self._state is BreakerState.CLOSED:
                return Permit(self._epoch, probe=False)
            now = self._clock()
            changed = self._state is BreakerState.OPEN
            if changed:
                if now < self._retry_at:
                    return None
                self._move(BreakerState.HALF_OPEN)
            elif self._probe_until is not None and now < self._probe_until:
                return None
            # A probe whose end is never told, for example in a thread that was killed, must not keep the
            # breaker half open for ever.
            self._probe_until = now + self._max_backoff
            permit = Permit(self._epoch, probe=True)
        if changed:
            logger.info("circuit half-open: one call finds out whether the sidecar is back")
        return permit

    def succeed(self, permit: Permit) -> None:
        """Say that the sidecar answered."""
        with self._lock:
            if permit.epoch != self._epoch:
                return
            self._failures = 0
            if not permit.probe:
                return
            self._openings = 0
            self._move(BreakerState.CLOSED)
        logger.warning("circuit closed: the sidecar answers again")

    def fail(self, permit: Permit, why: str) -> None:
        """Say that the sidecar did not answer, and `why`, for the log."""
        with self._lock:
            if permit.epoch != self._epoch:
                return
            self._failures += 1
            failures = self._failures
            if not permit.probe and (self._threshold == 0 or failures < self._threshold):
                return
            wait = min(self._backoff * 2.0**self._openings, self._max_backoff)
            if wait < self._max_backoff:
                self._openings += 1
            wait *= 1 - self._jitter() / 5
            self._retry_at = self._clock() + wait
            self._move(BreakerState.OPEN)
        logger.warning(
            "circuit open for %.1f s after %d failed calls in a row: the cache is bypassed; last: %s",
            wait,
            failures,
            why,
        )

    def release(self, permit: Permit) -> None:
        """Say that the call ended without telling anything of the sidecar's health."""
        with self._lock:
            if permit.probe and permit.epoch == self._epoch:
                self._probe_until = None

    def _move(self, state: BreakerState) -> None:
        """Change state. Calls that were let through before have no say any more: the epoch is over."""
        self._state = state
        self._epoch += 1
        self._probe_until = None
        if state is BreakerState.CLOSED:
            self._failures = 0
