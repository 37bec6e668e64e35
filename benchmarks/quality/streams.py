"""Whether the vote policy holds its bound, and what it serves: `python -m benchmarks.quality.streams FOLDER`.

Streams of labelled questions (folders with train.csv and test.csv as Banking77 has them, or data_full.json as
CLINC150 has it) go through a cache that starts empty, each seed in another order: every question once, and as
Zipf-distributed repeats. Labels come from nothing but what was explored and audited. Prints hits in percent
of what the exact tier did not answer, wrong answers in percent of what was served, the 95 % upper bound of
all seeds together, explores, audits, hits by tenths of the stream; beside it a fixed cosine of 0.95 with the
same guards, and the best fixed cosine that hindsight can find. Then answers that change, and a comparison
that errs. `--quick` takes a part of the texts and two seeds. `--parts service` plays them through
a real sidecar beside the simulation.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from rich.console import Console
from rich.table import Table

from askonce_server.core.bound import upper_bound
from askonce_server.core.noise import Noise as Measured
from askonce_server.core.noise import refusal
from askonce_server.core.ruling import Outcome
from askonce_server.core.voting import VotePolicy
from benchmarks.quality.embedding import EMBEDDERS, embed
from benchmarks.quality.labelled import UnreadableData
from benchmarks.quality.requests import STREAMS, Corpus, Nearest, corpus, plain
from benchmarks.quality.service import through_service
from benchmarks.quality.simulate import Cache, Drift, Noise, Run, fixed, repeats, voted

TARGETS = (0.01, 0.02, 0.05)
FIXED = 0.95
HINDSIGHT = tuple(round(0.82 + 0.01 * step, 2) for step in range(17))
PLANTED = (0.005, 0.01, 0.02, 0.05)
_DRIFTS, _DRIFT_AT = 8, 5000
_QUICK_TEXTS, _WIDTH = 1500, 130
_SELF_CHECKED = 2000
"""Pairs of the same answer by which noise is measured: of 5 %, an interval of one percent each way."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The data of one benchmark, ready to be played."""

    corpus: Corpus
    nearest: Nearest
    seeds: range

    def cache(self) -> Cache:
        """Return an empty cache."""
        return Cache(self.corpus.intents, self.nearest)

    def voted(self, kind: str, target: float, noise: Noise | None = None) -> list[Run]:
        """Play a kind of stream once a seed under the vote policy."""
        policy = VotePolicy(max_wrong=target)
        streams = [(seed, STREAMS[kind](self.corpus, seed)) for seed in self.seeds]
        return [
            voted(stream, self.cache(), policy, seed=seed, noise=noise or Noise()) for seed, stream in streams
        ]

    def served(self, kind: str, target: float) -> list[Run]:
        """Play it through a real sidecar."""
        streams = [STREAMS[kind](self.corpus, seed) for seed in self.seeds]
        return [
            through_service(stream, self.corpus, self.nearest.vectors, target=target) for stream in streams
        ]

    def fixed(self, kind: str, threshold: float) -> list[Run]:
        """Play it under a fixed threshold."""
        return [fixed(STREAMS[kind](self.corpus, seed), self.cache(), threshold) for seed in self.seeds]


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    console = Console(highlight=False, width=_WIDTH)
    try:
        with tempfile.TemporaryDirectory() as temporary:
            for folder in asked.folders:
                sample = _sample(folder, asked, asked.vectors or Path(temporary))
                for part in _parts(sample, asked.parts):
                    console.print(part)
    except UnreadableData as error:
        print(f"streams: {error}", file=sys.stderr)
        return 1
    return 0


def _sample(folder: Path, asked: argparse.Namespace, vectors: Path) -> Sample:
    of = corpus(folder, most=_QUICK_TEXTS if asked.quick else None)
    embedder = EMBEDDERS[asked.embedder]()
    nearest = Nearest(of, embed(embedder, of.texts, folder=vectors))
    return Sample(of, nearest, range(min(asked.seeds, 2) if asked.quick else asked.seeds))


def _parts(sample: Sample, parts: Sequence[str]) -> Iterator[Table | str]:
    if "streams" in parts:
        for kind in STREAMS:
            yield _policies(sample, kind)
    if "service" in parts:
        for kind in STREAMS:
            yield _service(sample, kind)
    if "drift" in parts:
        yield _drift(sample)
    if "noise" in parts:
        yield _noise(sample)


def _policies(sample: Sample, kind: str) -> Table:
    """Compare the vote policy with fixed thresholds on one kind of stream."""
    table = _table(
        f"{sample.corpus.name}, {kind}, {len(sample.seeds)} seeds",
        "policy|hits %|wrong %|worst seed|upper bound|above|explored|audits|hits % by tenth",
    )
    by_threshold = {threshold: sample.fixed(kind, threshold) for threshold in (*HINDSIGHT, FIXED)}
    table.add_row(f"fixed {FIXED}", *_cells(by_threshold[FIXED], None))
    for target in TARGETS:
        runs = sample.voted(kind, target)
        table.add_row(f"vote {target:.0%}", *_cells(runs, target))
        best = [_best(by_threshold, seed, target) for seed in range(len(sample.seeds))]
        table.add_row("  best fixed", *_cells(best, target))
    return table


