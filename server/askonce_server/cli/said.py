"""What the options say, before any of it becomes a message."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from askonce_server.cli.failure import misused
from askonce_server.config.quantities import parse_time

STANDARD_STREAM = "-"


@dataclass(frozen=True, slots=True)
class Said:
    """What the options say of a request; it counts more than what the file says."""

    dialect: str | None
    endpoint: str | None
    provider: str | None
    model: str | None
    scope: Mapping[str, str]
    stream: bool | None
    versions: Mapping[str, str]
    headers: Mapping[str, str]
    attributes: Mapping[str, str]
    personalized: bool


@dataclass(frozen=True, slots=True)
class Wishes:
    """What a lookup asks of the cache."""

    mode: str
    """As in the contract, without the prefix."""
    namespace: str
    times: Mapping[str, timedelta]
    """By the names of the contract's controls."""
    omit_body: bool
    trace: bool
    anchor: bool
    body_out: str | None
    """The file for a hit's body."""
    fill_token_out: str | None
    """The file for the fill token."""


@dataclass(frozen=True, slots=True)
class Source:
    """Under what an answer is filed: a request in `file`, or a fill token."""

    file: str | None
    fill_token_file: str | None
    said: Said
    namespace: str


@dataclass(frozen=True, slots=True)
class Answered:
    """What the provider answered."""

    body: str
    """The file with the body."""
    ttl: timedelta | None
    status: int
    content_type: str
    finish_reasons: tuple[str, ...]
    stream_complete: bool
    input_tokens: int | None
    output_tokens: int | None
    cost_usd: float | None
    tool_calls: bool
    refused: bool
    source_request_id: str


@dataclass(frozen=True, slots=True)
class Tls:
    """The PEM files of a connection under TLS, and the name that the server's certificate must have."""

    ca: str
    cert: str | None
    key: str | None
    server_name: str
    """Empty: the one in the target."""


@dataclass(frozen=True, slots=True)
class Talk:
    """Which server is asked, how long, and how its answer is shown."""

    target: str | None
    timeout: timedelta
    as_json: bool
    tls: Tls | None
    """None: in plain text."""


def tls_of(*, ca: str | None, cert: str | None, key: str | None, server_name: str) -> Tls | None:
    """Return what the options say of TLS, None when they say nothing. Raises Failed."""
    if ca is None and (cert or key or server_name):
        raise misused("--tls-cert, --tls-key and --tls-server-name go with --tls-ca")
    if (cert is None) != (key is None):
        raise misused("--tls-cert and --tls-key go together")
    return None if ca is None else Tls(ca, cert, key, server_name)


def pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """Return `name=value` options as a mapping. Raises Failed."""
    found: dict[str, str] = {}
    for item in given or ():
        name, separator, value = item.partition("=")
        if not separator or not name:
            raise misused(f"{option} takes name=value, not {item!r}")
        if name in found:
            raise misused(f"{option} names {name!r} twice")
        found[name] = value
    return found


def time(option: str, text: str) -> timedelta:
    """Return the time that `option` gives. Raises Failed."""
    try:
        return parse_time(text)
    except ValueError as error:
        raise misused(f"{option} {error}") from None


def times(**given: str | None) -> dict[str, timedelta]:
    """Return the times that were given, by name. Raises Failed."""
    return {
        name: time(f"--{name.replace('_', '-')}", text) for name, text in given.items() if text is not None
    }
