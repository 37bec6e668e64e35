"""One stream through a cache that starts empty, under one policy.

The vote policy is the product's own code; what is played by the benchmark is the provider, who always gives
the right answer, and the comparison of answers, which is right but for the noise that is asked for.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from askonce_server.core.ledger import Ledger
from askonce_server.core.ruling import Outcome, Ticket
from askonce_server.core.vote import DEFAULT_SHAPE, vote
from askonce_server.core.voting import VotePolicy
from askonce_server.truth.groups import COMPARED, join
from askonce_server.truth.verdict import Verdict
from benchmarks.quality.requests import Nearest

TENTHS = 10
_KEY = bytes(32)


@dataclass(frozen=True, slots=True)
class Noise:
    """How the comparison errs: shares of the pairs."""

    false_different: float = 0.0
    false_same: float = 0.0
    unknown: float = 0.0


@dataclass(frozen=True, slots=True)
class Drift:
    """From request number `at` on, questions of `intent` have another answer."""

    intent: str
    at: int


@dataclass(slots=True)
class Run:
    """What one stream came to. Of what the exact tier did not answer."""

    asked: int = 0
    exact: int = 0
    served: int = 0
    wrong: int = 0
    outcomes: Counter[Outcome] = field(default_factory=Counter)
    served_at: list[int] = field(default_factory=list)
    """For each serve, how many were asked before."""
    wrong_at: list[int] = field(default_factory=list)
    stale: Counter[bytes] = field(default_factory=Counter)
    """After a drift: wrong serves of each answer of the old kind."""

    @property
    def hits(self) -> float:
        """Share of what is asked that is served."""
        return self.served / self.asked if self.asked else 0.0

    @property
    def wrong_share(self) -> float:
        """Share of what is served that is wrong; 0 while nothing is."""
        return self.wrong / self.served if self.served else 0.0

    def curve(self) -> list[float]:
        """Return the hits in each tenth of what was asked."""
        tenths = Counter(min(TENTHS * at // self.asked, TENTHS - 1) for at in self.served_at)
        return [TENTHS * tenths[tenth] / self.asked for tenth in range(TENTHS)]


class Cache:
    """Stored texts with the answer of each, as the benchmark knows it, and its group, as the product does."""

    def __init__(self, intents: Sequence[str], nearest: Nearest) -> None:
        self._intents = intents
        self._nearest = nearest
        self.stored = np.zeros(len(intents), dtype=bool)
        self.answers: dict[int, str] = {}
        self.groups: dict[int, bytes] = {}
        self.drifted = ""

    def truth(self, text: int) -> str:
        """Return the right answer, now."""
        intent = self._intents[text]
        return f"{intent}, changed" if intent == self.drifted else intent

    def recall(self, asked: int) -> tuple[list[int], list[float]]:
        """Return the nearest stored texts and their cosines."""
        return self._nearest.recall(asked, self.stored, DEFAULT_SHAPE.neighbors)

    def candidate(self, asked: int, near: Sequence[int]) -> int | None:
        """Return the place of the nearest that no guard vetoes."""
        return next((at for at, text in enumerate(near) if not self._nearest.vetoed(asked, text)), None)

    def store(self, asked: int, group: bytes = b"") -> None:
        """Store the right answer of what is asked."""
        self.stored[asked] = True
        self.answers[asked] = self.truth(asked)
        self.groups[asked] = group


def fixed(stream: Sequence[int], cache: Cache, threshold: float) -> Run:
    """Serve what is at least as near as `threshold`."""
    run = Run()
    for asked in stream:
        if cache.stored[asked]:
            run.exact += 1
            continue
        near, cosines = cache.recall(asked)
        at = cache.candidate(asked, near) if near and cosines[0] >= threshold else None
        if at is not None and cosines[at] >= threshold:
            _serve(run, cache, asked, near[at])
        else:
            cache.store(asked)
        run.asked += 1
    return run


def voted(  # noqa: PLR0913 - what a run is made of
    stream: Sequence[int],
    cache: Cache,
    policy: VotePolicy,
    *,
    seed: int,
    noise: Noise = Noise(),
    drift: Drift | None = None,
) -> Run:
    """Serve under the vote policy."""
    ledger = Ledger(policy, epoch=b"run", key=_KEY + seed.to_bytes(8))
    compare = _Comparison(cache, noise, random.Random(seed))
    run = Run()
    for number, asked in enumerate(stream):
        if drift is not None and number == drift.at:
            cache.drifted = drift.intent
        if cache.stored[asked]:
            run.exact += 1
            continue
        near, cosines = cache.recall(asked)
        at = cache.candidate(asked, near)
        groups = [cache.groups[text] for text in near]
        cast = vote(cosines, groups, at, policy.shape) if at is not None else None
        ruling = ledger.decide(groups[at], cast) if at is not None and cast is not None else None
        if ruling is not None:
            run.outcomes[ruling.outcome] += 1
        if ruling is not None and at is not None and ruling.outcome is Outcome.SERVE:
            _serve(run, cache, asked, near[at])
        else:
            ticket = None if ruling is None else ruling.ticket
            _fill(asked, near, at, ticket, ledger=ledger, cache=cache, compare=compare)
        run.asked += 1
    return run


def repeats(cache: Cache, noise: Noise, size: int, *, seed: int = 0) -> Iterator[bool]:
    """Yield whether two answers to one question are called the same, for `size` questions."""
    compare = _Comparison(cache, noise, random.Random(seed))
    for number in range(size):
        asked = number % len(cache.stored)
        cache.store(asked)
        if (same := compare(asked, asked).right) is not None:
            yield same


class _Comparison:
    """Compares answers, rightly but for the noise."""

    def __init__(self, cache: Cache, noise: Noise, chance: random.Random) -> None:
        self._cache, self._noise, self._chance = cache, noise, chance

    def __call__(self, asked: int, stored: int) -> Verdict:
        """Compare the fresh answer to `asked` with that of `stored`."""
        noise, chance = self._noise, self._chance.random
        if noise.unknown and chance() < noise.unknown:
            return Verdict.UNKNOWN
        same = self._cache.truth(asked) == self._cache.answers[stored]
        errs = noise.false_different if same else noise.false_same
        return Verdict.SAME if same != (errs > 0 and chance() < errs) else Verdict.DIFFERENT


def _fill(  # noqa: PLR0913 - what a Store is made of
    asked: int,
    near: Sequence[int],
    at: int | None,
    ticket: Ticket | None,
    *,
    ledger: Ledger,
    cache: Cache,
    compare: Callable[[int, int], Verdict],
) -> None:
    """Store the fresh answer, put it in its group, and label the candidate by it."""
    verdicts = [compare(asked, text) for text in near[:COMPARED]]
    if ticket is not None and at is not None:
        verdict = verdicts[at] if at < len(verdicts) else compare(asked, near[at])
        if verdict.right is not None:
            ledger.learn(ticket, right=verdict.right)
    groups = [cache.groups[text] for text in near]
    joined = join(groups, verdicts.__getitem__, new=b"%d" % asked)
    cache.store(asked, joined.group)


def _serve(run: Run, cache: Cache, asked: int, stored: int) -> None:
    run.served += 1
    run.served_at.append(run.asked)
    answer = cache.answers[stored]
    if answer != cache.truth(asked):
        run.wrong += 1
        run.wrong_at.append(run.asked)
        if cache.drifted and answer == cache.drifted:
            run.stale[cache.groups[stored]] += 1
