"""Streams of questions for a cache that starts empty, and who is near to whom."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import numpy as np
import numpy.typing as npt

from askonce_server.core.guards import GuardFeatures, GuardSettings, features, judge
from benchmarks.quality.embedding import Vectors
from benchmarks.quality.labelled import OUTSIDE, Question, Questions, UnreadableData, read
from benchmarks.quality.measure import plain_token

OUTSIDE_SHARE = 0.2
"""Of a stream over questions with some out of scope."""
_NEAR = 300
"""Neighbours that are kept of each text; where too few of them are stored, all that is stored is searched."""
_BLOCK = 512
_SETTINGS = GuardSettings()
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Corpus:
    """Distinct texts with the intent of each; a question out of scope has an intent of its own."""

    name: str
    texts: tuple[str, ...]
    intents: tuple[str, ...]
    outside: tuple[int, ...]
    """Which of them are out of scope."""


def corpus(folder: Path, *, most: int | None = None) -> Corpus:
    """Read labelled questions; `most` takes a part of them, always the same. Raises UnreadableData."""
    file = folder / "data_full.json" if (folder / "data_full.json").is_file() else folder / "train.csv"
    labelled = read(file)
    if not isinstance(labelled, Questions):
        raise UnreadableData(f"{file} holds no questions")
    questions = [*labelled.train, *labelled.test, *labelled.outside]
    if file.suffix == ".json":
        questions += _other_splits(file)
    by_text = {one.text: one.intent for one in questions}
    rows = sorted(by_text.items())
    random.Random(0).shuffle(rows)
    rows = rows[:most]
    return Corpus(
        folder.name,
        tuple(text for text, _ in rows),
        tuple(f"{OUTSIDE} {at}" if intent == OUTSIDE else intent for at, (_, intent) in enumerate(rows)),
        tuple(at for at, (_, intent) in enumerate(rows) if intent == OUTSIDE),
    )


def _other_splits(file: Path) -> list[Question]:
    lists = json.loads(file.read_text(encoding="utf-8"))
    return [Question(*row) for name in ("val", "oos_val", "oos_train") for row in lists.get(name, [])]


def plain(of: Corpus, seed: int) -> list[int]:
    """Return every question once; of those in scope no more than four for one out of scope."""
    chance = random.Random(seed)
    outside = set(of.outside)
    asked = [at for at in range(len(of.texts)) if at not in outside]
    if outside:
        size = round(len(outside) * (1 - OUTSIDE_SHARE) / OUTSIDE_SHARE)
        asked = chance.sample(asked, min(size, len(asked))) + sorted(outside)
    chance.shuffle(asked)
    return asked


def zipf(of: Corpus, seed: int) -> list[int]:
    """Return as many requests for the same questions, the n-th of them asked 1/n as often as the first."""
    ranked = plain(of, seed)
    weights = list(accumulate(1 / rank for rank in range(1, len(ranked) + 1)))
    return random.Random(seed).choices(ranked, cum_weights=weights, k=len(ranked))


class Nearest:
    """Recalls the nearest stored texts of a corpus, exactly, and judges pairs of them by the guards."""

    def __init__(self, of: Corpus, vectors: Vectors) -> None:
        self._corpus = of
        self.vectors: Floats = np.stack([vectors[text] for text in of.texts]).astype(np.float32)
        self._near, self._similar = _nearest(self.vectors)
        self._features: dict[int, GuardFeatures] = {}
        self._judged: dict[tuple[int, int], bool] = {}

    def recall(self, asked: int, stored: npt.NDArray[np.bool_], k: int) -> tuple[list[int], list[float]]:
        """Return the `k` nearest of what is `stored`, best first, and their cosines."""
        near = self._near[asked]
        found = np.flatnonzero(stored[near])[:k]
        if len(found) == k:
            return near[found].tolist(), self._similar[asked][found].tolist()
        among = np.flatnonzero(stored)
        cosines = self.vectors[among] @ self.vectors[asked]
        order = np.argsort(-cosines, kind="stable")[:k]
        return among[order].tolist(), cosines[order].tolist()

    def vetoed(self, asked: int, stored: int) -> bool:
        """Whether a guard tells the two apart."""
        pair = (asked, stored)
        if pair not in self._judged:
            self._judged[pair] = judge(self._kept(asked), self._kept(stored), _SETTINGS) is not None
        return self._judged[pair]

    def _kept(self, text: int) -> GuardFeatures:
        if text not in self._features:
            self._features[text] = features(self._corpus.texts[text], plain_token)
        return self._features[text]


def _nearest(vectors: Floats) -> tuple[npt.NDArray[np.int32], Floats]:
    """Return of each row the nearest others, best first, and their cosines."""
    size = len(vectors)
    k = min(_NEAR, size - 1)
    near, similar = np.empty((size, k), dtype=np.int32), np.empty((size, k), dtype=np.float32)
    for begin in range(0, size, _BLOCK):
        rows = vectors[begin : begin + _BLOCK] @ vectors.T
        own = np.arange(len(rows))
        rows[own, begin + own] = -2  # what is asked again is the exact tier's
        best = np.argpartition(rows, -k, axis=1)[:, -k:]
        cosines = np.take_along_axis(rows, best, axis=1)
        order = np.argsort(-cosines, axis=1, kind="stable")
        near[begin : begin + _BLOCK] = np.take_along_axis(best, order, axis=1)
        similar[begin : begin + _BLOCK] = np.take_along_axis(cosines, order, axis=1)
    return near, similar


Streams = dict[str, Callable[[Corpus, int], list[int]]]
STREAMS: Streams = {"plain": plain, "zipf": zipf}
