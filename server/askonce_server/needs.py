"""What a server needs before it runs: its secrets, and how much may go on in it at once."""

from __future__ import annotations

import os

from askonce_server.config.model import Config
from askonce_server.rpc.permits import MIN_WAITERS, Limits

TOKEN_KEY_LEAST_BYTES = 16
"""A key can be tried out on one token, as fast as machines go."""
ADMIN_TOKEN_LEAST_BYTES = 8
"""A bearer token can be tried out on the running server alone."""


class CannotStart(Exception):
    """The server must not run; the message says what is in its way, and the mend."""


def limits_of(config: Config) -> Limits:
    """Return how much may go on at once; of callers that wait for others, as many as any rule lets."""
    waiters = [rule.coalesce.max_waiters for rule in config.rules if rule.coalesce is not None]
    return Limits(
        threads=config.threads,
        waiters=max([MIN_WAITERS, *waiters]),
        max_request=config.max_request,
        max_response=config.max_response,
        max_in_flight_bytes=config.max_in_flight_bytes,
    )


def secret(setting: str, name: str | None, *, least: int) -> bytes | None:
    """Read what the configuration only names. Raises CannotStart when it has fewer than `least` bytes."""
    if name is None:
        return None
    value = os.fsencode(os.environ.get(name, ""))  # random bytes need not be text
    if not value:
        raise CannotStart(f"{setting} names the variable {name}, which is not set: set it to the secret")
    if len(value) < least:
        problem = (
            f"holds a secret of {len(value)} bytes, which can be guessed: use at least {least} random bytes"
        )
        raise CannotStart(f"{setting} names the variable {name}, which {problem}")
    return value
