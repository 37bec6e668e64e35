"""The ledgers of vote policies in this process, each made of the labels that the store has.

A ledger is its labels, taken in in their order; there is no state besides. Every worker reads the same log:
what one learns is in force in all within a moment, and after a restart. Until the log was read nothing is
served. Not shared is where an answer stands between two audits: each of `workers` audits so
many times as often, and together they serve no more between two audits than one would.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from askonce_server.core.decision import Weigh
from askonce_server.core.labels import Label
from askonce_server.core.ledger import Ledger
from askonce_server.core.rules import SemanticPolicy
from askonce_server.core.ruling import Evidence, Outcome, Ruling, Ticket
from askonce_server.core.vote import DEFAULT_SHAPE
from askonce_server.core.voting import VotePolicy, epoch
from askonce_server.ports import LabelLog

_PAGE: Final = 1000


class _Place(NamedTuple):
    """What a ledger is kept for: another policy is another ledger."""

    rule_id: str
    policy: VotePolicy
    epoch: bytes


def explored(question: Weigh, named: bytes = b"") -> Ruling:
    """Return the ruling while nothing is known: serve nothing, label everything."""
    cast = question.vote
    evidence = Evidence(cast.score, cast.supporters, cast.neighbors, None, 0, 0, 1.0)
    ticket = Ticket(named, question.group, cast.score, cast.band, Outcome.EXPLORE)
    return Ruling(Outcome.EXPLORE, evidence, ticket)


def epoch_of(policy: SemanticPolicy, *, embedder: bytes, comparator: bytes) -> bytes:
    """Return the name of all that gives labels under `policy` their meaning."""
    shape = DEFAULT_SHAPE if policy.vote is None else policy.vote.shape
    return epoch(shape, embedder=embedder, guards=repr(policy.guards).encode(), comparator=comparator)


class Ledgers:
    """Rules on near answers. Safe to call from any thread.

    `comparator` returns the fingerprint of what compares answers under a policy; `key` the store's own.
    """

    def __init__(
        self,
        log: LabelLog,
        *,
        comparator: Callable[[SemanticPolicy], bytes],
        key: Callable[[], bytes],
        workers: int = 1,
    ) -> None:
        self._log = log
        self._comparator = comparator
        self._key = key
        self._workers = workers
        self._lock = threading.Lock()
        self._following = threading.Lock()
        self._ledgers: dict[_Place, Ledger] = {}
        self._places: dict[tuple[str, bytes], tuple[SemanticPolicy, _Place]] = {}
        """Where the ledger of a rule and an embedder is, under the policy that it had last."""
        self._new = False
        """Whether a ledger was made that has not read the log."""
        self._after = 0
        self._rewritten = -1

    def weigh(self, question: Weigh) -> Ruling:
        """Return what becomes of a near answer. Until everything labelled is known it is explored."""
        place = self._place(question)
        with self._lock:
            ledger = self._ledgers.get(place)
            if ledger is None:
                self._new = True
                self._ledgers[place] = self._made(place)
            elif not self._new:
                return ledger.decide(question.group, question.vote, counted=question.counted)
        return explored(question, place.epoch)

    def _place(self, question: Weigh) -> _Place:
        policy = question.policy
        known = self._places.get((question.rule_id, question.embedder))
        if known is not None and known[0] is policy:  # making the name takes longer than the ruling
            return known[1]
        assert policy.vote is not None
        named = epoch_of(policy, embedder=question.embedder, comparator=self._comparator(policy))
        place = _Place(question.rule_id, policy.vote, named)
        self._places[question.rule_id, question.embedder] = policy, place
        return place

    def _made(self, place: _Place) -> Ledger:
        every = max(2, place.policy.audit_every // self._workers) if self._workers > 1 else None
        policy = place.policy if every is None else replace(place.policy, audit_every=every)
        return Ledger(policy, epoch=place.epoch, key=self._key())

    def counted(self, rule_id: str, policy: SemanticPolicy) -> tuple[int, int]:
        """Return the labels at or above a rule's cut, and the wrong ones; none while nothing is served."""
        with self._lock:
            for place, ledger in self._ledgers.items():
                if place.rule_id == rule_id and place.policy == policy.vote and ledger.cut is not None:
                    return ledger.counted
        return 0, 0

    def forget(self) -> None:
        """Begin anew: another store is about to be read."""
        with self._lock:
            self._ledgers.clear()
            self._new, self._after, self._rewritten = False, 0, -1

    def follow(self) -> None:
        """Take in what was labelled since, by whomever. Raises StoreUnavailable."""
        with self._following:
            while self._take_in_page():
                pass

    def _take_in_page(self) -> bool:
        """Take in one page of the log; return whether there may be more."""
        with self._lock:
            if not self._ledgers:
                return False
            anew, after = self._new, self._after
        page = self._log.labels(after, limit=_PAGE)
        if anew or page.rewritten != self._rewritten:
            self._replay()
            return False
        with self._lock:
            _take_in(self._ledgers, page.labels)
            self._after = page.last
        return len(page.labels) == _PAGE

    def _replay(self) -> None:
        """Read the whole log into ledgers made anew, which then take the place of the others."""
        with self._lock:
            ledgers = {place: self._made(place) for place in self._ledgers}
        page = self._log.labels(0, limit=_PAGE)
        rewritten = page.rewritten
        _take_in(ledgers, page.labels)
        while len(page.labels) == _PAGE and page.rewritten == rewritten:
            page = self._log.labels(page.last, limit=_PAGE)
            _take_in(ledgers, page.labels)
        with self._lock:
            self._new = bool(self._ledgers.keys() - ledgers.keys())
            self._ledgers.update(ledgers)
            self._after, self._rewritten = page.last, rewritten


def _take_in(ledgers: Mapping[_Place, Ledger], labels: Sequence[Label]) -> None:
    """Count each label in the ledgers of its rule and epoch."""
    for label in labels:
        try:
            ticket = Ticket.from_bytes(label.ticket)
        except ValueError:  # no vote was taken, or one of another version
            continue
        for place, ledger in ledgers.items():
            if place.rule_id == label.rule_id and place.epoch == ticket.epoch:
                ledger.learn(ticket, right=label.right)
