"""Where the workers of one server listen, and what the server as a whole holds of it.

A TCP port is shared: every worker listens on it with SO_REUSEPORT, and the kernel spreads connections over
them. A Unix socket cannot be: each worker has one of its own, `PATH.0`, `PATH.1` and so on, and `PATH` is a
link to one of them.
"""

from __future__ import annotations

import errno
import os
import socket
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final, Protocol

from askonce_server.config.address import Address, TcpAddress, UnixAddress
from askonce_server.rpc.sockets import ListenError, lock_path, remove_stale, worker_path

_CONNECTED: Final = "03"
"""The state of a connection in /proc/net/unix (SS_CONNECTED)."""
_TRIES: Final = 16


class Held(Protocol):
    """An address that this server, and no other, may listen on."""

    def of(self, number: int) -> str:
        """Return the address of the worker with that number."""

    def point(self, serving: Collection[int]) -> None:
        """Lead new clients to those workers."""

    def release(self) -> None:
        """Let go of the address, once no worker listens."""


def hold(address: Address, *, workers: int) -> Held:
    """Hold `address` for so many workers. Raises ListenError when another server has it."""
    if isinstance(address, UnixAddress):
        return SocketLink(Path(address.path), workers)
    return SharedPort(address)


def hold_all(addresses: Sequence[Address], *, workers: int) -> list[Held]:
    """Hold every one of `addresses`, or none. Raises ListenError."""
    held: list[Held] = []
    try:
        for address in addresses:
            held.append(hold(address, workers=workers))  # noqa: PERF401 - those before a failure are let go
    except BaseException:
        for one in held:
            one.release()
        raise
    return held


class SharedPort:
    """A TCP port that is bound but not listened on, so that it stays ours while no worker listens.

    Bound alone it would let in whoever sets SO_REUSEPORT, and calls would be split between two servers. So it
    is bound and listened on without, which fails where anybody else is; from then on workers may join.
    """

    def __init__(self, address: TcpAddress) -> None:
        self._sockets: list[socket.socket] = []
        port = address.port
        for _ in range(_TRIES):
            port = address.port or _free_port(address.host)
            try:
                self._sockets = list(_reserve(address.host, port))
                break
            except OSError as error:
                if address.port or error.errno != errno.EADDRINUSE:
                    raise ListenError(f"cannot listen on {address}: {error.strerror or error}") from error
        self._address = TcpAddress(address.host, port)

    def of(self, number: int) -> str:  # noqa: ARG002 - as the port says
        """Return the address of the worker with that number: the same for all."""
        return str(self._address)

    def point(self, serving: Collection[int]) -> None:
        """Do nothing: the kernel spreads connections over those who listen."""

    def release(self) -> None:
        """Let go of the port."""
        for one in self._sockets:
            one.close()


def _reserve(host: str, port: int) -> Iterator[socket.socket]:
    """Yield a socket for each address that `host` stands for. Raises OSError when one is taken."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    reserved: list[socket.socket] = []
    absent: OSError | None = None
    for family, kind, protocol, _, address in found:
        try:
            reserved.append(_exclusive(socket.socket(family, kind, protocol), address))
        except OSError as error:
            if error.errno not in {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}:
                for one in reserved:
                    one.close()
                raise
            absent = error  # `localhost` on a machine without IPv6
    if not reserved and absent is not None:
        raise absent
    yield from reserved


def _exclusive(one: socket.socket, address: object) -> socket.socket:
    """Bind, and open to workers once it is sure that nobody else is there. Raises OSError."""
    try:
        if one.family == socket.AF_INET6:
            one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # the last server's connections linger
        one.bind(address)  # type: ignore[arg-type]  # of this family
        one.listen(1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 0)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        one.shutdown(socket.SHUT_RDWR)  # stops listening; the port stays bound
    except BaseException:
        one.close()
        raise
    return one


def _free_port(host: str) -> int:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, 0), family=family) as probe:
        port: int = probe.getsockname()[1]
        return port


class SocketLink:
    """The configured path of a Unix socket: a link to the worker with the fewest connections."""

    def __init__(self, path: Path, workers: int) -> None:
        self._path = path
        self._target: int | None = None
        self._lock = lock_path(path)
        try:
            remove_stale(path)
            self._remove_sockets_beyond(workers)
        except BaseException as error:
            os.close(self._lock)
            if isinstance(error, OSError):
                raise ListenError(f"cannot listen on unix://{path}: {error}") from error
            raise

    def of(self, number: int) -> str:
        """Return the address of the worker with that number."""
        return f"unix://{worker_path(self._path, number)}"

    def point(self, serving: Collection[int]) -> None:
        """Link to the one of `serving` that has the fewest connections; to nothing when there is none."""
        if not serving:
            self._remove()
            return
        connections = _connections()
        taken = {number: connections[str(worker_path(self._path, number))] for number in serving}
        least = min(taken.values())
        if self._target in taken and taken[self._target] == least and self._path.is_symlink():
            return
        self._link(min(number for number, count in taken.items() if count == least))

    def release(self) -> None:
        """Remove the link, then let go of the path."""
        self._remove()
        os.close(self._lock)

    def _link(self, number: int) -> None:
        """Put the link in place at once: a client finds the old one or the new one."""
        fresh = self._path.with_name(f"{self._path.name}.link")
        fresh.unlink(missing_ok=True)
        fresh.symlink_to(worker_path(self._path, number).name)
        fresh.replace(self._path)
        self._target = number

    def _remove(self) -> None:
        self._target = None
        if self._path.is_symlink():
            self._path.unlink(missing_ok=True)

    def _remove_sockets_beyond(self, workers: int) -> None:
        """Remove what a server with more workers left behind when it was killed."""
        beside = f"{self._path.name}."
        for path in list(self._path.parent.iterdir()):
            number = path.name.removeprefix(beside)
            if path.name.startswith(beside) and number.isdigit() and int(number) >= workers:
                with suppress(ListenError):
                    remove_stale(path)


def _connections() -> Counter[str]:
    """Count the connections to each Unix socket by its path; none where the system does not tell.

    The transport binds `///path` where it is told `unix:///path`.
    """
    try:
        table = Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return Counter()
    rows = (line.split(maxsplit=7) for line in table.splitlines()[1:])
    return Counter(f"/{row[7].lstrip('/')}" for row in rows if len(row) == 8 and row[5] == _CONNECTED)
