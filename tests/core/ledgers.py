"""Ledgers of votes, and what they are taught."""

from __future__ import annotations

from askonce_server.core.ledger import Ledger
from askonce_server.core.ruling import Outcome
from askonce_server.core.vote import Vote, band_of
from askonce_server.core.voting import VotePolicy

KEY, EPOCH = bytes(range(32)), b"epoch 01"
LEARNED = VotePolicy(max_wrong=0.02)
SURE = Vote(0.99, band_of(0.99), 9, 10)
POOR = Vote(0.10, band_of(0.10), 1, 10)


def ledger(policy=LEARNED, **changes):
    return Ledger(policy, epoch=EPOCH, key=KEY, **changes)


def taught(policy=LEARNED, *, labels=500, group=b"taught"):
    """A ledger that has seen nothing wrong, and serves."""
    made = ledger(policy)
    for _ in range(labels):
        made.learn(made.decide(group, SURE).ticket, right=True)
    return made


def serve_until_audit(made, group):
    """Return the serves before the next audit, and the audit's ticket."""
    served = 0
    while (ruling := made.decide(group, SURE)).outcome is Outcome.SERVE:
        served += 1
    assert ruling.outcome is Outcome.AUDIT
    return served, ruling.ticket
