"""Plans of requests that came before, by the request's very bytes: the same bytes need judging once."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from askonce_server.core.plan import Plan
from askonce_server.core.rules import Rule

_ENTRY_OVERHEAD = 2048


class PlanMemo:
    """A bounded map from request bytes to plans, good for one set of rules. Oldest plans go first.

    A plan is a pure function of the request and the rules, so a memory of it can never serve anything that
    a fresh look would not. It holds the request's content, in memory only.
    """

    def __init__(self, *, max_bytes: int = 32 << 20, max_request: int = 16 << 10) -> None:
        self._max_bytes = max_bytes
        self._max_request = max_request
        self._lock = Lock()
        self._bytes = 0
        # One field, read at once: a plan must never be found under rules that it was not made for.
        self._held: tuple[Sequence[Rule], dict[bytes, Plan]] = ((), {})

    def get(self, raw: bytes, rules: Sequence[Rule]) -> Plan | None:
        """Return the plan for `raw` under `rules`, or None."""
        held_rules, plans = self._held
        return plans.get(raw) if rules is held_rules else None

    def put(self, raw: bytes, rules: Sequence[Rule], plan: Plan) -> None:
        """Remember a plan, unless the request is too large to be worth it."""
        if len(raw) > self._max_request:
            return
        with self._lock:
            if rules is not self._held[0]:
                self._held, self._bytes = (rules, {}), 0
            plans = self._held[1]
            if raw in plans:
                return
            plans[raw] = plan
            self._bytes += _cost(raw)
            while self._bytes > self._max_bytes:
                oldest = next(iter(plans))
                del plans[oldest]
                self._bytes -= _cost(oldest)


def _cost(raw: bytes) -> int:
    return 2 * len(raw) + _ENTRY_OVERHEAD
