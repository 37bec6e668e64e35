"""XAES-256-GCM: AES-256-GCM for any number of messages under one key (https://c2sp.org/XAES-256-GCM).

Under one key AES-GCM takes 2^32 messages with random nonces (NIST SP 800-38D, section 8.3), which a store may
write in weeks, and a nonce that is ever used twice gives the key of its authentication away. Here the first
half of a 24-byte nonce makes a key of its own for each message (NIST SP 800-108r1, counter mode with CMAC),
and the second half is that message's nonce: 2^80 random ones collide with a probability of 2^-32. Nothing has
to be counted, so that a folder which is copied, restored or written by several processes stays safe.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import ECB

_NONCE_BYTES: Final = 24
_HALF: Final = _NONCE_BYTES // 2
_BLOCK_BITS: Final = 128
_CMAC_POLYNOMIAL: Final = 0x87
_BLOCKS: Final = (b"\x00\x01X\x00", b"\x00\x02X\x00")
"""What the two blocks begin with that make a message's key: counter, label, separator."""


class XaesGcm:
    """Encrypts and authenticates under one key of 32 bytes. Shared by threads."""

    def __init__(self, key: bytes) -> None:
        # ECB is the bare block cipher that CMAC is made of; making a context costs ten times what it does.
        self._block = Cipher(AES(key), ECB()).encryptor()  # noqa: S305
        self._lock = Lock()
        doubled = int.from_bytes(self._block.update(bytes(16)), "big") << 1
        overflow = doubled >> _BLOCK_BITS
        self._subkey = doubled ^ (overflow << _BLOCK_BITS) ^ (overflow * _CMAC_POLYNOMIAL)

    def seal(self, plain: bytes, bound: bytes) -> bytes:
        """Return `plain` encrypted and bound to `bound`: `SEALED_BYTES` longer."""
        nonce = os.urandom(_NONCE_BYTES)
        return nonce + self.encrypt(nonce, plain, bound)

    def open(self, sealed: bytes | memoryview, bound: bytes) -> bytes | None:
        """Return what was sealed, or None when it, or what it is bound to, is another."""
        nonce = bytes(sealed[:_NONCE_BYTES])
        if len(nonce) < _NONCE_BYTES:
            return None
        try:
            return AESGCM(self._derived(nonce)).decrypt(nonce[_HALF:], sealed[_NONCE_BYTES:], bound)
        except InvalidTag:
            return None

    def encrypt(self, nonce: bytes, plain: bytes, bound: bytes) -> bytes:
        """Return ciphertext and tag under a nonce of 24 bytes, which must never be used twice."""
        return AESGCM(self._derived(nonce)).encrypt(nonce[_HALF:], plain, bound)

    def _derived(self, nonce: bytes) -> bytes:
        blocks = b"".join(
            (int.from_bytes(begin + nonce[:_HALF], "big") ^ self._subkey).to_bytes(16, "big")
            for begin in _BLOCKS
        )
        with self._lock:
            return self._block.update(blocks)
