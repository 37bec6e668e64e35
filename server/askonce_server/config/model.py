"""The whole configuration: every setting with its type, default and meaning."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, WithJsonSchema, field_validator

from askonce_server.config.address import Address, UnixAddress, parse_address
from askonce_server.config.embedders import Embedder
from askonce_server.config.encryption import EncryptionSection
from askonce_server.config.fields import (
    ADDRESS_SCHEMA,
    GIB,
    KIB,
    MIB,
    MS,
    NAME_SCHEMA,
    TIB,
    Between,
    Count,
    DefaultText,
    EnvName,
    FilePath,
    Kind,
    Name,
    OneAddress,
    Section,
    Size,
    Switch,
    Time,
    one_or_many,
    read_list,
)
from askonce_server.config.judge import JudgeSection
from askonce_server.config.places import default_listen, state_folder
from askonce_server.config.rule import RuleSection

DEFAULT_RULE = RuleSection(id="default")
"""What applies when no rules are given: exact and normalized answers, one tenant apart from the other."""


def guarded(address: Address, checked: ValidationInfo) -> Address:
    """Return `address`. Raises ValueError when others can reach it without `tls` or `insecure`."""
    return _private(address, checked, ("tls", "insecure"), "give tls, or say insecure: true")


def declared(address: Address, checked: ValidationInfo) -> Address:
    """Return `address`. Raises ValueError when others can reach it without `insecure`."""
    return _private(address, checked, ("insecure",), "say insecure: true if that is meant")


def over_tcp(address: Address) -> Address:
    """Return `address`. Raises ValueError when it is a Unix socket."""
    if isinstance(address, UnixAddress):
        raise ValueError(  # noqa: TRY004 - pydantic makes a problem of this one
            "must be host:port: scrapers and browsers reach no Unix socket"
        )
    return address


def _private(address: Address, checked: ValidationInfo, excuses: tuple[str, ...], mend: str) -> Address:
    # A setting that is itself mistaken is absent here, and is not held against the address.
    if address.private or any(checked.data.get(excuse, True) for excuse in excuses):
        return address
    raise ValueError(f"can be reached by other machines at {address}: {mend}")


def apart(addresses: tuple[Address, ...]) -> tuple[Address, ...]:
    """Return `addresses`, at least one. Raises ValueError when one stands there twice."""
    if not addresses:
        raise ValueError("must name at least one address")
    for at, address in enumerate(addresses):
        if address in addresses[:at]:
            raise ValueError(f"names {address} twice")
    return addresses


GuardedAddress = Annotated[OneAddress, AfterValidator(guarded)]
Addresses = Annotated[
    tuple[GuardedAddress, ...],
    Kind("address or list of addresses"),
    BeforeValidator(read_list),
    AfterValidator(apart),
    WithJsonSchema(one_or_many(ADDRESS_SCHEMA)),
]


class TlsSection(Section):
    """The certificate that TCP addresses beyond this machine are served under.

    The files are read again when they change. New ones serve the connections that come from then on, as soon
    as they belong together; until they do, the old ones serve.
    """

    cert: FilePath
    """The file with the certificate chain, in PEM."""
    key: FilePath
    """The file with the private key, in PEM."""
    client_ca: FilePath | None = None
    """The file with the authorities whose client certificates are demanded; left out, none is."""


class AdminSection(Section):
    """The listener for operators.

    It tells what the server is and what it counted, purges and deletes entries, and
    explains why a request missed.
    """

    tls: TlsSection | None = None
    """The certificate for addresses beyond this machine."""
    insecure: Switch = False
    """Whether addresses beyond this machine may be served without TLS."""
    listen: Addresses
    """Where the admin service listens, best a socket in a folder that the gateway cannot see."""
    token_env: EnvName | None = None
    """The name of the environment variable with the bearer token that callers must show, 8 bytes or more."""


class StoreSection(Section):
    """Where answers are kept."""

    path: Annotated[FilePath, DefaultText("`$XDG_STATE_HOME/askonce`, else `~/.local/state/askonce`")] = (
        Field(default_factory=lambda: Path(state_folder(os.environ)))
    )
    """The folder of the store, on a local disk."""
    max_bytes: Annotated[Size, AfterValidator(Between(MIB, 16 * TIB))] = 2 * GIB
    """How many bytes the store may use."""
    durability: Literal["commit", "periodic"] = "commit"
    """Whether a Store is acknowledged when it is on the disk, or before."""
    write_timeout: Annotated[Time, AfterValidator(Between(MS, timedelta(seconds=60)))] = timedelta(seconds=2)
    """How long a Store waits for its acknowledgement before it is refused."""
    engine: Literal["lmdb", "memory"] = "lmdb"
    """What keeps the answers: `lmdb` on disk, or `memory`, which forgets them at the end."""
    encryption: EncryptionSection | None = None
    """How answers are encrypted on disk; left out, they are not."""

    @field_validator("engine", mode="before")
    @classmethod
    def _known_engine(cls, value: object) -> object:
        if value in ("valkey", "redis"):
            raise ValueError(f"{value} is not yet supported: use lmdb")
        return value


SECOND, WEEK = timedelta(seconds=1), timedelta(days=7)


class SweepSection(Section):
    """How the store is kept clean."""

    purge_within: Annotated[Time, AfterValidator(Between(SECOND, WEEK))] = timedelta(minutes=10)
    """How long what a purge made unreachable may stay on the disk: what a purge promises, and is told of."""


class IndexSection(Section):
    """Where near requests are looked for: a cache of the store, in memory."""

    max_bytes: Annotated[Size, AfterValidator(Between(MIB, 16 * TIB))] = 256 * MIB
    """How much memory it may take; what was asked last stays, a partition that takes more is not searched."""


class DecisionLogSection(Section):
    """A line of JSON for each decision: reasons, times and digests' beginnings, never what was asked."""

    path: FilePath
    """The file that lines are added to."""
    sample: Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)] = 1.0
    """The share of decisions that is written, 0 to 1."""


