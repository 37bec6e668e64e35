"""Leases in the memory of one process: enough where no other process serves the same store."""

from __future__ import annotations

import os
import threading
from dataclasses import dataclass, field
from typing import Final

from askonce_server.ports import Taken

_HOLDER_BYTES: Final = 16
_SWEEP_FROM: Final = 1024
"""How many leases are kept before those that are over are let go of."""


@dataclass(slots=True)
class _Lease:
    holder: bytes = b""
    until_ms: int = 0
    waiting: int = 0
    changes: int = 0
    changed: threading.Condition = field(default_factory=threading.Condition)


class LocalLeases:
    """The Leases of one process. They are gone when it ends, and so is everybody who waits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._leases: dict[bytes, _Lease] = {}
        self._changes = 0
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether nobody is to wait any longer."""
        return self._closed

    def mark(self) -> int:
        """Return a number that grows with every change."""
        return self._changes

    def take(self, lease: bytes, *, now_ms: int, until_ms: int) -> Taken:
        """Take the lease until then, or say until when another has it."""
        with self._lock:
            found = self._find(lease, now_ms)
            if found.holder and found.until_ms > now_ms:
                return Taken(None, found.until_ms)
            found.holder, found.until_ms = os.urandom(_HOLDER_BYTES), until_ms
            return Taken(found.holder, until_ms)

    def held_until(self, lease: bytes) -> int:
        """Return until when somebody has the lease; 0 when nobody has."""
        with self._lock:
            found = self._leases.get(lease)
            return found.until_ms if found is not None and found.holder else 0

    def release(self, lease: bytes, holder: bytes) -> bool:
        """Let go of the lease, and let those who wait for it know; return whether `holder` had it."""
        with self._lock:
            found = self._leases.get(lease)
            if found is None or not holder or found.holder != holder:
                return False
            found.holder = b""
            self._tell(found)
            self._drop(lease, found)
            return True

    def touch(self, lease: bytes) -> None:
        """Let those who wait for the lease know that there is an answer."""
        with self._lock:
            found = self._leases.get(lease)
            if found is not None:
                self._tell(found)

    def wait(self, lease: bytes, mark: int, *, seconds: float) -> bool:
        """Wait until something changed since `mark`, or the time is over; return whether it changed."""
        with self._lock:
            found = self._leases.get(lease)
            if found is None or self._closed:
                return True
            found.waiting += 1
        try:
            with found.changed:
                return found.changed.wait_for(lambda: found.changes > mark or self._closed, seconds)
        finally:
            with self._lock:
                found.waiting -= 1
                self._drop(lease, found)

    def close(self) -> None:
        """Let nobody wait any longer."""
        with self._lock:
            self._closed = True
            for found in list(self._leases.values()):
                self._tell(found)

    def __len__(self) -> int:
        return len(self._leases)

    def _find(self, lease: bytes, now_ms: int) -> _Lease:
        if len(self._leases) >= _SWEEP_FROM:
            over = [key for key, one in self._leases.items() if one.until_ms <= now_ms and not one.waiting]
            for key in over:
                del self._leases[key]
        return self._leases.setdefault(lease, _Lease())

    def _tell(self, found: _Lease) -> None:
        self._changes += 1
        with found.changed:
            found.changes = self._changes
            found.changed.notify_all()

    def _drop(self, lease: bytes, found: _Lease) -> None:
        """Forget a lease that nobody has and nobody waits for."""
        if not found.holder and not found.waiting and self._leases.get(lease) is found:
            del self._leases[lease]
