"""What is said beside each call, the API key above all."""

from __future__ import annotations

from collections.abc import Mapping

from askonce_server.calls.errors import KeyUnusable


def api_key(variable: str | None, environ: Mapping[str, str]) -> str | None:
    """Return the key that a variable of the environment holds, None without one. Raises KeyUnusable."""
    if variable is None:
        return None
    if variable not in environ:
        raise KeyUnusable(f"the environment variable {variable} (api_key_env) is not set")
    return environ[variable]


def json_headers(key: str | None) -> dict[str, str]:
    """Return the headers of a call that sends and wants JSON. Raises KeyUnusable."""
    headers = {"Content-Type": "application/json", "Accept": "application/json"}
    if key is None:
        return headers
    key = key.strip()
    if not key or not key.isascii() or not key.isprintable():
        raise KeyUnusable("the API key is blank or holds characters that no header may hold")
    return {**headers, "Authorization": f"Bearer {key}"}
