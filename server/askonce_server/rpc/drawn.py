"""Randomness: the operating system's, and for ids drawn many at a time."""

from __future__ import annotations

import os
from typing import Final

from askonce_server.ports import Randomness

_DRAWN: Final = 256


class SystemRandomness:
    """Unpredictable bytes of the operating system."""

    def token(self, size: int) -> bytes:
        """Return `size` unpredictable bytes."""
        return os.urandom(size)


class DrawnAhead:
    """A Randomness whose tokens were drawn before. For ids, not for secrets: what lies ready can be read.

    Drawing is a system call that lets go of the interpreter lock: under load each costs a turn of the threads
    that wait for that lock.
    """

    def __init__(self, source: Randomness) -> None:
        self._source = source
        self._ready: dict[int, list[bytes]] = {}

    def token(self, size: int) -> bytes:
        """Return `size` unpredictable bytes that were handed out to nobody else."""
        ready = self._ready.setdefault(size, [])
        try:
            return ready.pop()
        except IndexError:
            drawn = self._source.token(size * _DRAWN)
            tokens = [drawn[start : start + size] for start in range(0, len(drawn), size)]
            taken = tokens.pop()
            ready += tokens
            return taken
