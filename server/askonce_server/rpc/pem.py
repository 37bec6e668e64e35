"""PEM files of certificates, keys and authorities: tried out, since the transport would take any."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


class Unusable(Exception):
    """The files cannot be used; the message names one, what is wrong, and the mend."""

    def __init__(self, setting: str, message: str) -> None:
        """Keep the setting apart: `cert`, `key` or `client_ca`."""
        super().__init__(message)
        self.setting = setting


@dataclass(frozen=True, slots=True)
class PemFiles:
    """The files that a listener is told to use."""

    cert: Path
    key: Path
    client_ca: Path | None = None

    def named(self) -> dict[str, Path]:
        """Return the files by their settings."""
        named = {"cert": self.cert, "key": self.key}
        return named if self.client_ca is None else {**named, "client_ca": self.client_ca}

    def faults(self) -> Iterator[Unusable]:
        """Go through what is wrong with the files, as they are now."""
        unread = [fault for fault in map(_unread, *zip(*self.named().items(), strict=True)) if fault]
        yield from unread
        settings = {fault.setting for fault in unread}
        trial = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        if settings.isdisjoint(("cert", "key")):
            try:
                # Nobody is asked for the password of a key that has one: it cannot be used.
                trial.load_cert_chain(self.cert, self.key, password=bytes)
            except (OSError, ValueError) as error:
                text = f"the certificate in {self.cert} and the key in {self.key} cannot be used together"
                mend = "give a certificate with its own key, both in PEM, the key without a password"
                yield Unusable("key", f"{text} ({_why(error)}): {mend}")
        if self.client_ca is not None and "client_ca" not in settings:
            try:
                trial.load_verify_locations(self.client_ca)
            except (OSError, ValueError) as error:
                text = f"no authorities can be read from {self.client_ca} ({_why(error)})"
                yield Unusable("client_ca", f"{text}: put their certificates there, in PEM")


def _unread(setting: str, path: Path) -> Unusable | None:
    try:
        with path.open("rb") as file:
            file.read(1)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        return Unusable(setting, f"{path} cannot be read ({reason}): put it there, readable to the server")
    return None


def _why(error: Exception) -> str:
    reason = getattr(error, "reason", None)
    return str(reason).lower().replace("_", " ") if reason else "not PEM, or encrypted"
