"""The certificates of a listener, read again when their files change."""

from __future__ import annotations

import logging
import ssl
from pathlib import Path
from threading import Lock
from typing import TypeAlias

import grpc

from askonce_server.rpc.sockets import ListenError

_State: TypeAlias = tuple[tuple[int, int, int, int], ...]
_log = logging.getLogger("askonce")


class Unusable(Exception):
    """The files cannot be used; the message names one, and what is wrong."""


class Certificates:
    """The certificate chain and key at `cert` and `key`, and the authorities of clients at `client_ca`.

    All are PEM files. They are looked at whenever a client connects: new ones are taken when they belong
    together, and as long as they do not, the old ones are served. Connections that are open stay as they are.
    """

    def __init__(self, cert: Path, key: Path, client_ca: Path | None) -> None:
        self._cert = cert
        self._key = key
        self._client_ca = client_ca
        self._lock = Lock()
        self._seen: _State = ()
        self._problem: str | None = None

    def credentials(self) -> grpc.ServerCredentials:
        """Return what a port is served with. Raises ListenError when the files cannot be used."""
        try:
            self._seen = self._state()
            first = self._read()
        except Unusable as unusable:
            raise ListenError(f"cannot listen with TLS: {unusable}") from unusable
        return grpc.dynamic_ssl_server_credentials(
            first,
            self._changed,  # type: ignore[arg-type]  # None: as before
            require_client_authentication=self._client_ca is not None,
        )

    def _changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Return the new certificates when there are any that can be used. Called at every handshake."""
        with self._lock:
            try:
                state = self._state()
                if state == self._seen:
                    return None
                read = self._read()
                if self._state() != state:
                    return None  # they are being written: the next handshake sees to it
            except Exception as error:
                if str(error) != self._problem:
                    self._problem = str(error)
                    _log.error("TLS goes on with the old certificate: %s", error)
                return None
            self._seen, self._problem = state, None
            _log.info("TLS has a new certificate, from %s", self._cert)
            return read

    def _state(self) -> _State:
        """Return what changes when a file does. Raises Unusable."""
        state = []
        for path in (self._cert, self._key, self._client_ca):
            if path is None:
                continue
            try:
                found = path.stat()
            except OSError as error:
                raise Unusable(f"{error.strerror} ({path})") from error
            state.append((found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size))
        return tuple(state)

    def _read(self) -> grpc.ServerCertificateConfiguration:
        """Read the files and try them, since the transport would take any. Raises Unusable."""
        try:
            pair = (self._key.read_bytes(), self._cert.read_bytes())
            authorities = None if self._client_ca is None else self._client_ca.read_bytes()
        except OSError as error:
            raise Unusable(f"{error.strerror} ({error.filename})") from error
        trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        try:
            # Nobody is asked for the password of a key that has one: it cannot be used.
            trial.load_cert_chain(self._cert, self._key, password=bytes)
        except (OSError, ValueError) as error:
            text = f"the certificate in {self._cert} and the key in {self._key} cannot be used together"
            raise Unusable(f"{text} ({_why(error)})") from error
        if self._client_ca is not None:
            try:
                trial.load_verify_locations(self._client_ca)
            except (OSError, ValueError) as error:
                text = f"no authorities can be read from {self._client_ca}"
                raise Unusable(f"{text} ({_why(error)})") from error
        return grpc.ssl_server_certificate_configuration([pair], root_certificates=authorities)


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return str(reason).lower().replace("_", " ") if reason else "not PEM, or encrypted"
