"""TLS for the health check. `ssl` takes 20 ms of CPU to import, the C module beneath it 4."""
# ruff: noqa: SLF001 - what `ssl` itself is written with

from __future__ import annotations

import _socket
import _ssl

ALPN = b"\x02h2"
"""The protocol that gRPC speaks, after its length (RFC 7301)."""


class NotSecured(Exception):
    """There is no TLS with this server; the message says why."""


class SecuredConnection:
    """A connection under TLS, with the methods of a plain one that the health check uses."""

    def __init__(self, plain: _socket.socket, secured: object) -> None:
        """Send and receive by `secured`, which lies over `plain`."""
        self._write = secured.write  # type: ignore[attr-defined]  # has no public type
        self._read = secured.read  # type: ignore[attr-defined]
        self.settimeout = plain.settimeout
        self.close = plain.close

    def sendall(self, data: bytes) -> None:
        """Send all of `data`. Raises OSError."""
        while data:
            data = data[self._write(data) :]

    def recv(self, size: int) -> bytes:
        """Return up to `size` bytes, none at the end. Raises OSError."""
        read: bytes = self._read(size)
        return read


def secured(plain: _socket.socket, *, host: str, ca: str, pair: tuple[str, str] | None) -> SecuredConnection:
    """Put TLS on `plain`, with a server for whom the authorities in `ca` vouch that it is `host`.

    `pair` are the files of the certificate to show and of its key. Raises NotSecured, and TimeoutError when
    the timeout of `plain` is over.
    """
    context = _ssl._SSLContext(_ssl.PROTOCOL_TLS_CLIENT)  # certificate and name are checked
    try:
        context.load_verify_locations(ca)
        if pair is not None:
            context.load_cert_chain(*pair, password=bytes)  # nobody is asked for a password
    except (OSError, ValueError) as error:
        files = ca if pair is None else f"{ca}, {pair[0]} and {pair[1]}"
        raise NotSecured(f"cannot use {files}: {_why(error)}") from None
    context._set_alpn_protocols(ALPN)  # type: ignore[attr-defined]
    try:
        over = context._wrap_socket(plain, False, host)  # type: ignore[attr-defined]
        over.do_handshake()
    except TimeoutError:
        raise
    except (OSError, ValueError) as error:
        raise NotSecured(f"no TLS with this server: {_why(error)}") from None
    return SecuredConnection(plain, over)


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return getattr(error, "verify_message", None) or reason or getattr(error, "strerror", None) or str(error)
