"""The process over several workers: the composition root of `workers: N` where N is more than one.

It holds what the server has once, the addresses and the lock of the store, and sees to it that the workers
run: one that ends is started again, one that stops is killed. It imports nothing of the transport.
"""

from __future__ import annotations

import logging
import os
import secrets
import selectors
import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

from askonce_server.config.load import ConfigError
from askonce_server.config.model import Config
from askonce_server.config.reload import ConfigFile
from askonce_server.rpc.sockets import ListenError
from askonce_server.store import StoreSettings
from askonce_server.store.holding import StoreHold
from askonce_server.telemetry.logs import log_json_lines
from askonce_server.workers.addresses import Held, hold_all
from askonce_server.workers.child import Child, State, ended
from askonce_server.workers.counts import make_memory
from askonce_server.workers.orders import Orders

_TICK_SECONDS: Final = 0.25
_CLOSE_SECONDS: Final = 5.0
"""What a worker has beyond delay and grace to close its store."""
_log = logging.getLogger("askonce")


def supervise(config: Config, *, file: Path | None, text: str) -> int:
    """Run workers until SIGTERM or SIGINT; return the exit status.

    `config` is what `text` says, which stood in `file`. The status is 1 when the server cannot start, or when
    a worker did not end in order; one that was stopped, and killed as it is at any time, counts for nothing.
    """
    log_json_lines()
    with _wakeups() as (wakeup, stopping):
        try:
            supervisor = Supervisor(config, file=file, text=text, wakeup=wakeup)
        except ListenError as error:
            _log.error("%s", error)
            return 1
        return supervisor.run(stopping)


class Signals:
    """Which signals came."""

    def __init__(self) -> None:
        self.stop = False
        self.reload = False


@contextmanager
def _wakeups() -> Iterator[tuple[socket.socket, Signals]]:
    """Yield a socket that can be read when a signal came, the end of a child included, and which came."""
    signals = Signals()

    def on_signal(number: int, _frame: FrameType | None) -> None:
        if number == signal.SIGHUP:
            signals.reload = True
        elif number != signal.SIGCHLD:
            _log.info("%s: draining", signal.Signals(number).name)
            signals.stop = True

    reading, writing = socket.socketpair()
    with reading, writing:
        reading.setblocking(False)
        writing.setblocking(False)
        signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
            signal.signal(number, on_signal)
        try:
            yield reading, signals
        finally:
            signal.set_wakeup_fd(-1)


