"""What a gateway asks of the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from typing import TypedDict

from askonce.descriptor import Descriptor
from askonce.enums import BodyShape, CacheMode
from askonce.results import Decision
from askonce.upstream import UpstreamResponse

Seconds = float | timedelta
"""A length of time: a number of seconds, or a `timedelta`."""

Metadata = Sequence[tuple[str, str | bytes]]
"""gRPC metadata to send along, for example `[("traceparent", …)]`. Names are lower case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """What a caller asks of the cache for one request. It can narrow what the rule allows, never widen it."""

    mode: CacheMode | None = None
    ttl: Seconds | None = None
    """How long the answer may be served. None: the rule's."""
    namespace: str = ""
    """Splits the scope further."""
    max_age: Seconds | None = None
    """The greatest age that the caller accepts."""
    min_fresh: Seconds | None = None
    """How long the answer must stay fresh from now on."""
    max_stale: Seconds | None = None
    """How far past its ttl the caller would take an answer, as far as the rule allows."""
    logging_disabled: bool = False
    """Nothing may be written for this request. It may be answered from the cache."""


class LookupOptions(TypedDict, total=False):
    """The optional parts of a `Lookup`; see there."""

    controls: Controls | None
    omit_body: bool
    accepts: Sequence[BodyShape]
    wait_for_fill: Seconds | None
    after_upstream_error: bool
    trace: bool
    request_id: str
    anchor: bool


@dataclass(frozen=True, slots=True)
class Lookup:
    """One question: may a stored answer be served for this request?"""

    descriptor: Descriptor
    _: KW_ONLY
    controls: Controls | None = None
    omit_body: bool = False
    """Leave the body out of a hit."""
    accepts: Sequence[BodyShape] = ()
    """The shapes that the caller can replay, under a rule whose key leaves the shape out."""
    wait_for_fill: Seconds | None = None
    """How long to wait, beyond the budget, for another caller that is already filling the same miss."""
    after_upstream_error: bool = False
    """The provider has just failed, so a stale answer would do."""
    trace: bool = False
    """Ask for the steps of the decision."""
    request_id: str = ""
    """The request in the gateway's words, for traces. Never key material."""
    anchor: bool = False
    """Ask for the conversation anchor."""


class StoreOptions(TypedDict, total=False):
    """The optional parts of a `Store`; see there."""

    ttl: Seconds | None
    logging_disabled: bool
    namespace: str


@dataclass(frozen=True, slots=True)
class Store:
    """One answer to file."""

    source: Decision | bytes | Descriptor = field(repr=False)
    """Under what it is filed: the decision of the Lookup or its fill token, else a descriptor."""
    response: UpstreamResponse
    _: KW_ONLY
    ttl: Seconds | None = None
    """How long the answer may be served. None: as looked up, else the rule's."""
    logging_disabled: bool = False
    """Nothing may be written."""
    namespace: str = ""
    """Splits the scope further. Used only with a descriptor."""
