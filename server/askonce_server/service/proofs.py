"""Whether the labels of a rule bear that its near hits are credited with money."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from askonce_server.core.bound import upper_bound
from askonce_server.core.labels import Label
from askonce_server.core.proposed import Method
from askonce_server.core.rules import Rule, SemanticPolicy
from askonce_server.ports import EmbedderFailed, LabelLog, StoreUnavailable
from askonce_server.service.ledgers import Ledgers

_LOOK_SECONDS: Final = 1.0
_PAGE: Final = 1000


class Proofs:
    """Counts labels as they come. Safe to call from any thread.

    `epoch` returns the name of what labels are made under now. Praise for what was served does not count:
    nobody has to give it.
    """

    def __init__(self, log: LabelLog, ledgers: Ledgers, *, epoch: Callable[[SemanticPolicy], bytes]) -> None:
        self._log = log
        self._ledgers = ledgers
        self._epoch = epoch
        self._lock = threading.Lock()
        self._next_look = 0.0
        self._after, self._rewritten = 0, -1
        self._labels: dict[str, list[Label]] = {}

    def hold(self, rule: Rule) -> bool:
        """Whether the bound of the rule holds now. While that cannot be told none does."""
        policy = rule.semantic
        if policy is None or policy.verified is None:
            return False
        wanted = policy.verified
        try:
            labels, wrong = self._counted(rule.id, policy)
        except (StoreUnavailable, EmbedderFailed):
            return False
        bound = upper_bound(wrong, labels, wanted.confidence)
        return labels >= wanted.min_labels and bound <= wanted.max_wrong

    def _counted(self, rule_id: str, policy: SemanticPolicy) -> tuple[int, int]:
        if policy.vote is not None:
            return self._ledgers.counted(rule_id, policy)
        with self._lock:
            if time.monotonic() >= self._next_look:
                self._look()
                self._next_look = time.monotonic() + _LOOK_SECONDS
            epoch, least = self._epoch(policy), policy.threshold
            found = [
                label.right
                for label in self._labels.get(rule_id, ())
                if label.similarity >= least and label.epoch in (epoch, b"")
            ]
        return len(found), found.count(False)

    def _look(self) -> None:
        """Take in what was labelled since. Raises StoreUnavailable."""
        while True:
            page = self._log.labels(self._after, limit=_PAGE)
            if page.rewritten != self._rewritten and self._after:
                self._after, self._labels = 0, {}
                self._rewritten = page.rewritten
                continue
            self._rewritten = page.rewritten
            for label in page.labels:
                if not label.guard and not (label.method is Method.FEEDBACK and label.right):
                    self._labels.setdefault(label.rule_id, []).append(label)
            self._after = page.last
            if len(page.labels) < _PAGE:
                return
