"""Addresses that the server listens on and that clients dial."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from askonce_server.config.places import MAX_SOCKET_PATH_BYTES


@dataclass(frozen=True, slots=True)
class UnixAddress:
    """A Unix socket: an absolute path."""

    path: str

    def __str__(self) -> str:
        return f"unix://{self.path}"

    @property
    def private(self) -> bool:
        """Whether only this machine can reach it."""
        return True


@dataclass(frozen=True, slots=True)
class TcpAddress:
    """A TCP port of a host; port 0 lets the system choose."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    @property
    def private(self) -> bool:
        """Whether only this machine can reach it. Other names than `localhost` count as public."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"


Address = UnixAddress | TcpAddress


def parse_address(text: str) -> Address:
    """Read `unix:///path`, `host:port` or `[v6]:port`. Raises ValueError that names the mend."""
    if text.startswith("unix:"):
        return _unix(text)
    if text.startswith(("/", "./", "~/")):
        raise ValueError(f"is no address: did you mean unix://{text}?")
    scheme, separator, rest = text.partition("://")
    if separator:
        raise ValueError(f"cannot begin with {scheme}://: did you mean {rest.rstrip('/')}?")
    return _tcp(text)


def _unix(text: str) -> UnixAddress:
    path = text.removeprefix("unix:").removeprefix("//")
    if not path.startswith("/"):
        raise ValueError("needs an absolute path, as in unix:///run/askonce/askonce.sock")
    if path.endswith("/"):
        raise ValueError("names a folder: add the name of the socket, as in unix:///run/askonce/askonce.sock")
    size = len(path.encode("utf-8", "surrogateescape"))
    if size > MAX_SOCKET_PATH_BYTES:
        raise ValueError(f"has a path of {size} bytes, and a socket's may have {MAX_SOCKET_PATH_BYTES}")
    if "\0" in path:
        raise ValueError("has a zero byte in its path")
    return UnixAddress(path)


def _tcp(text: str) -> TcpAddress:
    host, separator, port = text.rpartition(":")
    if not separator:
        raise ValueError("needs a port, as in 127.0.0.1:50051, or unix:///path for a socket")
    if host in {"", "*"}:
        raise ValueError(f"needs a host: 127.0.0.1:{port} for this machine alone, 0.0.0.0:{port} for all")
    if not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"has no port from 0 to 65535 after the last colon: {port!r}")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if ":" in bare and bare == host:
        raise ValueError(f"is ambiguous: write an IPv6 address in brackets, as in [{host}]:{port}")
    if any(character.isspace() or character in "/[]," for character in bare):
        raise ValueError(f"has no host name before the port: {host!r}")
    return TcpAddress(bare, int(port))
