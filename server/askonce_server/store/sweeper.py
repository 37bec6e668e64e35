"""What removes from a store what nobody can be served any more, a little at a time."""

from __future__ import annotations

import logging
import threading
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from askonce_server.ports import Clock, EntryStore, StoreUnavailable, Swept
from askonce_server.store.turn import Turn

LOCK_FILE: Final = "sweeper.lock"
_MIN_PAUSE_SECONDS: Final = 0.001
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SweeperStats:
    """Counts since the sweeper started."""

    steps: int = 0
    """Steps that removed something."""
    expired: int = 0
    """Entries past their ttl that were removed."""
    evicted: int = 0
    """Stores that a lowered limit had no room for."""
    unreachable: int = 0
    """Entries that a purge had made unreachable."""
    readers: int = 0
    """Slots of killed readers that were freed."""
    failures: int = 0
    """Steps that could not be done, since the store could not be used."""
    busy_seconds: float = 0.0

    def after(self, swept: Swept, seconds: float) -> SweeperStats:
        """Return the counts after a step."""
        return replace(
            self,
            steps=self.steps + (swept.expired + swept.evicted + swept.unreachable > 0),
            expired=self.expired + swept.expired,
            evicted=self.evicted + swept.evicted,
            unreachable=self.unreachable + swept.unreachable,
            readers=self.readers + swept.readers,
            busy_seconds=self.busy_seconds + seconds,
        )


class Sweeper:
    """Sweeps `store` every `interval_seconds` until it is closed; of several workers one does.

    A step is one write among those of the Stores, of bounded size. While there is more to remove the sweeper
    rests as long as the step took, so that at most half of the writing is its own. `folder` is where workers
    agree on who sweeps; None: there is one.
    """

    def __init__(
        self, store: EntryStore, clock: Clock, *, folder: Path | None = None, interval_seconds: float = 1.0
    ) -> None:
        self._store = store
        self._clock = clock
        self._turn = None if folder is None else Turn(folder / LOCK_FILE)
        self._interval_seconds = interval_seconds
        self._closed = threading.Event()
        self._stats = SweeperStats()
        self._thread = threading.Thread(target=self._run, name="askonce-sweeper", daemon=True)
        self._thread.start()

    def stats(self) -> SweeperStats:
        """Count."""
        return self._stats

    def close(self) -> None:
        """Stop after the step that runs. Called before the store is closed."""
        self._closed.set()
        self._thread.join()

    def _run(self) -> None:
        pause = 0.0
        while not self._closed.wait(pause):
            pause = self._interval_seconds
            if self._turn is None or self._turn.take():
                pause = self._step()
        if self._turn is not None:
            self._turn.give_back()

    def _step(self) -> float:
        """Sweep once; return how many seconds to rest."""
        began = time.monotonic()
        try:
            swept = self._store.sweep(self._clock.now_ms())
        except StoreUnavailable:  # the store itself says why
            self._stats = replace(self._stats, failures=self._stats.failures + 1)
            return self._interval_seconds
        except Exception:
            _log.exception("the sweeper met a fault that it does not know")
            self._stats = replace(self._stats, failures=self._stats.failures + 1)
            return self._interval_seconds
        seconds = time.monotonic() - began
        self._stats = self._stats.after(swept, seconds)
        return max(seconds, _MIN_PAUSE_SECONDS) if swept.more else self._interval_seconds
