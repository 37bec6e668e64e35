"""Labels by score, and the lowest score from which on few enough are wrong."""

from __future__ import annotations

from dataclasses import dataclass, field

from askonce_server.core import bound
from askonce_server.core.varints import Reader, put
from askonce_server.core.vote import BANDS

NO_CUT = BANDS
"""No score is high enough."""


@dataclass(slots=True)
class Tally:
    """How many labels each band of the score has, and how many of them are wrong."""

    labels: list[int] = field(default_factory=lambda: [0] * BANDS)
    wrong: list[int] = field(default_factory=lambda: [0] * BANDS)

    def add(self, band: int, *, right: bool) -> None:
        """Count one label."""
        self.labels[band] += 1
        self.wrong[band] += not right

    @property
    def total(self) -> int:
        """How many labels there are."""
        return sum(self.labels)

    def from_band(self, band: int) -> tuple[int, int]:
        """Return the labels at or above `band`, and the wrong ones among them."""
        return sum(self.labels[band:]), sum(self.wrong[band:])

    def cut(self, share: float, confidence: float = bound.CONFIDENCE) -> int:
        """Return the lowest band at or above which the wrong share is bounded by `share`, or `NO_CUT`."""
        labels, wrong = self.total, sum(self.wrong)
        for band in range(BANDS):
            # A band without labels says the same as the next: the cut is the lowest score that was seen.
            if self.labels[band]:
                if bound.holds(wrong, labels, share, confidence):
                    return band
                labels -= self.labels[band]
                wrong -= self.wrong[band]
        return NO_CUT

    def to_bytes(self) -> bytes:
        """Return the counts of the bands that have any: a few bytes each."""
        seen = [band for band in range(BANDS) if self.labels[band]]
        written = bytearray()
        put(written, len(seen))
        for band in seen:
            put(written, band, self.labels[band], self.wrong[band])
        return bytes(written)

    @classmethod
    def read(cls, reader: Reader) -> Tally:
        """Read what `to_bytes` wrote. Raises ValueError."""
        tally = cls()
        for _ in range(reader.number(most=BANDS)):
            band = reader.number(most=BANDS - 1)
            tally.labels[band] = reader.number()
            tally.wrong[band] = reader.number(most=tally.labels[band])
        return tally
