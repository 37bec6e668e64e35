"""Paths of Unix sockets: who owns one, and what a server that is gone left there.

Imports nothing of the transport, since the process that supervises workers owns paths too.
"""

from __future__ import annotations

import fcntl
import os
import re
import socket
import stat
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path


class ListenError(Exception):
    """An address cannot be listened on; the message names it, and the mend."""


@dataclass(slots=True)
class SocketLock:
    """The flock beside a Unix socket: whoever holds it owns the path."""

    path: Path
    descriptor: int = field(repr=False)

    def release(self) -> None:
        """Remove the socket, as far as that can be done, then let go."""
        with suppress(OSError):
            self.path.unlink()
        os.close(self.descriptor)


def lock_path(path: Path) -> int:
    """Take the lock beside the socket; return its descriptor. Raises ListenError, which says who has it."""
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
    with suppress(OSError):  # on a full disk the lock holds all the same, and names nobody
        os.ftruncate(descriptor, 0)
        os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def remove_stale(path: Path) -> None:
    """Remove the socket of a server that is gone; whatever else lies there is left alone.

    A server with several workers leaves a link to the socket of one of them. Raises ListenError.
    """
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode) and not _is_link_to_worker(path):
        raise ListenError(
            f"cannot listen on unix://{path}: something that is no socket is there; choose another path"
        )
    if _is_answered(path):  # another program's, or the lock beside it was removed
        raise ListenError(f"unix://{path} belongs to a running process; stop it or choose another path")
    path.unlink()


def worker_path(path: Path, number: int) -> Path:
    """Return the path of the socket that the worker with that number listens on instead of `path`."""
    return path.with_name(f"{path.name}.{number}")


def _is_link_to_worker(path: Path) -> bool:
    own = re.compile(re.escape(path.name) + r"\.\d+")
    return path.is_symlink() and own.fullmatch(str(path.readlink())) is not None


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