class Supervisor:
    """Starts the workers and keeps them running. Raises ListenError when an address cannot be had."""

    def __init__(self, config: Config, *, file: Path | None, text: str, wakeup: socket.socket) -> None:
        self._config = config
        self._text = text
        self._file = None if file is None else ConfigFile(file, text=text, config=config, environ=os.environ)
        self._wakeup = wakeup
        self._instance = secrets.token_hex(8)
        self._started, self._began_ns = time.monotonic(), time.time_ns()
        self._all_served = False
        self._link_problem: str | None = None
        admin = config.admin.listen if config.admin is not None else ()
        with ExitStack() as undo:
            self._listen = hold_all(config.listen, workers=config.workers)
            undo.callback(_release, self._listen)
            self._admin = hold_all(admin, workers=config.workers)
            undo.callback(_release, self._admin)
            watched = config.telemetry.listen
            self._telemetry = hold_all(() if watched is None else (watched,), workers=config.workers)
            undo.pop_all()
        self._hold = StoreHold(_store_settings(config, self._instance))
        counts = make_memory(config.workers)
        self._children = [Child(number, counts=counts) for number in range(config.workers)]
        self._selector = selectors.DefaultSelector()
        self._selector.register(wakeup, selectors.EVENT_READ)

    def run(self, signals: Signals) -> int:
        """Keep the workers running until told to stop; return the exit status."""
        try:
            while not signals.stop:
                if signals.reload:
                    signals.reload = False
                    self._reload()
                self._start_who_is_due()
                self._watch()
                if self._reap() and not self._all_served:
                    _log.error("the server cannot start; a worker said why")
                    self._stop()
                    return 1
                self._lead_clients()
                self._hold.look()
                self._look_at_file()
            return self._stop()
        finally:
            for child in self._children:
                child.signal(signal.SIGKILL)
                child.close()
            _release([*self._listen, *self._admin, *self._telemetry])
            self._hold.release()

    def _start_who_is_due(self) -> None:
        now = time.monotonic()
        for child in self._children:
            if child.state is not State.DOWN or child.due > now:
                continue
            try:
                connection = child.start(self._orders(child.number), now)
            except OSError as error:
                _log.error("worker %d cannot be started: %s", child.number, error)
                child.back_off(now)
                continue
            self._selector.register(connection, selectors.EVENT_READ, child)

    def _orders(self, number: int) -> Orders:
        return Orders(
            number=number,
            supervisor=os.getpid(),
            instance=self._instance,
            started=self._started,
            began_ns=self._began_ns,
            listen=tuple(one.of(number) for one in self._listen),
            admin=tuple(one.of(number) for one in self._admin),
            telemetry=tuple(one.of(number) for one in self._telemetry),
            file=None if self._file is None else str(self._file.path),
            text=self._text,
            rules=self._text if self._file is None else self._file.text,
        )

    def _watch(self) -> None:
        """Wait for the next event or tick, and see who lives.

        Only time that this process was awake counts as silence: a paused container is no stopped worker.
        """
        before = time.monotonic()
        events = self._selector.select(_TICK_SECONDS)
        now = time.monotonic()
        for key, _ in events:
            if isinstance(key.data, Child):
                if not key.data.listen(now):
                    self._selector.unregister(key.fileobj)
            else:
                with suppress(BlockingIOError):
                    self._wakeup.recv(4096)
        for child in self._children:
            child.wait(min(now - before, 2 * _TICK_SECONDS))

    def _reap(self) -> bool:
        """Take leave of workers that ended; return whether one of them could not start."""
        unable = False
        now = time.monotonic()
        for child in self._children:
            pid = child.pid
            status = child.reap(now)
            if status is None:
                continue
            self._forget(child)
            unable = unable or (status > 0 and not child.served_once)
            after = max(child.due - now, 0.0)
            _log.error(
                "worker %d (process %d) %s; it starts again in %.1f s",
                child.number,
                pid,
                ended(status),
                after,
            )
        return unable

    def _forget(self, child: Child) -> None:
        with suppress(KeyError, ValueError):
            self._selector.unregister(child.connection)  # type: ignore[arg-type]  # KeyError tells None
        child.close()

    def _lead_clients(self) -> None:
        if not self._all_served and all(child.served_once for child in self._children):
            self._all_served = True
            for address in self._config.listen:
                _log.info("listening on %s with %d workers", address, len(self._children))
            for address in self._config.admin.listen if self._config.admin is not None else ():
                _log.info("listening for operators on %s", address)
        serving = [child.number for child in self._children if child.heard_of]
        problem = None
        for held in (*self._listen, *self._admin):
            try:
                held.point(serving)
            except OSError as error:
                problem = f"clients cannot be led to a worker: {error}"
        if problem not in (None, self._link_problem):
            _log.error("%s", problem)
        self._link_problem = problem

    def _look_at_file(self) -> None:
        """Remember what could be used last, for a worker that starts when that has been spoilt."""
        if self._file is not None:
            with suppress(ConfigError):
                self._file.look()

    def _reload(self) -> None:
        """Let every worker read the configuration again. One that does not serve yet will do so by itself."""
        for child in self._children:
            if child.state is State.SERVING:
                child.signal(signal.SIGHUP)

    def _stop(self) -> int:
        """Let every worker drain; return 0 when all that were heard of ended in order and in time."""
        section = self._config.drain
        deadline = time.monotonic() + _CLOSE_SECONDS + self._config.store.write_timeout.total_seconds()
        deadline += section.delay.total_seconds() + section.grace.total_seconds()
        for child in self._children:
            child.signal(signal.SIGTERM)
        in_order = True
        while any(child.state is not State.DOWN for child in self._children):
            self._watch()
            late = time.monotonic() >= deadline
            for child in self._children:
                if late:
                    child.signal(signal.SIGKILL)
                pid, unborn = child.pid, child.state is State.STARTING
                status = child.reap(time.monotonic())
                if status is None:
                    continue
                self._forget(child)
                if status != 0 and not (unborn and status == -signal.SIGTERM):
                    in_order = in_order and child.given_up
                    _log.error("worker %d (process %d) %s", child.number, pid, ended(status))
        return 0 if in_order else 1


def _store_settings(config: Config, instance: str) -> StoreSettings:
    section = config.store
    return StoreSettings(
        path=section.path,
        max_bytes=section.max_bytes,
        durability=section.durability,
        instance=instance,
    )


def _release(held: Sequence[Held]) -> None:
    for one in held:
        one.release()
