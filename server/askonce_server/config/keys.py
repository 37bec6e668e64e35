"""Reading the keys that a configuration only points at."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping
from typing import Final

from askonce_server.config.encryption import EncryptionKey, EncryptionSection
from askonce_server.config.model import Config
from askonce_server.config.problems import Problem, written

KEY_BYTES: Final = 32
_MAX_FILE_BYTES: Final = 4096
_HEX: Final = re.compile(rb"[0-9A-Fa-f]+")
_MEND: Final = "make one with `openssl rand -base64 32`"


class KeyFault(Exception):
    """A key cannot be used; the message says why, and the mend, without anything of the key."""

    def __init__(self, setting: str, message: str) -> None:
        """Keep the path of the setting apart, for example `store.encryption.keys[0].key_file`."""
        super().__init__(f"{setting}: {message}")
        self.setting = setting
        self.message = message


def key_problems(config: Config, environ: Mapping[str, str], *, origin: str = "") -> list[Problem]:
    """Return what is wrong with the keys that `config` points at, as the machine is now."""
    if config.store.encryption is None:
        return []
    faults = (found for found in _read(config.store.encryption, environ) if isinstance(found, KeyFault))
    return [Problem(fault.setting, fault.message, origin) for fault in faults]


def read_keys(section: EncryptionSection, environ: Mapping[str, str]) -> list[bytes]:
    """Return the keys, 32 bytes each. Raises KeyFault."""
    keys = []
    for found in _read(section, environ):
        if isinstance(found, KeyFault):
            raise found
        keys.append(found)
    return keys


def _read(section: EncryptionSection, environ: Mapping[str, str]) -> Iterator[bytes | KeyFault]:
    """Go through the keys, and what is wrong with those that cannot be used."""
    seen: dict[bytes, int] = {}
    for at, place in enumerate(section.keys):
        name = "key_env" if place.key_file is None else "key_file"
        setting = written(("store", "encryption", "keys", at, name))
        try:
            key = _decoded(_content(place, environ), raw=place.key_file is not None)
        except ValueError as fault:
            yield KeyFault(setting, str(fault))
            continue
        first = seen.setdefault(key, at)
        if first == at:
            yield key
        else:
            yield KeyFault(setting, f"holds the same key as keys[{first}]: leave one of them out")


def _content(place: EncryptionKey, environ: Mapping[str, str]) -> bytes:
    """Return what stands in the file or variable. Raises ValueError."""
    if place.key_file is None:
        name = place.key_env or ""
        value = environ.get(name, "")
        if not value:
            raise ValueError(f"names the variable {name}, which is not set: set it to the key")
        return value.encode(errors="surrogateescape")
    try:
        with place.key_file.open("rb") as file:
            return file.read(_MAX_FILE_BYTES)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ValueError(f"{place.key_file} cannot be read ({reason}): put the key there") from None


def _decoded(content: bytes, *, raw: bool) -> bytes:
    """Return the key in `content`: base64 or hex, or if `raw` the bytes as they are. Raises ValueError."""
    text = content.strip()
    if raw and len(content) == KEY_BYTES and not (content.isascii() and content.decode().isprintable()):
        key = content
    elif _HEX.fullmatch(text) and len(text) % 2 == 0:
        key = bytes.fromhex(text.decode())
    else:
        try:
            padded = text.rstrip(b"=") + b"=" * (-len(text.rstrip(b"=")) % 4)
            key = base64.b64decode(padded.translate(bytes.maketrans(b"-_", b"+/")), validate=True)
        except binascii.Error:
            raise ValueError(f"is neither base64 nor hex of {KEY_BYTES} bytes: {_MEND}") from None
    if len(key) != KEY_BYTES:
        raise ValueError(f"holds a key of {len(key)} bytes, and AES-256 takes {KEY_BYTES}: {_MEND}")
    if len(set(key)) == 1:
        raise ValueError(f"holds one byte over and over, which is no secret: {_MEND}")
    return key
