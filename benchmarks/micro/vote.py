"""What the vote policy costs a semantic lookup: `python -m benchmarks.micro.vote`.

Microseconds for the score of ten neighbours, for the whole ruling (score, cut, probation, audit, evidence and
ticket), for a label, and for drawing the cut from many labels; and the ratio of the ruling to an exact recall
of ten among a thousand vectors by numpy, in the same run.
"""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable

import numpy as np

from askonce_server.core.ledger import Ledger
from askonce_server.core.vote import vote
from askonce_server.core.voting import VotePolicy

ROUNDS, CALLS = 30, 500
ROWS, DIM, K = 1000, 384, 10
_GROUPS = [b"%016d" % at for at in range(400)]


def main() -> None:
    chance = random.Random(0)
    ledger = Ledger(VotePolicy(max_wrong=0.02), epoch=b"epoch 01", key=bytes(32))
    asked = [_neighbours(chance) for _ in range(CALLS)]
    for _ in range(8):
        for similarities, groups in asked:
            made = vote(similarities, groups, 0)
            if made is not None:
                right = chance.random() < 0.5 + 0.5 * made.score
                ledger.learn(ledger.decide(groups[0], made).ticket, right=right or made.score > 0.9)
    vectors = np.random.default_rng(0).normal(size=(ROWS, DIM)).astype(np.float32)

    def ruling(at: int) -> None:
        similarities, groups = asked[at]
        made = vote(similarities, groups, 0)
        if made is not None:
            ledger.decide(groups[0], made)

    def recall(at: int) -> None:
        cosines = vectors @ vectors[at]
        best = np.argpartition(cosines, -K)[-K:]
        best[np.argsort(-cosines[best])]

    tickets = [ledger.decide(groups[0], made).ticket for s, groups in asked if (made := vote(s, groups, 0))]
    print(f"{ledger.labels} labels, cut {ledger.cut}, state {len(ledger.to_bytes())} bytes")
    _show("score", lambda at: vote(asked[at][0], asked[at][1], 0))
    whole = _show("score and ruling", ruling)
    _show("label, the cut drawn every 25", lambda at: ledger.learn(tickets[at % len(tickets)], right=True))
    _show("drawing the cut", lambda _: ledger.recalculate())
    recalled = _show(f"recall of {K} among {ROWS}", recall)
    print(f"score and ruling / recall: {whole / recalled:.3f}")


def _neighbours(chance: random.Random) -> tuple[list[float], list[bytes]]:
    groups = chance.choices(_GROUPS, k=3)
    similarities = sorted((chance.uniform(0.55, 0.98) for _ in range(K)), reverse=True)
    return similarities, [groups[0], *chance.choices(groups, weights=(8, 1, 1), k=K - 1)]


def _show(name: str, work: Callable[[int], object]) -> float:
    """Print and return the median over rounds of a call's mean time in microseconds."""
    means = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        for at in range(CALLS):
            work(at)
        means.append((time.perf_counter() - begun) / CALLS * 1e6)
    median = statistics.median(means)
    print(f"{name}: {median:.1f} us (least {min(means):.1f})")
    return median


if __name__ == "__main__":
    main()
