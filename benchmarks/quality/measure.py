"""What would be served at each threshold, and how much of it is right."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from askonce_server.core.guards import ALL_OFF, GuardFeatures, GuardSettings, features, judge
from benchmarks.quality.embedding import Vectors
from benchmarks.quality.labelled import OUTSIDE, Draw, Pairs

GUARDS = {"off": ALL_OFF, "default": GuardSettings(), "strict": GuardSettings(slot=True)}
THRESHOLDS = tuple(round(0.80 + 0.01 * step, 2) for step in range(19))
LOWEST = THRESHOLDS[0]


@dataclass(frozen=True, slots=True)
class Point:
    """Counts at one threshold."""

    threshold: float
    asked: int
    """What is asked; of pairs, those that have the same answer."""
    served: int
    right: int
    traps: int
    """What must never be served: pairs with different answers, questions out of scope."""
    trapped: int
    """Traps that were."""

    @property
    def hit_rate(self) -> float:
        """Share of what is asked that is served; of pairs, of what should be."""
        return _share(self.right if self.pairs else self.served, self.asked)

    @property
    def precision(self) -> float:
        """Share of what is served that is right."""
        return _share(self.right, self.served)

    @property
    def trap_rate(self) -> float:
        """Share of the traps that are served."""
        return _share(self.trapped, self.traps)

    @property
    def right_rate(self) -> float:
        """Share of what is asked that is served a right answer."""
        return _share(self.right, self.asked)

    pairs: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """One candidate, and what becomes of it."""

    similarity: float
    passed: frozenset[str]
    """The settings under which no guard fires."""
    right: bool
    """Whether its answer would be right."""
    trap: bool
    """Whether it must not be served."""
    kind: str = ""


class Guarding:
    """Judges pairs of texts under every setting; what is kept of each text is made once."""

    def __init__(self) -> None:
        self._kept: dict[str, GuardFeatures] = {}

    def passed(self, asked: str, stored: str, similarity: float) -> frozenset[str]:
        """Return the settings under which no guard fires; none for texts that no threshold would let by."""
        if similarity < LOWEST:
            return frozenset()
        one, other = self._features(asked), self._features(stored)
        return frozenset(name for name, settings in GUARDS.items() if judge(one, other, settings) is None)

    def _features(self, text: str) -> GuardFeatures:
        if text not in self._kept:
            self._kept[text] = features(text, plain_token)
        return self._kept[text]


def of_pairs(labelled: Pairs, vectors: Vectors, guarding: Guarding) -> list[Seen]:
    """Return each pair as if its first text were asked and its second stored."""
    return [
        Seen(
            similarity := float(vectors[pair.a] @ vectors[pair.b]),
            guarding.passed(pair.a, pair.b, similarity),
            right=pair.same,
            trap=not pair.same,
            kind=pair.kind,
        )
        for pair in labelled.pairs
    ]


def of_draw(draw: Draw, vectors: Vectors, guarding: Guarding) -> list[Seen]:
    """Return the nearest stored question of each that is asked."""
    stored = np.stack([vectors[one.text] for one in draw.stored])
    asked = np.stack([vectors[one.text] for one in draw.asked])
    near = asked @ stored.T
    best: npt.NDArray[np.intp] = near.argmax(axis=1)
    found = []
    for at, one in enumerate(draw.asked):
        candidate = draw.stored[best[at]]
        outside = one.intent == OUTSIDE
        similarity = float(near[at, best[at]])
        found.append(
            Seen(
                similarity,
                guarding.passed(one.text, candidate.text, similarity),
                right=one.intent == candidate.intent and not outside,
                trap=outside,
                kind=one.intent,
            )
        )
    return found


def curve(seen: Sequence[Seen], guards: str, *, pairs: bool) -> list[Point]:
    """Return the counts at every threshold under one setting of the guards."""
    asked = sum(not one.trap for one in seen) if pairs else len(seen)
    return [_point(seen, guards, threshold, asked, pairs=pairs) for threshold in THRESHOLDS]


def _point(seen: Iterable[Seen], guards: str, threshold: float, asked: int, *, pairs: bool) -> Point:
    hits = [one for one in seen if one.similarity >= threshold and guards in one.passed]
    return Point(
        threshold=threshold,
        asked=asked,
        served=len(hits),
        right=sum(one.right for one in hits),
        traps=sum(one.trap for one in seen),
        trapped=sum(one.trap for one in hits),
        pairs=pairs,
    )


def pooled(curves: Sequence[list[Point]]) -> list[Point]:
    """Return the counts of several draws together."""
    return [
        Point(
            threshold=points[0].threshold,
            asked=sum(one.asked for one in points),
            served=sum(one.served for one in points),
            right=sum(one.right for one in points),
            traps=sum(one.traps for one in points),
            trapped=sum(one.trapped for one in points),
            pairs=points[0].pairs,
        )
        for points in zip(*curves, strict=True)
    ]


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def plain_token(string: str) -> int:
    return int.from_bytes(blake2b(string.encode(errors="surrogatepass"), digest_size=8).digest())
