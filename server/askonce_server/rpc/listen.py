"""Listeners: Unix sockets and TCP addresses, taken so that no second server can steal or split them."""

from __future__ import annotations

import fcntl
import os
import socket
import stat
import threading
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

import grpc

_SOCKET_MODE = 0o660
_MAX_SOCKET_PATH = 107
"""sockaddr_un keeps 108 bytes, the last a zero (unix(7))."""
_umask_lock = threading.Lock()


class ListenError(Exception):
    """An address cannot be listened on; the message names it, and the mend."""


@dataclass(slots=True)
class SocketLock:
    """The flock beside a Unix socket: whoever holds it owns the path."""

    path: Path
    descriptor: int = field(repr=False)

    def release(self) -> None:
        """Remove the socket, then let go."""
        with suppress(FileNotFoundError):
            self.path.unlink()
        os.close(self.descriptor)


def credentials_of(cert: Path, key: Path, client_ca: Path | None) -> grpc.ServerCredentials:
    """Read the PEM files that TLS needs. Raises ListenError that names the one that cannot be read."""
    try:
        pair = (key.read_bytes(), cert.read_bytes())
        authorities = client_ca.read_bytes() if client_ca is not None else None
    except OSError as error:
        raise ListenError(f"cannot listen with TLS: {error.strerror} ({error.filename})") from error
    return grpc.ssl_server_credentials(
        [pair], root_certificates=authorities, require_client_auth=authorities is not None
    )


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
        raise ListenError(_busy(address, tls=credentials is not None)) from error
    if port == 0:
        raise ListenError(_busy(address, tls=credentials is not None))
    return None


def _busy(address: str, *, tls: bool) -> str:
    causes = "another process has it, or it is not an address of this machine"
    if tls:
        causes += ", or the certificate and key of tls cannot be used together"
    return f"cannot listen on {address}: {causes}"


def _bind_socket(server: grpc.Server, path: Path) -> SocketLock:
    if len(os.fsencode(path)) > _MAX_SOCKET_PATH:
        raise ListenError(f"socket path {path} is longer than {_MAX_SOCKET_PATH} bytes; choose a shorter one")
    lock = _lock(path)
    try:
        _remove_stale(path)
        port = _add_socket(server, path)
    except BaseException as error:
        os.close(lock)
        if isinstance(error, RuntimeError | OSError):
            raise ListenError(f"cannot listen on unix://{path}: {error}") from error
        raise
    if not port:
        os.close(lock)
        raise ListenError(f"cannot listen on unix://{path}")
    return SocketLock(path, lock)


def _add_socket(server: grpc.Server, path: Path) -> int:
    address = f"unix://{quote(str(path.absolute()))}"  # the transport reads it as a URI
    with _umask_lock:
        before = os.umask(0o777 & ~_SOCKET_MODE)
        try:
            return server.add_insecure_port(address)
        finally:
            os.umask(before)


def _lock(path: Path) -> int:
    """Take the lock beside the socket, or say who has it."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise ListenError(f"cannot listen on unix://{path}: {error.strerror} ({error.filename})") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        holder = os.read(descriptor, 32).decode(errors="replace").strip() or "unknown"
        os.close(descriptor)
        text = (
            f"unix://{path} belongs to a running askonce (process {holder}); stop it or choose another path"
        )
        raise ListenError(text) from error
    os.ftruncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def _remove_stale(path: Path) -> None:
    """Remove the socket of a server that is gone; whatever else lies there is left alone."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise ListenError(f"cannot listen on unix://{path}: something that is no socket is there")
    if _is_answered(path):  # another program's, or the lock beside it was removed
        raise ListenError(f"unix://{path} belongs to a running process; stop it or choose another path")
    path.unlink()


def _is_answered(path: Path) -> bool:
    """Whether somebody listens there, also one who is too busy to answer or whom we may not ask."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:
            return True
    return True
