"""One worker as its supervisor sees it: a process, how long it has been silent, when it starts again."""

from __future__ import annotations

import logging
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from enum import Enum
from typing import Final

from askonce_server.workers.orders import Orders, encode
from askonce_server.workers.pulse import SERVING

SILENT_SECONDS: Final = 3.0
"""A worker that serves and is not heard of for so long is killed: it may hold the store's write lock."""
STARTING_SILENT_SECONDS: Final = 10.0
"""The same while it starts: loading a large library lets nothing else run."""
_FIRST_BACK_OFF_SECONDS: Final = 0.1
_MAX_BACK_OFF_SECONDS: Final = 10.0
_STEADY_SECONDS: Final = 30.0
"""Having served for so long, a worker that ends starts again as if it were the first time."""
_ORDERS_SECONDS: Final = 5.0
_MODULE: Final = "askonce_server.worker"
_log = logging.getLogger("askonce")


class State(Enum):
    """What a worker is doing."""

    DOWN = "down"
    STARTING = "starting"
    SERVING = "serving"


class Child:
    """The worker with that number. `counts` is the descriptor of the memory with everybody's counts."""

    def __init__(self, number: int, *, counts: int) -> None:
        self.number = number
        self.state = State.DOWN
        self.connection: socket.socket | None = None
        self.due = 0.0
        """When it may start again, in seconds of `time.monotonic`."""
        self.served_once = False
        self.given_up = False
        """Whether this process was killed because it was not heard of."""
        self._counts = counts
        self._process: subprocess.Popen[bytes] | None = None
        self._silent = 0.0
        self._since = 0.0
        self._failures = 0

    @property
    def pid(self) -> int | None:
        """The process, or None when there is none."""
        return None if self._process is None else self._process.pid

    @property
    def heard_of(self) -> bool:
        """Whether it serves, and said so a moment ago."""
        return self.state is State.SERVING and self._silent < SILENT_SECONDS / 2

    def start(self, orders: Orders, now: float) -> socket.socket:
        """Start the process, by exec; return the connection to it."""
        ours, theirs = socket.socketpair()
        with theirs:
            descriptors = (theirs.fileno(), self._counts)
            isolated = "-I" if sys.flags.isolated else "-P"
            command = [sys.executable, isolated, "-m", _MODULE, *map(str, descriptors)]
            try:
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=descriptors)  # noqa: S603 - our own
            except BaseException:
                ours.close()
                raise
        ours.settimeout(_ORDERS_SECONDS)
        with suppress(OSError):  # it has ended, or hangs: either is found out soon
            ours.sendall(encode(orders))
        ours.setblocking(False)
        self.connection, self.state, self._silent, self._since = ours, State.STARTING, 0.0, now
        self.given_up = False
        return ours

    def listen(self, now: float) -> bool:
        """Take in what the worker says; return whether it can say more."""
        assert self.connection is not None
        try:
            said = self.connection.recv(4096)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not said:
            return False
        self._silent = 0.0
        if SERVING in said and self.state is State.STARTING:
            self.state, self._since, self.served_once = State.SERVING, now, True
            _log.info("worker %d (process %d) serves", self.number, self.pid)
        return True

    def wait(self, seconds: float) -> None:
        """Count so much silence; kill a worker that was silent for too long."""
        if self.state is State.DOWN:
            return
        self._silent += seconds
        limit = SILENT_SECONDS if self.state is State.SERVING else STARTING_SILENT_SECONDS
        if self._silent >= limit:
            _log.error(
                "worker %d (process %d) has not been heard of for %g s: killing it",
                self.number,
                self.pid,
                limit,
            )
            self.signal(signal.SIGKILL)
            self._silent, self.given_up = 0.0, True

    def signal(self, number: int) -> None:
        """Send the process a signal, if there is one."""
        if self._process is not None:
            self._process.send_signal(number)

    def reap(self, now: float) -> int | None:
        """Return the exit status once the process has ended, and be down until it may start again."""
        if self._process is None:
            return None
        status = self._process.poll()
        if status is None:
            return None
        if self.state is State.SERVING and now - self._since >= _STEADY_SECONDS:
            self._failures = 0
        self.back_off(now)
        self._process, self.state = None, State.DOWN
        return status

    def back_off(self, now: float) -> None:
        """Start again later, and later still each time that this comes soon."""
        self.due = now + min(_FIRST_BACK_OFF_SECONDS * 2 ** min(self._failures, 16), _MAX_BACK_OFF_SECONDS)
        self._failures += 1

    def close(self) -> None:
        """Let go of the connection; a worker that still runs ends."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None


def ended(status: int) -> str:
    """Word the exit status of a process."""
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"was killed by signal {-status}"
