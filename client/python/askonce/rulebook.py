"""Which requests never wait for an embedding, as far as the sidecar says: only these may go out together."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable

from google.protobuf.message import DecodeError

from askonce.core import Steps, call_of
from askonce.descriptor import Descriptor
from askonce.enums import MatchKind
from askonce.fields import FAULTS
from askonce.v1 import admin_service_pb2 as pb

AGE = 60.0
"""For how many seconds what the sidecar said of its rules is believed: it may be configured anew."""
_MOST_KINDS = 4096
_DETERMINISTIC = frozenset({MatchKind.EXACT, MatchKind.NORMALIZED})


class Rulebook:
    """What is known of the sidecar's rules. Thread-safe.

    Which rule a kind of request has is learnt from its decisions. What is not known counts as waiting; a
    belief that is out of date costs time, never a wrong answer.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        """Start knowing nothing."""
        self._clock = clock
        self._lock = threading.Lock()
        self._asked = float("-inf")
        self._known = False
        self._all = False
        """Every rule is deterministic."""
        self._rules: dict[str, bool] = {}
        self._kinds: dict[Hashable, bool] = {}
        """Whether every rule that a kind of request was seen under is deterministic."""

    def is_due(self) -> bool:
        """Whether it is time to `ask`; the caller that is told so is the one to do it."""
        now = self._clock()
        if now - self._asked <= AGE:
            return False
        with self._lock:
            due = now - self._asked > AGE
            if due:
                self._asked = now
        return due

    def ask(self, timeout: float) -> Steps[None]:
        """Ask the sidecar what its rules are. While it does not say, nothing is known."""
        reply = yield call_of("GetServerInfo", pb.GetServerInfoRequest(), timeout, ())
        try:
            info = pb.GetServerInfoResponse.FromString(reply) if isinstance(reply, bytes) else None
        except DecodeError:
            info = None
        rules = {rule.id: _DETERMINISTIC.issuperset(rule.strategy) for rule in info.rules} if info else {}
        with self._lock:
            self._known, self._all = info is not None, all(rules.values())
            self._rules, self._kinds = {"": True, **rules}, {}  # no rule, no embedding

    def deterministic(self, descriptor: Descriptor) -> bool:
        """Whether no request of this one's kind waits for an embedding."""
        return self._known and (self._all or self._kinds.get(_kind(descriptor), False))

    def learn(self, descriptor: Descriptor, rule_id: str) -> None:
        """Remember under which rule a request was decided."""
        if not self._known or self._all:
            return
        kind = _kind(descriptor)
        with self._lock:
            if len(self._kinds) >= _MOST_KINDS:
                self._kinds = {}
            self._kinds[kind] = self._rules.get(rule_id, False) and self._kinds.get(kind, True)


def _kind(descriptor: Descriptor) -> Hashable:
    """Return everything of a descriptor that a rule can match on, save what only its body says."""
    try:
        return (
            descriptor.dialect,
            descriptor.endpoint,
            descriptor.served,
            frozenset(descriptor.scope.items()),
            frozenset(descriptor.attributes.items()),
        )
    except FAULTS:  # the Lookup will say what is wrong
        return None
