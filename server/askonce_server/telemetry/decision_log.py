"""A line of JSON for each decision: reasons, the beginnings of digests and times, never what was asked."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random
from typing import Any, BinaryIO, Final

import orjson

from askonce_server.core.decision import Decision
from askonce_server.service.call import Call
from askonce_server.telemetry import facts

_WAITING: Final = 8192
"""How many lines may wait for the disk; one has about 400 bytes."""
_TELL_SECONDS: Final = 60.0
"""How often the log says that lines were lost."""
_FAREWELL_SECONDS: Final = 3.0
_log = logging.getLogger(__name__)


class DecisionLog:
    """Writes a share of the decisions to `sink`, on a thread of its own. A Watch.

    A line that finds no room is dropped and counted by `dropped`: no call waits for a disk. `trace_id`
    returns the trace that the calling thread is in, or an empty text.
    """

    def __init__(
        self,
        sink: BinaryIO,
        *,
        sample: float,
        dropped: Callable[[], None],
        trace_id: Callable[[], str],
        waiting: int = _WAITING,
    ) -> None:
        self._sink = sink
        self._sample = sample
        self._dropped = dropped
        self._trace_id = trace_id
        self._draw = Random().random  # noqa: S311 - which decisions are written is no secret
        self._lines: queue.Queue[bytes | None] = queue.Queue(waiting)
        self._told = -_TELL_SECONDS
        self._thread = threading.Thread(target=self._write_all, name="askonce-decisions", daemon=True)
        self._thread.start()

    def decided(self, decision: Decision, call: Call) -> None:
        """Write a decision on `call`, which ends now."""
        if self._sample < 1 and self._draw() >= self._sample:
            return
        try:
            self._lines.put_nowait(_line(decision, call, self._trace_id()))
        except queue.Full:
            self._lost("lines come faster than they can be written")

    def close(self) -> None:
        """Write what there is, and end; it takes a few seconds at most."""
        try:
            self._lines.put(None, timeout=_FAREWELL_SECONDS)
        except queue.Full:
            return
        self._thread.join(_FAREWELL_SECONDS)

    def _write_all(self) -> None:
        with self._sink:
            while (line := self._lines.get()) is not None:
                try:
                    self._sink.write(line)
                except OSError as error:
                    self._lost(type(error).__name__)

    def _lost(self, why: str) -> None:
        self._dropped()
        now = time.monotonic()
        if now - self._told >= _TELL_SECONDS:
            self._told = now
            _log.warning("the log of decisions loses lines: %s", why)


def _line(decision: Decision, call: Call, trace_id: str) -> bytes:
    candidate, key = decision.candidate, facts.key_of(decision)
    near = candidate.nearness if candidate is not None else None
    told: dict[str, Any] = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "decision": call.decision_id,
        "request_id": call.plan.request.request_id if call.plan is not None else "",
        "rule": decision.rule_id,
        "outcome": decision.outcome.name.lower(),
        "kind": _lower(decision.kind),
        "bypass_reason": _lower(decision.bypass_reason),
        "deny_reason": _lower(decision.deny_reason),
        "shadow": decision.shadow,
        "entry": key.entry_id.hex()[:7] if key is not None else "",
        "scope": key.scope_key.hex()[:7] if key is not None else "",
        "similarity": near.similarity if near is not None else None,
        "zone": _lower(near.zone) if near is not None else None,
        "took_us": (time.perf_counter_ns() - call.began_ns) // 1000,
        "trace_id": trace_id,
    }
    said = {name: value for name, value in told.items() if value not in (None, "", False)}
    return orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE)


def _lower(member: Any) -> str | None:
    return None if member is None else str(member.name.lower())
