"""The key under which the guards' tokens of a text are kept, so that short texts cannot be guessed."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b

_TOKEN_BYTES = 8
_WORD = 40
"""Characters of a string that is remembered: words come again, whole texts do not."""
_MEMO = 1 << 14


class GuardKey:
    """Hashes strings to 64 bits with keyed BLAKE2b (RFC 7693) under the store's own key, 16 to 64 bytes."""

    def __init__(self, key: bytes) -> None:
        self.follow(key)

    def follow(self, key: bytes) -> None:
        """Take another key: that of a store which was opened late."""
        self.key = key
        whole = _hash_under(key)
        self._hashes = whole, lru_cache(_MEMO)(whole)

    def __call__(self, string: str) -> int:
        """Return the token of `string`: 64 bits."""
        whole, remembered = self._hashes
        return remembered(string) if len(string) <= _WORD else whole(string)


def _hash_under(key: bytes) -> Callable[[str], int]:
    keyed = blake2b(key=key, digest_size=_TOKEN_BYTES)

    def token(string: str) -> int:
        one = keyed.copy()
        one.update(string.encode(errors="surrogatepass"))
        return int.from_bytes(one.digest())

    return token
