"""Listeners: Unix sockets and TCP addresses, taken so that no second server can steal or split them."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from urllib.parse import quote

import grpc

from askonce_server.rpc.sockets import ListenError, SocketLock, lock_path, remove_stale

__all__ = ["ListenError", "SocketLock", "bind"]

_SOCKET_MODE = 0o660
_MAX_SOCKET_PATH = 107
"""sockaddr_un keeps 108 bytes, the last a zero (unix(7))."""
_umask_lock = threading.Lock()


def bind(
    server: grpc.Server, address: str, *, credentials: grpc.ServerCredentials | None = None
) -> SocketLock | None:
    """Make `server` listen on `address`: `unix:///absolute/path` or `host:port`. Raises ListenError.

    A Unix socket gets mode 0660, never wider for a moment, and a lock file beside it; a second bind of the
    same path would otherwise take it over silently.
    """
    if address.startswith("unix:"):
        return _bind_socket(server, Path(address.removeprefix("unix:").replace("//", "", 1)))
    try:
        port = (
            server.add_secure_port(address, credentials)
            if credentials is not None
            else server.add_insecure_port(address)
        )
    except RuntimeError as error:
        raise ListenError(_busy(address)) from error
    if port == 0:
        raise ListenError(_busy(address))
    return None


def _busy(address: str) -> str:
    return f"cannot listen on {address}: another process has it, or it is not an address of this machine"


def _unmade(path: Path) -> str:
    """Say what the transport, which gives no reason, may have stumbled over."""
    return f"cannot listen on unix://{path}: see that its folder is there and this user may write in it"


def _bind_socket(server: grpc.Server, path: Path) -> SocketLock:
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH:
        raise ListenError(f"socket path {path} is longer than {_MAX_SOCKET_PATH} bytes; choose a shorter one")
    lock = lock_path(path)
    try:
        remove_stale(path)
        port = _add_socket(server, path)
    except BaseException as error:
        os.close(lock)
        if isinstance(error, RuntimeError):
            raise ListenError(_unmade(path)) from error
        if isinstance(error, OSError):
            raise ListenError(f"cannot listen on unix://{path}: {error}") from error
        raise
    if not port:
        os.close(lock)
        raise ListenError(_unmade(path))
    return SocketLock(path, lock)


def _add_socket(server: grpc.Server, path: Path) -> int:
    address = f"unix://{quote(str(path.absolute()))}"  # the transport reads it as a URI
    with _umask_lock:
        before = os.umask(0o777 & ~_SOCKET_MODE)
        try:
            return server.add_insecure_port(address)
        finally:
            os.umask(before)
