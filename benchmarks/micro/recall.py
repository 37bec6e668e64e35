"""Recall and exact re-ranking, through the index and the store: `python -m benchmarks.micro.recall`.

For each kind and number of vectors: the time of a recall of ten as a ratio to FAISS' IndexFlatIP with one
thread in the same run, between commits, and right after one, when nothing that was read is remembered; the
share of recalls that are identical to a comparison with every vector, also after a third was removed and a
quarter has expired; then small partitions, and a busy loop on the other core. `--rows 1000` for fewer.
"""

from __future__ import annotations

import argparse
import hashlib
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from askonce_server.core.entries import (
    Answer,
    Body,
    Entry,
    EntryKey,
    Generations,
    Neighbor,
    SemanticRow,
    Write,
)
from askonce_server.core.reasons import Matcher
from askonce_server.index import FaissVectorIndex
from askonce_server.index.exact import cosines
from askonce_server.index.library import faiss
from askonce_server.ports import PartitionLoading
from askonce_server.store import LmdbEntryStore, StoreSettings, open_store
from benchmarks.mixtures import KINDS, Vectors

DIM, K, ROUNDS, ASKED = 384, 10, 5, 200
GIB = 1 << 30
NOW_MS = 1_700_000_000_000
HOUR_MS = 3_600_000
Asked = Callable[[np.ndarray], object]


def write(name: str, vector: np.ndarray, *, partition: bytes, expire_ms: int = NOW_MS + HOUR_MS) -> Write:
    """Return a Store of one semantic entry."""
    text, entry_id = (hashlib.sha256(f"{part}/{name}".encode()).digest() for part in ("text", "entry"))
    key = EntryKey(Matcher.SEMANTIC, b"s" * 32, text, entry_id, partition)
    answer = Answer(rule_id="chat", start_ms=NOW_MS, store_ms=NOW_MS, expire_ms=expire_ms, stream=False)
    return Write(
        scope_root=b"r" * 32,
        generations=Generations((), ()),
        keys=(key,),
        answer=answer,
        body=Body(b"{}", "application/json"),
        semantic=SemanticRow(vector.tobytes(), b"f" * 200),
    )


def alive(entry: Entry) -> bool:
    """Whether an entry has not expired."""
    return entry.answer.expire_ms > NOW_MS


@dataclass
class Partition:
    """A partition of a store on the disk, and the index that recalls from it."""

    store: LmdbEntryStore
    index: FaissVectorIndex
    vectors: Vectors
    writes: list[Write]
    name: bytes = b"p" * 32

    def recall(self, vector: np.ndarray) -> list[Neighbor]:
        """Recall ten, as a Lookup does."""
        with self.store.read() as view:
            return self.index.recall(view, self.name, vector, k=K, alive=alive)

    def load(self) -> float:
        """Have the index load it; return the seconds."""
        began = time.perf_counter()
        while True:
            try:
                self.recall(self.vectors[0])
            except PartitionLoading:
                time.sleep(0.002)
            else:
                return time.perf_counter() - began

    def commit(self) -> None:
        """Store something elsewhere, so that the store remembers nothing of what it read."""
        self.store.put([write("elsewhere", self.vectors[0], partition=b"e" * 32)])


@contextmanager
def stored(vectors: Vectors) -> Iterator[Partition]:
    """Store `vectors` in a store of their own."""
    with tempfile.TemporaryDirectory() as folder:
        settings = StoreSettings(path=Path(folder) / "store", max_bytes=4 * GIB, durability="periodic")
        store = open_store(settings)
        index = FaissVectorIndex(store.read, max_bytes=GIB)
        name = Partition.name
        writes = [write(str(number), vector, partition=name) for number, vector in enumerate(vectors)]
        for at in range(0, len(writes), 500):
            if any(store.put(writes[at : at + 500])):
                raise SystemExit("the store refused a write")
        try:
            yield Partition(store, index, vectors, writes)
        finally:
            index.close()
            store.close()


def median_us(asked: Asked, probes: Vectors, before: Callable[[], None] | None = None) -> float:
    """Return the median time of a call, in microseconds."""
    times = []
    for probe in probes:
        if before is not None:
            before()
        began = time.perf_counter()
        asked(probe)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6


def ratios(partition: Partition, probes: Vectors) -> str:
    """Compare with IndexFlatIP, in rounds that alternate."""
    flat = faiss().IndexFlatIP(DIM)
    flat.add(partition.vectors)
    rounds = []
    for _ in range(ROUNDS):
        after_commit = median_us(partition.recall, probes, partition.commit)
        for probe in probes:
            partition.recall(probe)
        warm = median_us(partition.recall, probes)
        rounds.append((warm, after_commit, median_us(lambda probe: flat.search(probe[None], K), probes)))
    warm, after_commit, plain = (statistics.median(column) for column in zip(*rounds, strict=True))
    shares = f"{warm / plain:.3f} | {after_commit / plain:.3f}"
    return f"{plain:.0f} | {warm:.0f} | {after_commit:.0f} | {shares}"


