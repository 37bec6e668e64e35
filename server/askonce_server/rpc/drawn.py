"""Randomness: the operating system's, and ids drawn many at a time."""

from __future__ import annotations

import os
from typing import Final

from askonce_server.ports import Randomness

_DRAWN: Final = 256
_ID_BYTES: Final = 16


class SystemRandomness:
    """Unpredictable bytes of the operating system."""

    def token(self, size: int) -> bytes:
        """Return `size` unpredictable bytes."""
        return os.urandom(size)


class DrawnIds:
    """Ids of 32 hex characters that were drawn before. No secrets: what lies ready can be read.

    Drawing is a system call that lets go of the interpreter lock: under load each costs a turn of the threads
    that wait for that lock.
    """

    def __init__(self, source: Randomness) -> None:
        self._source = source
        self._ready: list[str] = []

    def draw(self) -> str:
        """Return an id that was handed out to nobody else."""
        try:
            return self._ready.pop()
        except IndexError:
            drawn = self._source.token(_ID_BYTES * _DRAWN).hex()
            size = 2 * _ID_BYTES
            ids = [drawn[start : start + size] for start in range(0, len(drawn), size)]
            taken = ids.pop()
            self._ready += ids
            return taken
