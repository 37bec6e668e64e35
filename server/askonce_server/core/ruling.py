"""What the vote came to, why, and what is to be remembered until its label comes."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from askonce_server.core.varints import Reader, put, put_bytes
from askonce_server.core.vote import BANDS

_MILLION = 1_000_000


class Outcome(IntEnum):
    """What becomes of a candidate. All but `SERVE` call the provider and are labelled by its answer."""

    SERVE = 1
    EXPLORE = 2
    """No vote is enough yet: labels are collected."""
    BELOW = 3
    """The vote is below the cut."""
    AUDIT = 4
    """It would be served, and is looked at instead."""
    PROBATION = 5
    """The answer was wrong lately."""
    QUARANTINED = 6
    """The answer was wrong most of the last times."""


class Evidence(NamedTuple):
    """What speaks for a ruling. Counts are those from which the cut was last drawn."""

    vote: float
    supporters: int
    neighbors: int
    cut: float | None
    """The lowest vote that is served; None: none is."""
    labels: int
    """At or above the cut; of all votes where there is none."""
    wrong: int
    upper_bound: float
    """On the share of wrong ones behind these labels."""

    def line(self) -> str:
        """Say it in one line, for people."""
        near = "nearest question" if self.neighbors == 1 else f"{self.neighbors} nearest questions"
        share = "shares" if self.supporters == 1 else "share"
        one = "the" if self.neighbors == 1 else f"{self.supporters} of the"
        if self.cut is None:
            counted = f"no cut yet; {_labels(self.labels)}, {self.wrong} wrong"
        else:
            counted = f"cut {_short(self.cut)}; {_labels(self.labels)} at or above it, {self.wrong} wrong"
        bounded = f", at most {100 * self.upper_bound:.2f} %" if self.labels else ""
        return f"{one} {near} {share} this answer: vote {_short(self.vote)}, {counted}{bounded}"


class Ticket(NamedTuple):
    """What a label is counted under, once it comes."""

    epoch: bytes
    group: bytes
    score: float
    """The vote, to a millionth."""
    band: int
    outcome: Outcome

    def to_bytes(self) -> bytes:
        """Return some thirty bytes, for a fill token."""
        written = bytearray()
        put_bytes(written, self.epoch)
        put_bytes(written, self.group)
        put(written, round(self.score * _MILLION), self.band, self.outcome)
        return bytes(written)

    @classmethod
    def from_bytes(cls, written: bytes) -> Ticket:
        """Read what `to_bytes` wrote. Raises ValueError."""
        reader = Reader(written)
        epoch, group = reader.value(), reader.value()
        score = reader.number(most=_MILLION) / _MILLION
        ticket = cls(epoch, group, score, reader.number(most=BANDS - 1), Outcome(reader.number()))
        reader.end()
        return ticket


class Ruling(NamedTuple):
    """What becomes of a candidate, why, and the ticket for its label."""

    outcome: Outcome
    evidence: Evidence
    ticket: Ticket


def _labels(count: int) -> str:
    return "1 label" if count == 1 else f"{count} labels"


def _short(share: float) -> str:
    """Return two digits behind the point and none before it, never more than there is."""
    return f"{int(share * 100) / 100:.2f}".removeprefix("0")
