"""The answer of a Lookup, and the questions that must be answered to reach it."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass, field
from typing import NamedTuple

from askonce_server.core.descriptor import Controls, Descriptor, Embedding
from askonce_server.core.entries import Body, Entry, EntryKey, Grant, Neighbor
from askonce_server.core.freshness import Freshness
from askonce_server.core.labels import Served
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Outcome
from askonce_server.core.rules import Rule, RuleMode, SemanticPolicy
from askonce_server.core.ruling import Evidence, Ruling
from askonce_server.core.vote import Vote
from askonce_server.core.zones import Zone

TOKEN_LIFE_MS = 3_600_000
"""How long a fill token is good for."""
FEEDBACK_LIFE_MS = 24 * 3_600_000
"""How long a judgement on a hit is taken."""


@dataclass(frozen=True, slots=True)
class ReadGenerations:
    """Asks for the values of generations. Answer: `tuple[bytes, ...]`, 16 bytes each, in order."""

    names: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """Asks for the entry at a key. Answer: `Entry | None`."""

    key: EntryKey


@dataclass(frozen=True, slots=True)
class ReadBody:
    """Asks for an entry's body. Answer: `Body | None`; None when it is gone or damaged."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class ReadBars:
    """Asks for which questions a near entry was found wrong. Answer: `Bars`."""

    entry: Entry


class Bars(NamedTuple):
    """Vectors of questions, as signed bytes of any length. An empty one stands for all questions."""

    vectors: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Embed:
    """Asks for a text's vector. Answer: `EmbeddedText`, or the `BypassReason` why there is none."""

    text: str
    policy: SemanticPolicy
    embedding: Embedding | None
    """The vector that the gateway sent."""


class EmbeddedText(NamedTuple):
    """A text's vector, and whose it is."""

    vector: bytes
    """float32 little endian, of unit length."""
    embedder: bytes
    """The embedder's fingerprint: 32 bytes."""
    cost_usd: float | None = None
    """None: unknown."""


@dataclass(frozen=True, slots=True)
class Recall:
    """Asks for the nearest entries of a partition.

    Answer: `tuple[Neighbor, ...]`, best first, or the `BypassReason` why they cannot be had.
    """

    partition: bytes
    vector: bytes
    unexpired_ms: int
    """Entries that had expired by then are passed over: now, less what may be served stale."""
    k: int = 10


@dataclass(frozen=True, slots=True)
class Verify:
    """Asks whether a candidate in the gray band answers what was asked. Answer: `Verdict`."""

    policy: SemanticPolicy
    text: str
    partition: bytes
    candidate: Neighbor
    neighbors: tuple[Neighbor, ...]
    now_ms: int


@dataclass(frozen=True, slots=True)
class Weigh:
    """Asks what becomes of a near answer under a vote policy. Answer: `Ruling`."""

    rule_id: str
    policy: SemanticPolicy
    embedder: bytes
    """The fingerprint of the embedder."""
    group: bytes
    vote: Vote
    counted: bool = True
    """Whether a ruling to serve counts towards the next audit: not where somebody only looks."""


class Verdict(NamedTuple):
    """What a verifier said."""

    reason: DenyReason | None = None
    """Why the candidate is not confirmed. None: it is."""


Question = ReadGenerations | Probe | ReadBody | ReadBars | Embed | Recall | Verify | Weigh
Answer = (
    tuple[bytes, ...]
    | Entry
    | Body
    | EmbeddedText
    | tuple[Neighbor, ...]
    | Verdict
    | Ruling
    | Bars
    | BypassReason
    | None
)


@dataclass(frozen=True, slots=True)
class Request:
    """A Lookup as the core sees it."""

    descriptor: Descriptor
    controls: Controls
    stream: bool
    """Whether the caller wants a stream."""
    representable: bool = True
    """False when the content has no canonical form or the message has fields that are not known here."""
    known_mode: bool = True
    """False when the caller's mode is one that this version does not know."""
    accepts: frozenset[bool] = frozenset()
    """Shapes that the caller can replay (True: a stream). Empty: the one it wants."""
    omit_body: bool = False
    anchor: bool = False
    after_upstream_error: bool = False
    """Whether the caller asks since its upstream failed."""
    wait_ms: int = 0
    """How long it will wait for somebody else's answer."""
    trace: bool = False
    """Whether it wants to be told the steps."""
    request_id: str = ""
    """The gateway's name for the request."""


@dataclass(frozen=True, slots=True)
class Nearness:
    """How near a semantic candidate is, and what the rule asks."""

    similarity: float
    """The cosine, -1 to 1."""
    zone: Zone
    threshold: float
    low_threshold: float
    verifier: str = ""
    """Who was asked. Empty: nobody."""
    verified: bool = False
    guard: str = ""
    """Which guard told the texts apart. Empty: none."""
    evidence: Evidence | None = None
    """What spoke for and against it. None: no vote was taken."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """The stored entry that a matcher proposed."""

    entry: Entry
    body: Body | None = None
    nearness: Nearness | None = None
    """Of a semantic candidate."""
    freshness: Freshness = Freshness.FRESH


@dataclass(frozen=True, slots=True)
class Skip:
    """A matcher that was not asked, and why."""

    matcher: Matcher
    reason: BypassReason


@dataclass(slots=True)  # not frozen: that costs six times as much to make, once a Lookup
class Decision:
    """Serve this entry, call the provider and then Store, or leave the cache aside and why.

    Never mutated after it was made.
    """

    outcome: Outcome
    now_ms: int
    rule_id: str = ""
    kind: Matcher | None = None
    candidate: Candidate | None = None
    bypass_reason: BypassReason | None = None
    deny_reason: DenyReason | None = None
    skipped: tuple[Skip, ...] = field(default=())
    store_answer: bool = False
    grant: Grant | None = None
    """What the fill token will say. None when nothing may be stored."""
    shadow: bool = False
    stale: bool = False
    """Whether the hit's ttl is over."""
    lease: bytes = b""
    """64 bytes: what one caller at a time may fill while others wait. Empty: everybody may."""
    lease_holder: bool = False
    """Whether this caller is that one: it is to Store, or to Abandon."""
    collapsed: bool = False
    """Whether it waited for another's answer."""
    anchor: str = ""
    embed_cost_usd: float | None = None
    """What embedding the text cost. None: unknown, or nothing was embedded."""
    priced: bool = False
    """Whether a near hit is credited with what its answer cost: its rule is verified."""
    served: Served | None = None
    """What the feedback token will say. None: it is no near hit."""


Deciding = Generator[Question, Answer, Decision]


def bypass(reason: BypassReason, rule: Rule | None, *, now_ms: int, anchor: str = "") -> Decision:
    """Return the decision to leave the cache aside."""
    return Decision(
        Outcome.BYPASS,
        now_ms,
        rule_id=rule.id if rule is not None else "",
        bypass_reason=reason,
        shadow=rule is not None and rule.mode is RuleMode.SHADOW,
        anchor=anchor,
    )
