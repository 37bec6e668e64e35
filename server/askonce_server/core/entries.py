"""What the store keeps and finds, as plain values. All times are milliseconds since 1970 (`Clock.now_ms`).

What is made for every hit is a named tuple: it costs a quarter of a frozen dataclass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from askonce_server.core.descriptor import Target
from askonce_server.core.proposed import Proposed
from askonce_server.core.reasons import Matcher

ZERO_GENERATION = bytes(16)
"""A generation that was never raised."""


class EntryKey(NamedTuple):
    """Where one matcher's entry lives: under its scope key, never outside."""

    matcher: Matcher
    scope_key: bytes
    """32 bytes."""
    fingerprint: bytes
    """32 bytes; compared with the stored one on read."""
    entry_id: bytes
    """32 bytes: H("entry", scope_key, fingerprint); of a semantic entry from partition and fingerprint."""
    partition: bytes = b""
    """32 bytes: the search space of a semantic entry, whose fingerprint is H("text", text). Else empty."""

    @property
    def prefix(self) -> bytes:
        """What the entry's row begins with: 32 bytes."""
        return self.partition or self.scope_key


class Usage(NamedTuple):
    """Tokens as the provider counted them."""

    input_tokens: int
    output_tokens: int


class Answer(NamedTuple):
    """What is known of a stored answer besides its bytes."""

    rule_id: str
    start_ms: int
    """When the request to the provider began; age counts from it."""
    store_ms: int
    expire_ms: int
    stream: bool
    """Whether the body is a recorded stream."""
    contains_tool_calls: bool = False
    usage: Usage | None = None
    cost_usd: float | None = None
    """None: unknown, which is not zero."""
    source_request_id: str = ""


class Body(NamedTuple):
    """An answer's bytes as the gateway gave them."""

    data: bytes
    content_type: str


class SemanticRow(NamedTuple):
    """What is kept of a semantic entry's text."""

    vector: bytes
    """float32 little endian, of unit length."""
    features: bytes
    """What the guards compare, tokens under the store's key."""
    text: str = ""
    """Only where the rule says `store_text: true`."""
    group: bytes = b""
    """Entries of a partition with one group have the same answer. Empty: unknown."""


class Entry(NamedTuple):
    """One stored row of one matcher, as found."""

    key: EntryKey
    answer: Answer
    scope_root: bytes
    store_id: int
    """`scope_root` and `store_id` together name the body's row."""
    body_bytes: int


class Neighbor(NamedTuple):
    """A semantic entry near to what was asked."""

    entry: Entry
    row: SemanticRow
    similarity: float
    """The cosine, exact, between -1 and 1."""


@dataclass(frozen=True, slots=True)
class Generations:
    """The generations in a scope key, in its order: names of 32 bytes, values of 16 bytes."""

    names: tuple[bytes, ...]
    values: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Write:
    """One Store: an answer, its body, and the keys of every matcher that will find it."""

    scope_root: bytes
    """32 bytes; prefixes the body's row, so that equal answers of two tenants stay two rows."""
    generations: Generations
    """As they were when the keys were derived; a write is refused when one of them has been raised since."""
    keys: tuple[EntryKey, ...]
    answer: Answer
    body: Body
    semantic: SemanticRow | None = None
    """There when a key is a semantic one."""
    stale_ms: int = 0
    """How long after its ttl the answer is kept, since it may be served stale."""
    by_descriptor: bool = False
    """No fill token: the generations were read only now, and do not tell when the request began."""
    outline: bytes = b""
    """What is kept of the request to explain later misses by; see `core.outline`."""
    began_ms: int | None = None
    """When the request began at the earliest; None: `answer.start_ms`. What was purged after that and, by
    descriptor, whatever was raised after it, refuses the write."""

    @property
    def remove_ms(self) -> int:
        """When the entries may be removed."""
        return self.answer.expire_ms + self.stale_ms

    @property
    def earliest_ms(self) -> int:
        """When the request began at the earliest."""
        return self.answer.start_ms if self.began_ms is None else self.began_ms


@dataclass(frozen=True, slots=True)
class Grant:
    """What a fill token says: the leave to file one answer under what was looked up."""

    rule_id: str
    dialect: str
    endpoint: str
    stream: bool
    served: Target
    """As looked up; an answer of another upstream is refused."""
    scope_root: bytes
    generations: Generations
    keys: tuple[EntryKey, ...]
    policies: tuple[bytes, ...]
    """The key policy under which each of `keys` was derived, in their order: 32 bytes each."""
    scope_dims: tuple[str, ...]
    """The rule's dims as looked up, in its order."""
    ttl_ms: int | None
    """As the Lookup asked; None: the rule's."""
    start_ms: int
    """When the Lookup began."""
    expire_ms: int
    """When the token ends."""
    semantic: SemanticRow | None = None
    """There when a key is a semantic one, so that nothing is embedded twice."""
    lease: bytes = b""
    """What one caller at a time may fill: 64 bytes; empty where no deterministic matcher has a key."""
    outline: bytes = b""
    """What will be kept of the request to explain later misses by."""
    holder: bytes = b""
    """Names the holder of the lease. Empty: the caller has none."""
    proposed: Proposed | None = None
    """The near answer that the fresh one will be compared with."""


def lease_of(keys: tuple[EntryKey, ...]) -> bytes:
    """Return the lease over `keys`: the entry of the last deterministic matcher, 64 bytes, or nothing."""
    leases = leases_over(keys)
    return leases[-1] if leases else b""


def leases_over(keys: tuple[EntryKey, ...]) -> list[bytes]:
    """Return every lease under which somebody may wait for an entry of `keys`: rules differ in their last."""
    return [key.scope_key + key.entry_id for key in keys if key.matcher is not Matcher.SEMANTIC]
