"""The trace that a caller is in, as it says itself (W3C Trace Context, w3.org/TR/trace-context)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

TRACEPARENT, TRACESTATE = "traceparent", "tracestate"
_FORM = re.compile(r"(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1
_STATE_BYTES = 512


class Caller(NamedTuple):
    """The span of the caller, without its state."""

    trace_id: int
    span_id: int
    flags: int

    @property
    def sampled(self) -> bool:
        """Whether the caller's span is kept."""
        return bool(self.flags & _SAMPLED)


def caller(metadata: Iterable[tuple[str, str | bytes]]) -> Caller | None:
    """Return what a call's metadata say, or None where they say nothing that is valid."""
    for name, value in metadata:
        if name == TRACEPARENT:
            return _parse(value) if isinstance(value, str) else None
    return None


def state(metadata: Iterable[tuple[str, str | bytes]]) -> list[str]:
    """Return the values of `tracestate`; one that is longer than vendors must pass on is left out."""
    values = [value for name, value in metadata if name == TRACESTATE and isinstance(value, str)]
    return values if sum(map(len, values)) <= _STATE_BYTES else []


def _parse(value: str) -> Caller | None:
    found = _FORM.fullmatch(value.strip())
    if found is None or (found[1] == "00" and found[5] is not None):  # later versions may say more
        return None
    return Caller(int(found[2], 16), int(found[3], 16), int(found[4], 16))
