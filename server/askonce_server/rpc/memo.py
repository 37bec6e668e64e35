"""Plans of requests that came before, by the request's very bytes: the same bytes need judging once."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

from askonce_server.core.descriptor import Content, Descriptor
from askonce_server.core.plan import Plan
from askonce_server.core.rules import Rule

_PLAN_BYTES = 4096
"""A plan without what its request says (about 3,000 measured), and its place in the map."""

_PAIR_BYTES = 256
"""A name and a value in a map: two strings without their characters, and their place."""

_TEXT_COPIES = 6
"""What a byte outside the content becomes at most: one of the key and of the scope, and a character of four
bytes."""


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
            self._bytes += _cost(raw, plan)
            while self._bytes > self._max_bytes:
                oldest = next(iter(plans))
                self._bytes -= _cost(oldest, plans.pop(oldest))


def _cost(raw: bytes, plan: Plan) -> int:
    """Return what `raw` and its plan hold at most. The same whenever it is asked."""
    descriptor = plan.request.descriptor
    maps = (descriptor.scope, descriptor.versions, descriptor.headers, descriptor.attributes)
    content = _content_bytes(descriptor)
    return (
        _PLAN_BYTES
        + 2 * content  # in the key, and for itself
        + _TEXT_COPIES * (len(raw) - content)
        + _PAIR_BYTES * sum(map(len, maps))
    )


def _content_bytes(descriptor: Descriptor) -> int:
    content = descriptor.content
    if isinstance(content, bytes):
        return len(content)
    if isinstance(content, Content):
        return len(content.messages) + len(content.system) + len(content.tools) + len(content.params)
    return 0