class TelemetrySection(Section):
    """How the server is watched."""

    insecure: Switch = False
    """Whether metrics may be served beyond this machine, which is without TLS."""
    listen: Annotated[OneAddress, AfterValidator(declared), AfterValidator(over_tcp)] | None = None
    """Where metrics, health and the page are served over HTTP, as host:port; left out, nowhere."""
    hosts: Annotated[
        tuple[Name, ...],
        Kind("name or list of names"),
        BeforeValidator(read_list),
        WithJsonSchema(one_or_many(NAME_SCHEMA)),
    ] = ()
    """Names under which browsers reach the page, besides `localhost` and addresses."""
    page: Switch = True
    """Whether the page for operators is served there too: counts, digests and times, never content."""
    decision_log: DecisionLogSection | None = None
    """Where decisions are written; left out, nowhere."""


class StatsSection(Section):
    """How what was counted is kept: by the hour, for 30 days."""

    flush: Annotated[Time, AfterValidator(Between(timedelta(milliseconds=100), timedelta(minutes=10)))] = (
        timedelta(seconds=1)
    )
    """How often counts are kept; a server that is killed loses those since the last time."""


class DrainSection(Section):
    """How the server stops."""

    delay: Annotated[Time, AfterValidator(Between(timedelta(), timedelta(minutes=10)))] = timedelta()
    """How long calls are still taken after the signal to stop, while health says otherwise."""
    grace: Annotated[Time, AfterValidator(Between(timedelta(), timedelta(hours=1)))] = timedelta(seconds=10)
    """How long calls in flight may still take after that."""


class Config(Section):
    """The whole configuration."""

    tls: TlsSection | None = None
    """The certificate for addresses of `listen` beyond this machine."""
    insecure: Switch = False
    """Whether addresses of `listen` beyond this machine may be served without TLS."""
    listen: Annotated[
        Addresses,
        DefaultText("`127.0.0.1:50051`, and `askonce.sock` in `$XDG_RUNTIME_DIR` or the state folder"),
    ] = Field(default_factory=lambda: default_addresses(os.environ))
    """Where gateways reach the server: Unix sockets and TCP addresses."""
    admin: AdminSection | None = None
    """The listener for operators; left out, there is none."""
    max_request: Annotated[Size, AfterValidator(Between(KIB, GIB))] = 8 * MIB
    """The greatest size of one call."""
    max_response: Annotated[Size, AfterValidator(Between(KIB, GIB))] = 3 * MIB
    """The greatest size of all bodies in the answer to a batch; hits beyond it become item errors."""
    max_in_flight_bytes: Annotated[Size, AfterValidator(Between(KIB, 16 * TIB))] = 256 * MIB
    """The greatest size of all calls in work together; one above 64KiB counts five times, as it is read."""
    workers: Annotated[Count, Field(ge=1, le=64)] = 1
    """How many processes serve the store together; what bounds threads and memory holds for each of them."""
    threads: Annotated[Count, Field(ge=1, le=1024)] = 32
    """How many calls are worked on at once."""
    store: StoreSection = Field(default_factory=StoreSection)
    """Where answers are kept."""
    sweep: SweepSection = Field(default_factory=SweepSection)
    """How the store is kept clean."""
    index: IndexSection = Field(default_factory=IndexSection)
    """Where near requests are looked for."""
    fill_token_key_env: EnvName | None = None
    """The name of the variable with the key that signs fill tokens, 16 bytes or more; else the store's."""
    embedders: dict[Name, Embedder] = Field(default_factory=dict)
    """The embedders that rules may name."""
    judge: JudgeSection | None = None
    """The chat model behind `verifier: judge`; required where a rule says so."""
    rules: Annotated[tuple[RuleSection, ...], DefaultText("one rule, `default`, with the defaults below")] = (
        DEFAULT_RULE,
    )
    """The rules; the first that matches a request decides, and one that none matches is not cached."""
    telemetry: TelemetrySection = Field(default_factory=TelemetrySection)
    """How the server is watched."""
    stats: StatsSection = Field(default_factory=StatsSection)
    """How what was counted is kept."""
    drain: DrainSection = Field(default_factory=DrainSection)
    """How the server stops."""


def default_addresses(environ: Mapping[str, str]) -> tuple[Address, ...]:
    """Return where the server listens when nothing is said."""
    return tuple(parse_address(text) for text in default_listen(environ))
