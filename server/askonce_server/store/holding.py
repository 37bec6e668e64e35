"""The lock of a store, held by one process for those that use it."""

from __future__ import annotations

import logging
import time
from contextlib import suppress
from typing import Final

from askonce_server.ports import StoreUnavailable
from askonce_server.store.environment import StoreSettings, hold_store
from askonce_server.store.instance import InstanceLock

_AGAIN_SECONDS: Final = 5.0
_log = logging.getLogger(__name__)


class StoreHold:
    """Keeps the store locked for workers: from now on, or as soon as it can.

    Workers find their supervisor's name in the lock, and leave the store alone until it is there.
    """

    def __init__(self, settings: StoreSettings) -> None:
        self._settings = settings
        self._lock: InstanceLock | None = None
        self._problem: str | None = None
        self._due = 0.0
        self.look()

    def look(self) -> None:
        """Take the lock where it is not held, and anew where its file was taken away."""
        if self._lock is not None and self._lock.lost(self._settings.path):
            with suppress(OSError):
                self._lock.give_up()
            self._lock = None
        if self._lock is not None or time.monotonic() < self._due:
            return
        try:
            self._lock = hold_store(self._settings)
        except StoreUnavailable as unavailable:
            self._due = time.monotonic() + _AGAIN_SECONDS
            if str(unavailable) != self._problem:
                self._problem = str(unavailable)
                _log.error("every Lookup is a bypass, since the store cannot be used: %s", unavailable)
            return
        if self._problem is not None:
            self._problem = None
            _log.info("the store at %s is held now", self._settings.path)

    def release(self) -> None:
        """Unlock the store, once no worker has it open."""
        if self._lock is not None:
            with suppress(OSError):  # a full disk must not keep the store locked
                self._lock.release()
            self._lock = None
