"""Connections whose answers end by a deadline. A timeout by itself is of one read, and a service can drip."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from http.client import HTTPResponse
from typing import Any

from urllib3 import HTTPConnectionPool, HTTPSConnectionPool, PoolManager
from urllib3.connection import HTTPConnection, HTTPSConnection

_until: ContextVar[float] = ContextVar("until")
"""When the answer that is asked for in this context must have ended, in seconds of `time.monotonic`."""


@contextmanager
def ends_by(until: float) -> Iterator[None]:
    """Let the answers to what is asked within be read no later than `until`: then reading times out."""
    token = _until.set(until)
    try:
        yield
    finally:
        _until.reset(token)


def bounded_pool(*, connections: int) -> PoolManager:
    """Return a pool whose connections heed `ends_by`, and keep up to so many."""
    pool = PoolManager(num_pools=1, maxsize=connections)
    pool.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
    return pool


class BoundedReader(io.RawIOBase):
    """What comes over a connection, until a time that no number of reads puts off."""

    def __init__(self, connection: socket.socket, *, until: float) -> None:
        """Read from `connection` while it is open; closing this leaves it so."""
        self._connection = connection
        self._until = until
        self._file = connection.makefile("rb", buffering=0)  # keeps it open, as long as this is

    def readable(self) -> bool:
        """Whether it can be read."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read what is there. Raises TimeoutError when the time is over."""
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)

    def close(self) -> None:
        """Let go of the connection."""
        self._file.close()
        super().close()


class _Response(HTTPResponse):
    def __init__(self, sock: socket.socket, *arguments: Any, **options: Any) -> None:
        super().__init__(sock, *arguments, **options)
        self.fp.close()
        self.fp = io.BufferedReader(BoundedReader(sock, until=_until.get()))


class _Connection(HTTPConnection):
    response_class = _Response


class _SecureConnection(HTTPSConnection):
    response_class = _Response


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _SecureConnection
