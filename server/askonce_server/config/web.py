"""Addresses of services on the web."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class WebAddress:
    """A check that a text is an http(s) URL without credentials, such as `example`."""

    example: str

    def __call__(self, value: str) -> str:
        """Return `value`. Raises ValueError."""
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise ValueError(f"must be a URL such as {self.example}")
        if parts.username is not None or parts.password is not None:
            raise ValueError("must not hold credentials: name their environment variable in api_key_env")
        return value