def _service(sample: Sample, kind: str) -> Table:
    """Play one kind of stream through a sidecar, beside the simulation of it."""
    table = _table(
        f"{sample.corpus.name}, {kind}, {len(sample.seeds)} seeds",
        "policy|hits %|wrong %|worst seed|upper bound|above|explored|audits|hits % by tenth",
    )
    for target in TARGETS:
        table.add_row(f"sidecar {target:.0%}", *_cells(sample.served(kind, target), target))
        table.add_row("  simulated", *_cells(sample.voted(kind, target), target))
    return table


def _best(by_threshold: dict[float, list[Run]], seed: int, target: float) -> Run:
    """Return the run with the most hits among the fixed thresholds that kept the target."""
    kept = [runs[seed] for runs in by_threshold.values() if runs[seed].wrong_share <= target]
    return max(kept, key=lambda run: run.hits, default=Run())


def _cells(runs: Sequence[Run], target: float | None) -> list[str]:
    asked = sum(run.asked for run in runs) or 1
    served, wrong = sum(run.served for run in runs), sum(run.wrong for run in runs)
    audits = sum(run.outcomes[Outcome.AUDIT] for run in runs)
    explored = sum(sum(run.outcomes.values()) for run in runs) - served - audits
    above = sum(run.wrong_share > target for run in runs) if target is not None else 0
    voted_on = any(run.outcomes for run in runs)
    curves = [run.curve() for run in runs if run.asked]
    tenths = " ".join(f"{100 * mean(tenth):.0f}" for tenth in zip(*curves, strict=True))
    return [
        f"{100 * mean(run.hits for run in runs):.1f}",
        f"{100 * mean(run.wrong_share for run in runs):.2f}",
        f"{100 * max(run.wrong_share for run in runs):.2f}",
        f"{100 * upper_bound(wrong, served):.2f}" if served else "-",
        f"{above} of {len(runs)}" if target is not None else "",
        f"{100 * explored / asked:.1f}" if voted_on else "",
        f"{100 * audits / asked:.1f}" if voted_on else "",
        tenths,
    ]


def _drift(sample: Sample) -> Table:
    """Let the answers of one intent change, once an intent, in the middle of a stream."""
    stream = plain(sample.corpus, 0)
    at = min(_DRIFT_AT, len(stream) // 2)
    inside = [intent for intent in sorted(set(sample.corpus.intents)) if not intent.startswith("oos")]
    chosen = inside[:: max(1, len(inside) // _DRIFTS)][:_DRIFTS]
    title = f"{sample.corpus.name}: from request {at} on one intent has another answer; vote 2 %"
    table = _table(title, "intent|wrong serves of the old answer|most of one answer group")
    for intent in chosen:
        run = voted(
            stream, sample.cache(), VotePolicy(max_wrong=0.02), seed=0, drift=Drift(intent=intent, at=at)
        )
        table.add_row(intent, str(run.stale.total()), str(max(run.stale.values(), default=0)))
    return table


def _noise(sample: Sample) -> Table:
    """Let the comparison err, measure its noise by pairs of the same answer, and see what is refused."""
    targets = "|".join(f"vote {target:.0%}: hits %, wrong %" for target in TARGETS)
    title = f"{sample.corpus.name}: the same answer is called different"
    table = _table(title, f"planted|measured|between|{targets}")
    for planted in PLANTED:
        noise = Noise(false_different=planted)
        runs = {target: sample.voted("plain", target, noise) for target in TARGETS}
        measured = self_check(sample, noise)
        cells = []
        for target, of_target in runs.items():
            served = f"{100 * mean(run.hits for run in of_target):.1f}, "
            served += f"{100 * mean(run.wrong_share for run in of_target):.2f}"
            cells.append("refused" if refusal(target, measured) else served)
        between = f"{100 * measured.lower:.2f} and {100 * measured.upper:.2f} %"
        table.add_row(f"{planted:.1%}", f"{measured.share:.2%}", between, *cells)
    return table


def self_check(sample: Sample, noise: Noise) -> Measured:
    """Measure a comparison's noise by questions that are asked twice."""
    measured = Measured()
    for same in repeats(sample.cache(), noise, _SELF_CHECKED):
        measured = measured.add(same=same)
    return measured


def _table(title: str, columns: str) -> Table:
    """Return an empty table whose columns are named between bars."""
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for at, column in enumerate(columns.split("|")):
        table.add_column(column, justify="right" if at else "left", no_wrap=column.endswith("tenth"))
    return table


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="streams", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folders", nargs="+", type=Path, help="labelled questions")
    parser.add_argument("--embedder", choices=list(EMBEDDERS), default="minilm")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a part of the texts, two seeds at most")
    parser.add_argument("--vectors", type=Path, help="keep vectors in this folder")
    parser.add_argument(
        "--parts",
        nargs="+",
        choices=("streams", "drift", "noise", "service"),
        default=("streams", "drift", "noise"),
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
