"""How often something that costs much may be asked for."""

from __future__ import annotations

import time
from collections.abc import Callable
from threading import Lock


class Pacer:
    """Lets through `most` at once, then one every `seconds`."""

    def __init__(self, *, most: int, seconds: float, now: Callable[[], float] = time.monotonic) -> None:
        self._most = most
        self._seconds = seconds
        self._now = now
        self._left = float(most)
        self._at = now()
        self._lock = Lock()

    def take(self) -> bool:
        """Return whether one more may go."""
        with self._lock:
            now = self._now()
            self._left = min(self._most, self._left + (now - self._at) / self._seconds)
            self._at = now
            if self._left < 1:
                return False
            self._left -= 1
            return True
