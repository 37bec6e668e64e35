"""How like two texts are, sentence by sentence, and whether they contradict each other.

Every sentence is embedded by itself, so that neither the model's window nor the length of an answer decides,
and aligned with the sentence of the other text that is nearest to it. Two sentences that are each other's
nearest and are about the same are read by the guards: other numbers, dates, names, a negation.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from askonce_server.core.guards import ALL_OFF, GuardFeatures, features, judge
from askonce_server.ports import Embedder, EmbedderFailed, OverBudget, TextTooLong, TextUnreadable
from askonce_server.truth.passages import sentences

_FACTS = replace(ALL_OFF, number=True, unit=True, negation=True, entity=True)
"""Of sentences about the same in other words, in which `within` may stand for `after`, `under` for `over`."""
_WHOLE = replace(_FACTS, date=True)
_WORDING = replace(_WHOLE, prefix=True, polarity=True, alternative=True)
"""Of sentences of one wording."""
_SWAPPED = replace(_WORDING, swap=True)
"""Of those that are far from each other all the same: there one other word is another name."""
_ABOUT_THE_SAME = 0.60
"""The cosine of two sentences from which the guards' word is a contradiction."""
_SWAPPED_BELOW = 0.8
"""The cosine of two sentences of one wording below which the word that differs is no synonym."""
_ONE_WORDING = 0.5
"""The share of the words of two sentences that both have, from which they are one wording."""
_REMEMBERED = 4096
"""Sentences whose vectors and features are kept: 8 MiB with 384 dimensions."""


class Likeness(NamedTuple):
    """How two texts compare."""

    score: float
    """The mean cosine of each sentence to its nearest in the other text, weighed by length; -1 to 1."""
    contradicted: bool
    """Whether two sentences about the same differ in a fact."""
    unmatched_facts: bool
    """Whether the texts as a whole differ in a fact, be it in sentences that do not correspond."""
    length_ratio: float
    """Of the shorter to the longer, courtesies and layout aside."""


class _Read(NamedTuple):
    vector: npt.NDArray[np.float32]
    kept: GuardFeatures
    words: frozenset[str]


class Passages:
    """Compares texts by their sentences. What was read of a sentence is remembered for a while, in memory."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._read: OrderedDict[bytes, _Read] = OrderedDict()
        self._lock = threading.Lock()

    def likeness(self, one: str, other: str, *, deadline: float) -> Likeness | None:
        """Compare two texts. None: a sentence could not be embedded by `deadline`, or there is none."""
        said = sentences(one), sentences(other)
        try:
            left, right = ([self._sentence(text, deadline) for text in texts] for texts in said)
        except (EmbedderFailed, OverBudget, TextTooLong, TextUnreadable):
            return None
        if not left or not right:
            return None
        cosines = np.stack([each.vector for each in left]) @ np.stack([each.vector for each in right]).T
        sizes = [np.array([len(text) for text in texts], dtype=np.float64) for texts in said]
        score = sum(
            float(np.average(cosines.max(axis=axis), weights=size)) / 2
            for axis, size in zip((1, 0), sizes, strict=True)
        )
        whole = [features(" ".join(texts), _token) for texts in said]
        lengths = sorted(float(size.sum()) for size in sizes)
        return Likeness(
            score,
            _contradicted(cosines, left, right),
            _doubtful(*whole),
            lengths[0] / lengths[1],
        )

    def _sentence(self, text: str, deadline: float) -> _Read:
        key = blake2b(text.encode(errors="surrogatepass"), digest_size=16).digest()
        with self._lock:
            known = self._read.get(key)
            if known is not None:
                self._read.move_to_end(key)
                return known
        vector = self._embedder.embed(text, deadline=deadline).vector
        read = _Read(vector, features(text, _token), frozenset(text.lower().split()))
        with self._lock:
            self._read[key] = read
            if len(self._read) > _REMEMBERED:
                self._read.popitem(last=False)
        return read


def _doubtful(one: GuardFeatures, other: GuardFeatures) -> bool:
    """Whether the texts as a whole differ in a fact, or one negates once more than the other."""
    return (one.negations - other.negations) % 2 == 1 or judge(one, other, _WHOLE) is not None


def _contradicted(cosines: npt.NDArray[np.float32], left: Sequence[_Read], right: Sequence[_Read]) -> bool:
    """Whether two sentences that are each other's nearest, and about the same, differ in a fact."""
    across, down = cosines.argmax(axis=1), cosines.argmax(axis=0)
    pairs = [(at, int(there)) for at, there in enumerate(across) if down[there] == at]
    rest = _leftovers(pairs, left, right)
    for at, there in (*pairs, *rest):
        one, other = left[at], right[there]
        wording = len(one.words & other.words) >= _ONE_WORDING * len(one.words | other.words)
        near = float(cosines[at, there])
        if not wording and near < _ABOUT_THE_SAME:
            continue
        worded = _WORDING if near >= _SWAPPED_BELOW else _SWAPPED
        if judge(one.kept, other.kept, worded if wording else _FACTS):
            return True
    return False


def _leftovers(
    pairs: Sequence[tuple[int, int]], left: Sequence[_Read], right: Sequence[_Read]
) -> list[tuple[int, int]]:
    """Return the sentences that are nobody's nearest, each with the one of most common words.

    Another name may bring a sentence far from its own twin.
    """
    taken = {at for at, _ in pairs}, {there for _, there in pairs}
    free = [there for there in range(len(right)) if there not in taken[1]]
    return [
        (at, max(free, key=lambda there: len(left[at].words & right[there].words)))
        for at in range(len(left))
        if free and at not in taken[0]
    ]


def _token(string: str) -> int:
    """Hash without a key: what is made of it lives in memory alone."""
    return int.from_bytes(blake2b(string.encode(errors="surrogatepass"), digest_size=8).digest())
