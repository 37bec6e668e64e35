"""The key under which the guards' tokens of a text are kept, so that short texts cannot be guessed."""

from __future__ import annotations

from hashlib import blake2b

_TOKEN_BYTES = 8


class GuardKey:
    """Hashes strings to 64 bits with keyed BLAKE2b (RFC 7693) under the store's own key, 16 to 64 bytes."""

    def __init__(self, key: bytes) -> None:
        self._keyed = blake2b(key=key, digest_size=_TOKEN_BYTES)

    def follow(self, key: bytes) -> None:
        """Take another key: that of a store which was opened late."""
        self._keyed = blake2b(key=key, digest_size=_TOKEN_BYTES)

    def __call__(self, string: str) -> int:
        """Return the token of `string`: 64 bits."""
        keyed = self._keyed.copy()
        keyed.update(string.encode(errors="surrogatepass"))
        return int.from_bytes(keyed.digest())
