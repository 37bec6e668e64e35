"""How far one answer is trusted: its audits, its probation, its last labels."""

from __future__ import annotations

from hashlib import blake2b
from typing import NamedTuple

from askonce_server.core.varints import Reader, put

RECENT = 6
"""How many of an answer's last labels are remembered."""
_WRONG_FOR_QUARANTINE = 3
"""That many of the last labels, and a majority of them, take an answer out of use."""


class Standing(NamedTuple):
    """What is known of one answer group besides its labels' counts, in four to seven bytes."""

    until_audit: int = 1
    """Serves up to the next audit, that one included."""
    probation: int = 0
    """Right labels that are needed before it is served again."""
    recent: tuple[bool, ...] = ()
    """Its last labels, the newest last: whether each was right."""
    quarantined: bool = False

    @property
    def held(self) -> bool:
        """Whether it must not be forgotten: it is not served."""
        return self.quarantined or self.probation > 0

    def serve(self, every: int) -> tuple[Standing, bool]:
        """Count one serve; return what is left, and whether this one is an audit instead."""
        if self.until_audit > 1:
            return self._replace(until_audit=self.until_audit - 1), False
        return self._replace(until_audit=every), True

    def labelled(self, *, right: bool, probation: int, would_serve: bool) -> Standing:
        """Take in one label of a score that would be served, or of a lower one.

        A wrong one puts the answer on probation for `probation` labels. One that is in quarantine comes out
        of it, on probation, when all its last labels are right.
        """
        recent = (*self.recent, right)[-RECENT:]
        wrong = recent.count(False)
        left, quarantined = self.probation, self.quarantined
        if quarantined and wrong == 0 and len(recent) == RECENT:
            quarantined, left = False, probation
        elif would_serve:
            left = max(0, left - 1) if right else probation
            condemned = wrong >= _WRONG_FOR_QUARANTINE and 2 * wrong > len(recent)
            quarantined = quarantined or (condemned and not right)
        return Standing(self.until_audit, left, recent, quarantined)

    def write(self, written: bytearray) -> None:
        """Append it to `written`."""
        bits = sum(right << at for at, right in enumerate(self.recent))
        put(written, self.until_audit, self.probation, len(self.recent) << 1 | self.quarantined, bits)

    @classmethod
    def read(cls, reader: Reader) -> Standing:
        """Read what `write` wrote. Raises ValueError."""
        until_audit, probation, flags = reader.number(), reader.number(), reader.number(most=2 * RECENT + 1)
        count = flags >> 1
        bits = reader.number(most=(1 << count) - 1)
        recent = tuple(bool(bits >> at & 1) for at in range(count))
        return cls(max(1, until_audit), probation, recent, bool(flags & 1))


def begin(group: bytes, key: bytes, every: int, *, again: int = 0) -> Standing:
    """Return the standing of a group that nothing is known of: its first audit is at a random serve.

    The phase is a hash under the store's key, so that nobody can tell from a group which serve is an audit.
    `again` tells groups apart that were forgotten and come back.
    """
    digest = blake2b(again.to_bytes(8, "little") + group, digest_size=8, key=key[:64]).digest()
    return Standing(1 + int.from_bytes(digest) % every)
