"""Skips what is down, and finds out when it is back."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from askonce_server.ports import OverBudget

_log = logging.getLogger("askonce")
_WEIGHT = 0.2
_SPREAD = 0.2
"""How much of a pause chance may take off, so that a fleet does not come back at once."""
_A = TypeVar("_A")


@dataclass(frozen=True, slots=True)
class Patience:
    """When a breaker opens, and for how long."""

    failures: int = 5
    """In a row."""
    first_pause_seconds: float = 1.0
    """Doubles with each call that was let through and failed."""
    longest_pause_seconds: float = 30.0


_PATIENCE = Patience()


class Breaker:
    """Opens after several failures in a row, then lets one call through now and then. Safe from any thread.

    A call that ran out of time is a failure only where it was given as long as calls usually take: one caller
    in haste must not have the others skipped. One line is logged for each change, and none per call.
    """

    def __init__(
        self,
        name: str,
        *,
        failed: type[Exception],
        blameless: tuple[type[Exception], ...] = (),
        patience: Patience = _PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Make a closed breaker for what its messages call `name`.

        Calls that are skipped raise `failed`, whose messages may be logged; `blameless` errors say nothing
        about what is called; every other error is a failure.
        """
        self.name = name
        self._error = failed
        self._blameless = blameless
        self._patience = patience
        self._clock = clock
        self._lock = threading.Lock()
        self._failures = 0
        self._pause = 0.0
        self._retry_at: float | None = None
        self._usual_seconds = 0.0

    def call(self, work: Callable[[], _A], *, deadline: float) -> _A:
        """Return what `work` returns, or raise what it raises. `deadline` is by the breaker's clock."""
        begun = self._clock()
        probe = self._enter(begun)
        try:
            result = work()
        except self._blameless:
            self._release(probe=probe)
            raise
        except OverBudget:
            self._over_budget(given=deadline - begun, probe=probe)
            raise
        except BaseException as fault:
            self._failed(str(fault) if isinstance(fault, self._error) else type(fault).__name__, probe=probe)
            raise
        ended = self._clock()
        if ended > deadline:
            self._over_budget(given=deadline - begun, probe=probe)
        else:
            self._succeeded(ended - begun)
        return result

    def _enter(self, now: float) -> bool:
        """Let a call through, and say whether it is to find out."""
        with self._lock:
            if self._retry_at is None:
                return False
            if now < self._retry_at:
                left = self._retry_at - now
                raise self._error(f"{self.name} is skipped for another {left:.1f} s, since it was down")
            # Should this call never end, the next one finds out.
            self._retry_at = now + self._pause
            return True

    def _succeeded(self, seconds: float) -> None:
        with self._lock:
            was_open = self._retry_at is not None
            self._failures = 0
            self._retry_at = None
            before = self._usual_seconds or seconds
            self._usual_seconds = before + _WEIGHT * (seconds - before)
        if was_open:
            _log.warning("%s answers again", self.name)

    def _over_budget(self, *, given: float, probe: bool) -> None:
        if given > 0 and given >= self._usual_seconds:
            self._failed(f"no answer in {given:.3f} s", probe=probe)
        else:
            self._release(probe=probe)

    def _failed(self, why: str, *, probe: bool) -> None:
        with self._lock:
            self._failures += 1
            failures, closed = self._failures, self._retry_at is None
            opens = closed and failures >= self._patience.failures
            if not opens and (closed or not probe):
                return
            pause = self._patience.first_pause_seconds if opens else 2 * self._pause
            self._pause = min(pause, self._patience.longest_pause_seconds)
            self._retry_at = self._clock() + self._pause * random.uniform(1 - _SPREAD, 1)  # noqa: S311 - no secret
        if opens:
            _log.warning("%s is skipped while it is down, after %d failures: %s", self.name, failures, why)

    def _release(self, *, probe: bool) -> None:
        """Let the next call find out, where this one could not."""
        if probe:
            with self._lock:
                if self._retry_at is not None:
                    self._retry_at = self._clock()
