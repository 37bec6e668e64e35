"""How often answers are compared wrongly: `python -m benchmarks.quality.comparison FOLDER`.

Over synthetic answers to the intents of labelled questions (see `answers`), with the packaged MiniLM: of
answers with the same facts in another wording, how many are called the same, different, and neither; likewise
of answers to other intents, and of answers in which one fact is another, in the same wording or not. The
thresholds were set on Banking77 with the first half of the templates. `--pairs N` for each kind.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from askonce_server.core.bound import upper_bound
from askonce_server.core.said import Said
from askonce_server.embed import OnnxEmbedder
from askonce_server.truth.compare import Comparator
from askonce_server.truth.verdict import Verdict
from benchmarks.quality.answers import ALTERED, facts, worded
from benchmarks.quality.labelled import OUTSIDE, UnreadableData
from benchmarks.quality.requests import corpus

HALVES = {"first templates": (0, 0), "second templates": (1, 1), "one of each": (0, 1)}
KINDS = ("same", "other intent", "near intent", "one fact, same wording", "one fact, other wording")
_NEAREST = 3
_SEEDS = 1_000_000


class Pair(NamedTuple):
    """Two answers, and what they are to each other."""

    kind: str
    one: str
    other: str


def pairs(
    intents: Sequence[str], near: Sequence[Sequence[int]], halves: tuple[int, int], size: int
) -> Iterator[Pair]:
    """Yield `size` pairs of each kind; `near` names the intents that are nearest to each."""
    chance = random.Random(size)
    for _ in range(size):
        at = chance.randrange(len(intents))
        own, mine, theirs = facts(intents[at]), chance.randrange(_SEEDS), chance.randrange(_SEEDS)
        one = worded(own, mine, half=halves[0])
        beside = chance.choice([other for other in range(len(intents)) if other != at])
        changed = own.altered(chance.choice(ALTERED), chance)
        yield Pair("same", one, worded(own, theirs, half=halves[1]))
        yield Pair("other intent", one, worded(facts(intents[beside]), theirs, half=halves[1]))
        nearby = intents[chance.choice(near[at])]
        yield Pair("near intent", one, worded(facts(nearby), theirs, half=halves[1]))
        yield Pair("one fact, same wording", one, worded(changed, mine, half=halves[0]))
        yield Pair("one fact, other wording", one, worded(changed, theirs, half=halves[1]))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="comparison", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, help="labelled questions")
    parser.add_argument("--pairs", type=int, default=400, help="of each kind and half of the templates")
    asked = parser.parse_args(arguments)
    embedder = OnnxEmbedder("minilm")
    comparator = Comparator(embedder)
    try:
        for folder in asked.folders:
            intents = sorted({one for one in corpus(folder).intents if not one.startswith(OUTSIDE)})
            vectors = np.stack(
                [embedder.embed(one.replace("_", " "), deadline=math.inf).vector for one in intents]
            )
            near = np.argsort(-(vectors @ vectors.T), axis=1)[:, 1 : _NEAREST + 1].tolist()
            for name, halves in HALVES.items():
                counts = count(comparator, pairs(intents, near, halves, asked.pairs))
                Console(highlight=False).print(_table(f"{folder.name}, {name}", counts))
    except UnreadableData as error:
        print(f"comparison: {error}", file=sys.stderr)
        return 1
    return 0


def count(comparator: Comparator, of: Iterator[Pair]) -> dict[str, Counter[Verdict]]:
    """Compare all pairs."""
    counts: dict[str, Counter[Verdict]] = {kind: Counter() for kind in KINDS}
    for pair in of:
        verdict = comparator.compare(Said(pair.one), Said(pair.other), deadline=math.inf)
        counts[pair.kind][verdict] += 1
    return counts


def _table(title: str, counts: dict[str, Counter[Verdict]]) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for at, name in enumerate(("answers", "pairs", "same %", "different %", "unknown %", "wrong at most %")):
        table.add_column(name, justify="right" if at else "left")
    for kind, counted in counts.items():
        wrong = counted[Verdict.DIFFERENT if kind == "same" else Verdict.SAME]
        shares = [f"{100 * counted[verdict] / counted.total():.1f}" for verdict in Verdict]
        bound = f"{100 * upper_bound(wrong, counted.total()):.2f}"
        table.add_row(kind, str(counted.total()), *shares, bound)
    return table


if __name__ == "__main__":
    sys.exit(main())
