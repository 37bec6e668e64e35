"""May this near answer be served? The policies `vote` and `vote-fixed`, as a state and its two steps.

`Ledger.decide` rules on a candidate and hands out a ticket; when the fresh answer is there and was compared
with the candidate's, `Ledger.learn` takes the ticket back with the label. The state depends on nothing but
the order of these calls. It is not thread-safe: whoever drives it serializes the calls.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from askonce_server.core import bound
from askonce_server.core.ruling import Evidence, Outcome, Ruling, Ticket
from askonce_server.core.standing import Standing
from askonce_server.core.standings import Standings
from askonce_server.core.tally import NO_CUT, Tally
from askonce_server.core.varints import Reader, put, put_bytes
from askonce_server.core.vote import Vote, band_of, least_score
from askonce_server.core.voting import Start, VotePolicy

_SCHEMA = 1
_TARGET = struct.Struct("<dd")


class Ledger:
    """What was learned of one rule's semantic hits with one embedder.

    `epoch` names the constants, embedder, guards and comparator under which labels are counted
    (`voting.epoch`); `key` is the store's own. While nothing but answers on probation or in quarantine can be
    remembered, no other is served.
    """

    def __init__(self, policy: VotePolicy, *, epoch: bytes, key: bytes) -> None:
        self.policy = policy
        self.epoch = epoch
        self.tally = Tally()
        self.audits = 0
        """Audits handed out."""
        self._standings = Standings(most=policy.groups, every=policy.audit_every, key=key)
        self._labels = 0
        self._since = 0
        """Labels since the cut was drawn."""
        self._band = NO_CUT
        self._counted = (0, 0, 1.0)
        """Labels, wrong ones and upper bound when the cut was drawn."""

    @property
    def labels(self) -> int:
        """How many labels were counted."""
        return self._labels

    @property
    def cut(self) -> float | None:
        """The lowest vote that is served; None: none is."""
        policy = self.policy
        if policy.max_wrong is None:
            return policy.fixed
        if self._labels < policy.min_labels:
            return policy.shipped if policy.start is Start.SHIPPED else None
        return least_score(self._band) if self._band < NO_CUT else None

    @property
    def counted(self) -> tuple[int, int]:
        """Labels at or above the cut, and the wrong ones among them, when it was last drawn."""
        return self._counted[:2]

    @property
    def upper_bound(self) -> float:
        """The bound on the share of wrong ones at or above the cut, when it was last drawn."""
        return self._counted[2]

    def decide(self, group: bytes, vote: Vote, *, counted: bool = True) -> Ruling:
        """Rule on the answer `group` with this vote.

        Each ruling to serve counts towards its next audit, unless it is not `counted`.
        """
        cut = self.cut
        outcome = self._outcome(group, vote, cut, counted=counted)
        evidence = Evidence(vote.score, vote.supporters, vote.neighbors, cut, *self._counted)
        return Ruling(outcome, evidence, Ticket(self.epoch, group, vote.score, vote.band, outcome))

    def _outcome(self, group: bytes, vote: Vote, cut: float | None, *, counted: bool) -> Outcome:
        if cut is None:
            return Outcome.EXPLORE
        if not self._reaches(vote.band, vote.score, cut):
            return Outcome.BELOW
        standing = self._standings.get(group)
        if standing is None:
            return Outcome.EXPLORE
        if standing.held:
            return Outcome.QUARANTINED if standing.quarantined else Outcome.PROBATION
        standing, audit = standing.serve(self.policy.audit_every)
        if not counted:
            return Outcome.AUDIT if audit else Outcome.SERVE
        self._standings.put(group, standing)
        self.audits += audit
        return Outcome.AUDIT if audit else Outcome.SERVE

    def _reaches(self, band: int, score: float, cut: float) -> bool:
        learned = self.policy.max_wrong is not None and self._labels >= self.policy.min_labels
        return band >= self._band if learned else score >= cut

    def learn(self, ticket: Ticket, *, right: bool) -> bool:
        """Take in the label of a ticket; return whether it counts.

        It does not when the ticket is of another epoch, nor where praise comes for what was served: nobody
        has to give it, while what is wrong is safe to count. Labels of an answer on probation say nothing of
        what would be served, and count for that answer alone.
        """
        if ticket.epoch != self.epoch or (ticket.outcome is Outcome.SERVE and right):
            return False
        standing = self._standings.get(ticket.group)
        if standing is not None:
            probation, zone = self.policy.probation, self._in_zone(ticket)
            self._standings.put(
                ticket.group, standing.labelled(right=right, probation=probation, would_serve=zone)
            )
        if ticket.outcome not in {Outcome.PROBATION, Outcome.QUARANTINED}:
            self.tally.add(ticket.band, right=right)
            self._labels += 1
        self._since += 1
        caught = not right and ticket.outcome in {Outcome.AUDIT, Outcome.SERVE}
        if caught or self._since >= self.policy.recalculate_every:
            self.recalculate()
        return True

    def _in_zone(self, ticket: Ticket) -> bool:
        """Whether what was voted so is served, or will be once there are labels enough."""
        cut = self.cut
        learned = self.policy.max_wrong is not None
        return (learned and ticket.band >= self._band) or (
            cut is not None and self._reaches(ticket.band, ticket.score, cut)
        )

    def recalculate(self) -> None:
        """Draw the cut anew from all labels."""
        policy = self.policy
        self._since = 0
        if policy.max_wrong is not None:
            self._band = self.tally.cut(policy.max_wrong, policy.confidence)
        self._count()

    def _count(self) -> None:
        cut = self.cut
        learned = self.policy.max_wrong is not None and self._labels >= self.policy.min_labels
        lowest = 0 if cut is None else self._band if learned else band_of(cut)
        labels, wrong = self.tally.from_band(lowest)
        self._counted = (labels, wrong, bound.upper_bound(wrong, labels, self.policy.confidence))

    def standing(self, group: bytes) -> Standing | None:
        """Return what is known of an answer."""
        return self._standings.find(group)

    def release(self, group: bytes) -> None:
        """Let an answer out of probation and quarantine, on a person's word."""
        if (standing := self._standings.find(group)) is not None:
            self._standings.put(group, Standing(standing.until_audit))

    def merge(self, group: bytes, into: bytes) -> None:
        """Take two answers for one: if either is held, both are."""
        gone, stays = self._standings.find(group), self._standings.find(into)
        self.forget(lambda known: known == group)
        if gone is not None and (stays is None or (gone.held and not stays.quarantined)):
            self._standings.put(into, gone)

    def forget(self, which: Callable[[bytes], bool]) -> None:
        """Forget the answers that were purged."""
        self._standings.forget(which)

    def to_bytes(self) -> bytes:
        """Return the whole state: some bytes a band that has labels, and some twenty an answer."""
        written = bytearray()
        put(written, _SCHEMA)
        put_bytes(written, self.epoch)
        put_bytes(written, _target(self.policy))
        put_bytes(written, self.tally.to_bytes())
        put(written, self.audits, self._since, self._band, self._counted[0], self._counted[1])
        self._standings.write(written)
        return bytes(written)

    @classmethod
    def from_bytes(cls, written: bytes, policy: VotePolicy, *, epoch: bytes, key: bytes) -> Ledger:
        """Return the state that was written, or a new one where that was of another epoch.

        Under another target the cut is drawn anew from the same labels. Raises ValueError.
        """
        ledger = cls(policy, epoch=epoch, key=key)
        reader = Reader(written)
        if reader.number() != _SCHEMA or reader.value() != epoch:
            return ledger
        target = reader.value()
        ledger.tally = Tally.read(Reader(reader.value()))
        ledger._labels = ledger.tally.total
        ledger.audits, ledger._since = reader.number(), reader.number()
        ledger._band = reader.number(most=NO_CUT)
        labels, wrong = reader.number(), reader.number()
        ledger._counted = (labels, wrong, bound.upper_bound(wrong, labels, policy.confidence))
        ledger._standings.read(reader)
        reader.end()
        if target != _target(policy):
            ledger.recalculate()
        return ledger


def _target(policy: VotePolicy) -> bytes:
    """Return what the cut depends on besides the labels."""
    return _TARGET.pack(policy.max_wrong or 0.0, policy.confidence)
