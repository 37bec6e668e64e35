"""The latest decisions, for people who look: digests, reasons and numbers, never what was asked."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final

from askonce_server.core.decision import Decision
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Outcome
from askonce_server.core.zones import Zone
from askonce_server.ports import Clock, RecentMemory
from askonce_server.service.call import Call

PACE_SECONDS: Final = 10 * 60
"""How far back the pace goes: less than what is kept, since a second takes the place of an old one."""
_RECORD: Final = Struct("<QI6Bff16s32s4s65p")
_SHADOW, _WOULD_HIT, _STALE, _COLLAPSED = 1, 2, 4, 8
_REFRESH_COLUMN: Final = 3
_NO_ID: Final = bytes(16)


@dataclass(frozen=True, slots=True)
class Recent:
    """One decision, as it is remembered."""

    at_ms: int
    """When it was decided, in milliseconds since 1970."""
    took_us: int
    """How long the call took, in microseconds."""
    decision_id: str
    """Empty: the call was not taken up."""
    rule_id: str
    """Empty: none matched."""
    outcome: Outcome
    kind: Matcher | None
    bypass_reason: BypassReason | None
    deny_reason: DenyReason | None
    entry_id: str
    """Of the candidate, in hex; empty: there was none."""
    scope_sha7: str
    similarity: float | None
    threshold: float | None
    zone: Zone | None
    shadow: bool
    would_hit: bool
    """Whether the rule, were it not in shadow mode, would have served the candidate."""
    stale: bool
    collapsed: bool


@dataclass(frozen=True, slots=True)
class Pace:
    """How many decisions there were in each second, beginning with `first`, in seconds since 1970."""

    first: int
    hits: Sequence[int]
    misses: Sequence[int]
    bypasses: Sequence[int]
    refreshes: Sequence[int]


class RecentDecisions:
    """Remembers the latest decisions of all workers, and how many there were in each second."""

    def __init__(self, memory: RecentMemory, clock: Clock) -> None:
        self._memory = memory
        self._clock = clock

    def decided(self, decision: Decision, call: Call) -> None:
        """Remember a decision on `call`, which ends now."""
        now_ms = self._clock.now_ms()
        refresh = decision.deny_reason is DenyReason.REFRESH
        self._memory.add(
            _packed(decision, call, now_ms),
            second=now_ms // 1000,
            column=_REFRESH_COLUMN if refresh else decision.outcome - 1,
        )

    def latest(self, most: int) -> list[Recent]:
        """Return the latest decisions, up to so many, the newest first."""
        found = [_unpacked(record) for record in self._memory.records()]
        found.reverse()
        return sorted(found, key=lambda one: -one.at_ms)[:most]

    def pace(self) -> Pace:
        """Return the pace up to the last second that is over."""
        last = self._clock.now_ms() // 1000 - 1
        first = last - PACE_SECONDS + 1
        hits, misses, bypasses, refreshes = zip(*self._memory.counts(first, last), strict=True)
        return Pace(first, hits, misses, bypasses, refreshes)


def _packed(decision: Decision, call: Call, now_ms: int) -> bytes:
    took_us = (time.perf_counter_ns() - call.began_ns) // 1000
    candidate = decision.candidate
    nearness = None if candidate is None else candidate.nearness
    would_hit = decision.shadow and candidate is not None and decision.deny_reason is None
    return _RECORD.pack(
        now_ms,
        min(took_us, 0xFFFF_FFFF),
        decision.outcome,
        decision.kind or 0,
        decision.bypass_reason or 0,
        decision.deny_reason or 0,
        0 if nearness is None else nearness.zone,
        decision.shadow * _SHADOW
        | would_hit * _WOULD_HIT
        | decision.stale * _STALE
        | decision.collapsed * _COLLAPSED,
        math.nan if nearness is None else nearness.similarity,
        math.nan if nearness is None else nearness.threshold,
        bytes.fromhex(call.decision_id) if call.decision_id else _NO_ID,
        b"" if candidate is None else candidate.entry.key.entry_id,
        b"" if candidate is None else candidate.entry.key.scope_key[:4],
        decision.rule_id.encode(),
    )


def _unpacked(record: bytes) -> Recent:
    (
        at_ms,
        took_us,
        outcome,
        kind,
        bypass,
        deny,
        zone,
        flags,
        similarity,
        threshold,
        name,
        entry,
        scope,
        rule,
    ) = _RECORD.unpack_from(record)
    found = any(entry)
    near = not math.isnan(similarity)
    return Recent(
        at_ms=at_ms,
        took_us=took_us,
        decision_id=name.hex() if any(name) else "",
        rule_id=rule.decode(errors="replace"),
        outcome=Outcome(outcome),
        kind=Matcher(kind) if kind else None,
        bypass_reason=BypassReason(bypass) if bypass else None,
        deny_reason=DenyReason(deny) if deny else None,
        entry_id=entry.hex() if found else "",
        scope_sha7=scope.hex()[:7] if found else "",
        similarity=similarity if near else None,
        threshold=threshold if near else None,
        zone=Zone(zone) if zone else None,
        shadow=bool(flags & _SHADOW),
        would_hit=bool(flags & _WOULD_HIT),
        stale=bool(flags & _STALE),
        collapsed=bool(flags & _COLLAPSED),
    )
