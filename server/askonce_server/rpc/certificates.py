"""The certificates of a listener, read again when their files change."""

from __future__ import annotations

import logging
from pathlib import Path
from threading import Lock
from typing import TypeAlias

import grpc

from askonce_server.rpc.pem import PemFiles, Unusable
from askonce_server.rpc.sockets import ListenError

_FileState: TypeAlias = tuple[int, int, int, int]
_State: TypeAlias = tuple[_FileState | None, ...]
_log = logging.getLogger("askonce")


class Certificates:
    """The certificate chain and key of a listener, and the authorities of its clients.

    The files are looked at whenever a client connects: new ones are taken when they belong together, and as
    long as they do not, the old ones are served. Connections that are open stay as they are.
    """

    def __init__(self, files: PemFiles) -> None:
        self._files = files
        self._lock = Lock()
        self._seen: _State = ()
        self._problem: str | None = None

    def credentials(self) -> grpc.ServerCredentials:
        """Return what a port is served with. Raises ListenError when the files cannot be used."""
        try:
            self._seen = self._state()
            first = self._read()
        except (OSError, Unusable) as fault:
            raise ListenError(f"cannot listen with TLS: {fault}") from fault
        return grpc.dynamic_ssl_server_credentials(
            first,
            self._changed,  # type: ignore[arg-type]  # None: as before
            require_client_authentication=self._files.client_ca is not None,
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
            _log.info("TLS has a new certificate, from %s", self._files.cert)
            return read

    def _state(self) -> _State:
        """Return what changes when a file does, or goes away."""
        return tuple(_state_of(path) for path in self._files.named().values())

    def _read(self) -> grpc.ServerCertificateConfiguration:
        """Read the files and try them. Raises Unusable and OSError."""
        for fault in self._files.faults():
            raise fault
        files = self._files
        pair = (files.key.read_bytes(), files.cert.read_bytes())
        authorities = None if files.client_ca is None else files.client_ca.read_bytes()
        return grpc.ssl_server_certificate_configuration([pair], root_certificates=authorities)


def _state_of(path: Path) -> _FileState | None:
    try:
        found = path.stat()
    except OSError:
        return None  # reading it says why
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size