def identical(partition: Partition, probes: Vectors, live: np.ndarray) -> tuple[int, int]:
    """Count the recalls whose best, and whose every, neighbour is that of a comparison with all vectors."""
    places = np.flatnonzero(live)
    best = every = 0
    for at in range(0, len(probes), 250):
        block = probes[at : at + 250]
        rough = block @ partition.vectors[places].T
        near = np.argpartition(-rough, min(64, len(places)) - 1, axis=1)[:, :64]
        for probe, found in zip(block, near, strict=True):
            rows = np.sort(places[found])
            ranked = sorted(zip(cosines(probe, partition.vectors[rows]), rows.tolist(), strict=True))[::-1][
                :K
            ]
            want = [(partition.writes[row].keys[0].entry_id, cosine) for cosine, row in ranked]
            got = [(one.entry.key.entry_id, one.similarity) for one in partition.recall(probe)]
            best += got[:1] == want[:1]
            every += got == want
    return best, every


def agreement(partition: Partition, probes: Vectors) -> str:
    """Say how many recalls are identical, before and after removals and expiry."""
    count = len(partition.vectors)
    live = np.ones(count, bool)
    shown = [identical(partition, probes, live)]
    numbers = np.arange(count)
    removed = numbers[numbers % 3 == 0]
    for at in range(0, len(removed), 500):
        partition.store.remove([partition.writes[number].keys[0] for number in removed[at : at + 500]])
    expired = numbers[(numbers % 4 == 1) & (numbers % 3 != 0)]
    live &= numbers % 3 != 0
    for at in range(0, len(expired), 500):
        partition.store.put([_expired(partition, number) for number in expired[at : at + 500].tolist()])
        partition.load()
    live[expired] = False
    shown.append(identical(partition, probes, live))
    return " | ".join(
        f"{one:.4f}" for pair in shown for one in (pair[0] / len(probes), pair[1] / len(probes))
    )


def _expired(partition: Partition, number: int) -> Write:
    return write(str(number), partition.vectors[number], partition=partition.name, expire_ms=NOW_MS)


def large(rows: Sequence[int], probe_count: int) -> None:
    """Print the table of large partitions."""
    print(
        "| vectors | rows | IndexFlatIP us | recall us | after a commit us | ratio | after a commit |", end=""
    )
    print(" loaded s | bytes a row | best | all ten | best, rows gone | all ten, rows gone |")
    print("|---|" + "---:|" * 12)
    for count in rows:
        for kind, make in KINDS.items():
            with stored(make(count, DIM, seed=1, of=count)) as partition:
                seconds = partition.load()
                size = partition.index.stats().used_bytes / count
                probes = make(probe_count, DIM, seed=2, of=count)
                measured = ratios(partition, probes[:ASKED])
                agreed = agreement(partition, probes)
            print(f"| {kind} | {count:,} | {measured} | {seconds:.2f} | {size:.0f} | {agreed} |", flush=True)


def small() -> None:
    """Print what a recall from a small partition takes."""
    print("\n| rows | recall us | after a commit us |\n|---:|---:|---:|")
    for count in (1, 10, 100, 1000):
        with stored(KINDS["clusters"](count, DIM, seed=1, of=count)) as partition:
            partition.load()
            probes = KINDS["clusters"](ASKED, DIM, seed=2, of=count)
            warm = min(median_us(partition.recall, probes) for _ in range(ROUNDS))
            cold = min(median_us(partition.recall, probes, partition.commit) for _ in range(ROUNDS))
            print(f"| {count:,} | {warm:.0f} | {cold:.0f} |", flush=True)


def busy(count: int) -> None:
    """Print how much longer a recall takes with a busy loop on the other core."""
    print("\n| vectors | rows | recall us | beside a busy loop us | ratio |\n|---|---:|---:|---:|---:|")
    for kind, make in KINDS.items():
        with stored(make(count, DIM, seed=1, of=count)) as partition:
            partition.load()
            probes = make(ASKED, DIM, seed=2, of=count)
            pairs = [
                (median_us(partition.recall, probes), _beside_a_loop(partition, probes))
                for _ in range(ROUNDS)
            ]
        quiet, beside = (statistics.median(column) for column in zip(*pairs, strict=True))
        print(f"| {kind} | {count:,} | {quiet:.0f} | {beside:.0f} | {beside / quiet:.2f} |", flush=True)


def _beside_a_loop(partition: Partition, probes: Vectors) -> float:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as loop:
        try:
            time.sleep(0.2)
            return median_us(partition.recall, probes)
        finally:
            loop.kill()


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="*", default=[1000, 10_000, 100_000])
    parser.add_argument("--probes", type=int, default=5000)
    arguments = parser.parse_args()
    print(f"numpy {np.__version__}, faiss {faiss().__version__}, {DIM} dimensions, ten neighbours\n")
    large(arguments.rows, arguments.probes)
    small()
    busy(10_000)
    return 0


if __name__ == "__main__":
    sys.exit(main())
