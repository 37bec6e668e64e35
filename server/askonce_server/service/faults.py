"""Saying that something inside failed: rarely enough to read, and without any content."""

from __future__ import annotations

import logging
import time
from threading import Lock

_log = logging.getLogger("askonce.faults")


class FaultLog:
    """Logs faults, at most one line per kind and interval, with a count of those left out."""

    def __init__(self, *, interval_seconds: float = 10.0) -> None:
        self._interval = interval_seconds
        self._lock = Lock()
        self._last: dict[str, tuple[float, int]] = {}

    def record(self, where: str, error: BaseException) -> None:
        """Log that `error` happened at `where`, by its kind and place: its text may quote a request."""
        kind = f"{where}: {type(error).__name__}"
        now = time.monotonic()
        with self._lock:
            last, left_out = self._last.get(kind, (float("-inf"), 0))
            if now - last < self._interval:
                self._last[kind] = (last, left_out + 1)
                return
            self._last[kind] = (now, 0)
        _log.error("%s at %s; %d alike since the last line", kind, _place(error), left_out)


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "an unknown place"
    return f"{trace.tb_frame.f_globals.get('__name__', '?')}:{trace.tb_lineno}"
