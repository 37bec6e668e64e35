"""How a worker shows its supervisor that it lives, and how it ends with it.

Imports little: the pulse beats before anything heavy is imported.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import threading
from typing import Final

BEAT_SECONDS: Final = 0.5
ALIVE: Final = b"."
SERVING: Final = b"s"
_PR_SET_PDEATHSIG: Final = 1


class Pulse:
    """Beats over `connection` until the supervisor closes it, and then ends the process."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def start(self) -> None:
        """Beat from now on."""
        threading.Thread(target=self._beat, name="askonce-pulse", daemon=True).start()

    def serving(self) -> None:
        """Tell the supervisor that calls are taken."""
        self._send(SERVING)

    def _beat(self) -> None:
        self._connection.settimeout(BEAT_SECONDS)
        while True:
            self._send(ALIVE)
            try:
                if not self._connection.recv(1):
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        os._exit(1)  # nobody is left who could replace it, or end it

    def _send(self, what: bytes) -> None:
        try:
            self._connection.send(what, socket.MSG_DONTWAIT)
        except BlockingIOError:  # a supervisor that is stopped reads later
            return
        except OSError:
            os._exit(1)


def end_with(supervisor: int) -> None:
    """Let the kernel end this process at once when `supervisor` ends, its parent.

    A worker that is stopped could not do it by itself, and may hold the store's write lock. Where the kernel
    has no such thing, the end of the connection has to do.
    """
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    if prctl is not None:
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != supervisor:  # it ended before that
        os._exit(1)
