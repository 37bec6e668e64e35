"""The HTTP listener: a few threads beside the calls of gateways, bounded in all that it holds."""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from waitress.server import create_server

Wsgi = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes]]

_THREADS: Final = 4
_CONNECTIONS: Final = 512
"""Enough that callers who say half a request and wait do not keep a probe out before they are let go."""
_IDLE_SECONDS: Final = 10
_BACKLOG: Final = 64
_LOOK_SECONDS: Final = 0.5
"""How often the end of the listener is noticed, should its wake-up be lost."""


class CannotListen(Exception):
    """The address cannot be had; the message says why."""


class WebServer:
    """Serves `app` at `host`:`port` until it is closed. Port 0 lets the system choose.

    With `shared` several processes may listen there, each for a part of the connections. A request's body is
    at most `max_request` bytes. Raises CannotListen.
    """

    def __init__(self, host: str, port: int, app: Wsgi, *, max_request: int, shared: bool = False) -> None:
        self._socket = _bound(host, port, shared=shared)
        self._server: Any = create_server(
            app,
            sockets=[self._socket],
            threads=_THREADS,
            connection_limit=_CONNECTIONS,
            channel_timeout=_IDLE_SECONDS,
            max_request_body_size=max_request,
            max_request_header_size=16 << 10,
            ident="askonce",
            clear_untrusted_proxy_headers=True,
        )
        self.port: int = self._socket.getsockname()[1]
        self.address = f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="askonce-web", daemon=True)

    def start(self) -> None:
        """Begin to answer."""
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # a browser loads ten files at once
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and end every connection."""
        self._closed.set()
        if self._thread.is_alive():
            self._server.trigger.pull_trigger()
            self._thread.join()
        self._server.task_dispatcher.shutdown()
        for one in list(self._server.active_channels.values()):
            one.close()
        self._server.close()

    def _run(self) -> None:
        while not self._closed.is_set():
            self._server.asyncore.loop(timeout=_LOOK_SECONDS, map=self._server._map, count=1)  # noqa: SLF001


def _bound(host: str, port: int, *, shared: bool) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shared:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        made.bind((host, port))
        made.listen(_BACKLOG)
    except OSError as fault:
        made.close()
        raise CannotListen(f"telemetry.listen: cannot listen on {host}:{port}: {fault.strerror}") from fault
    return made
