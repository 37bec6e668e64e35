"""What one set of labelled data gave with one embedder, under every setting of the guards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.quality.embedding import Vectors
from benchmarks.quality.labelled import Labelled, Pairs
from benchmarks.quality.measure import GUARDS, Guarding, Point, Seen, curve, of_draw, of_pairs, pooled

SHOWN = (0.80, 0.85, 0.90, 0.92, 0.94, 0.95, 0.96, 0.98)
"""The thresholds in tables; curves have them all."""
BY_KIND_AT = 0.90
MOST_WRONG = 0.02
"""Share of wrong answers under which the threshold is looked for that is named beside each table."""


@dataclass(frozen=True, slots=True)
class Result:
    """The curves of one data set and one embedder."""

    data: str
    embedder: str
    draws: int
    asked: int
    """In each draw; of pairs, how many there are."""
    stored: int
    pairs: bool
    curves: dict[str, list[Point]]
    kinds: list[tuple[str, bool, int, dict[str, int]]]
    """Of pairs: kind, whether they are the same, how many, and how many are served under each setting."""

    @property
    def traps(self) -> bool:
        """Whether the data has any."""
        return any(point.traps for point in self.curves["off"])

    @property
    def title(self) -> str:
        """What was measured, in one line."""
        if self.pairs:
            return f"{self.data}, {self.embedder}: {self.asked} pairs"
        times = f"{self.draws} draws of " if self.draws > 1 else ""
        return f"{self.data}, {self.embedder}: {times}{self.asked} asked, {self.stored} stored"

    def lowest_threshold(self, guards: str) -> float | None:
        """Return the lowest threshold from which on at most `MOST_WRONG` of what is served is wrong."""
        lowest = None
        for point in reversed(self.curves[guards]):
            if point.served and 1 - point.precision > MOST_WRONG:
                break
            lowest = point.threshold if point.served else lowest
        return lowest


def measure(labelled: Labelled, embedder: str, vectors: Vectors, guarding: Guarding, draws: int) -> Result:
    """Measure one data set with one embedder."""
    if isinstance(labelled, Pairs):
        seen = of_pairs(labelled, vectors, guarding)
        curves = {guards: curve(seen, guards, pairs=True) for guards in GUARDS}
        return Result(
            labelled.name, embedder, 1, len(seen), len(seen), pairs=True, curves=curves, kinds=_kinds(seen)
        )
    streams = [labelled.draw(seed) for seed in range(draws)]
    seen_each = [of_draw(stream, vectors, guarding) for stream in streams]
    curves = {guards: pooled([curve(seen, guards, pairs=False) for seen in seen_each]) for guards in GUARDS}
    asked, stored = len(streams[0].asked), len(streams[0].stored)
    return Result(labelled.name, embedder, draws, asked, stored, pairs=False, curves=curves, kinds=[])


def _kinds(seen: Sequence[Seen]) -> list[tuple[str, bool, int, dict[str, int]]]:
    rows = []
    for kind, same in sorted({(one.kind, one.right) for one in seen}):
        of_kind = [one for one in seen if (one.kind, one.right) == (kind, same)]
        near = [one for one in of_kind if one.similarity >= BY_KIND_AT]
        served = {guards: sum(guards in one.passed for one in near) for guards in GUARDS}
        rows.append((kind, same, len(of_kind), served))
    return rows
