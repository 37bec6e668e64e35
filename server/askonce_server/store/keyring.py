"""The keys of an encrypted store: the first encrypts, all of them read.

What is encrypted is bound to the row where it lies: moved elsewhere, it cannot be read.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Sequence
from importlib import import_module
from typing import Final, NamedTuple, Protocol

from askonce_server.ports import StoreUnavailable

KEY_BYTES: Final = 32
KEY_ID_BYTES: Final = 8
SEALED_BYTES: Final = 24 + 16
"""How much longer encrypting makes something: by nonce and tag."""
_log = logging.getLogger(__name__)


class KeyMissing(Exception):
    """Something is encrypted under a key that is not here."""

    def __init__(self, key_id: bytes) -> None:
        """Keep which."""
        super().__init__(f"encrypted under key {key_id.hex()}, which is not among store.encryption.keys")
        self.key_id = key_id


class Sealed(NamedTuple):
    """Something encrypted, and under which key."""

    key_id: bytes
    data: bytes | memoryview


class _Cipher(Protocol):
    def seal(self, plain: bytes, bound: bytes) -> bytes: ...

    def open(self, sealed: bytes | memoryview, bound: bytes) -> bytes | None: ...


class Keyring:
    """Keys of 32 bytes each, none of them at first. Shared by threads."""

    def __init__(self, keys: Sequence[bytes] = (), *, encrypts: bool = True) -> None:
        """Keep `keys`; without `encrypts` they only read. Raises StoreUnavailable without the cipher."""
        self._ciphers = {key_id(key): _cipher(key) for key in keys}
        self.first: bytes | None = next(iter(self._ciphers), None) if encrypts else None
        """The id of the key that encrypts, or None: what is written is plain."""
        self._told: set[bytes] = set()

    def __contains__(self, name: bytes) -> bool:
        return name in self._ciphers

    def __len__(self) -> int:
        return len(self._ciphers)

    def seal(self, plain: bytes, bound: bytes) -> bytes:
        """Return `plain` under the first key, bound to `bound`."""
        assert self.first is not None
        return self._ciphers[self.first].seal(plain, bound)

    def open(self, sealed: Sealed, bound: bytes) -> bytes | None:
        """Return what was sealed, None when it was changed or moved. Raises KeyMissing."""
        name, data = sealed
        cipher = self._ciphers.get(name)
        if cipher is None:
            raise KeyMissing(name)
        return cipher.open(data, bound)

    def tell(self, missing: KeyMissing) -> None:
        """Log that something could not be read, once for each key."""
        if missing.key_id not in self._told:
            self._told.add(missing.key_id)
            _log.error("a row is %s, and reads as absent: add that key behind the first", missing)


def key_id(key: bytes) -> bytes:
    """Return what names a key in rows and messages. It tells nothing of a key that is random."""
    return hashlib.sha256(b"askonce/1/store-key\0" + key).digest()[:KEY_ID_BYTES]


def _cipher(key: bytes) -> _Cipher:
    try:
        module = import_module("askonce_server.store.xaes")
    except ImportError as error:
        raise StoreUnavailable(
            f"store.encryption needs cryptography, which cannot be imported ({error}): "
            "pip install 'askonce-server[encryption]'"
        ) from error
    cipher: _Cipher = module.XaesGcm(key)
    return cipher


PLAIN: Final = Keyring()
"""No key: what is written is plain, and what is encrypted cannot be read."""
