"""Forms of an index, one beside the other: `python -m benchmarks.micro.forms`.

For each kind and number of vectors and each form: the time of a search of the form alone as a ratio to FAISS'
IndexFlatIP with one thread in the same run, how many candidates it proposed, the share of searches whose
best, and whose ten nearest, are among these, the seconds to build it, and its bytes a vector. `--graphs`
builds HNSW too, which takes minutes at 100,000.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from askonce_server.index.codes import Codes
from askonce_server.index.flat import FlatRows
from askonce_server.index.library import faiss
from askonce_server.index.scan import Scan
from askonce_server.index.sketch import Sketch
from askonce_server.ports import VectorBlock
from benchmarks.mixtures import KINDS, Vectors

DIM, K, ROUNDS, ASKED = 384, 10, 5, 100
Search = Callable[[np.ndarray], np.ndarray]
"""A vector to the places of candidates."""


class Form(NamedTuple):
    """One form of an index over given vectors."""

    name: str
    search: Search
    build_seconds: float
    bytes_a_vector: float


def forms(vectors: Vectors, *, graphs: bool) -> Iterator[Form]:
    """Build each form in turn."""
    yield from plain(vectors)
    yield from quantized(vectors)
    yield from sketches(vectors)
    if graphs:
        yield from hnsw(vectors)


def plain(vectors: Vectors) -> Iterator[Form]:
    """Scan the vectors as they are, in numpy: the form of small partitions."""
    count, dim = vectors.shape
    rows = FlatRows.empty(dim).extended(VectorBlock(np.arange(count), vectors))
    yield Form("float32, numpy", lambda probe: rows.search(probe, K, 1).sequences, 0, rows.used_bytes / count)


def quantized(vectors: Vectors) -> Iterator[Form]:
    """Scan fewer bits with FAISS' scalar quantizers, and signs alone."""
    library, dim = faiss(), vectors.shape[1]
    kinds, whole = library.ScalarQuantizer, 127 / np.abs(vectors).max()
    for name, kind, scale in (
        ("16-bit floats, FAISS", kinds.QT_fp16, 1.0),
        ("8 bits, FAISS uniform", kinds.QT_8bit_uniform, 1.0),
        ("8 bits, FAISS direct signed", kinds.QT_8bit_direct_signed, whole),
    ):
        index = library.IndexScalarQuantizer(dim, kind, library.METRIC_INNER_PRODUCT)
        began = time.perf_counter()
        index.train(vectors)
        index.add(np.rint(vectors * scale) if scale != 1 else vectors)
        yield Form(name, _scaled(index, scale), time.perf_counter() - began, index.code_size)
    signs = library.IndexBinaryFlat(dim)
    began = time.perf_counter()
    signs.add(np.packbits(vectors > 0, axis=1))
    yield Form("signs", _signs(signs), time.perf_counter() - began, dim / 8)


def sketches(vectors: Vectors) -> Iterator[Form]:
    """Scan sketches by themselves, and with the codes that rank what they propose, as the index does."""
    count = len(vectors)
    began = time.perf_counter()
    codes = Codes.of(vectors)
    coded = time.perf_counter() - began
    for bits in (1, 2, 4):
        began = time.perf_counter()
        scan = Scan(codes, bits=bits)
        seconds = time.perf_counter() - began
        for proposed in (96, 512):
            yield Form(
                f"{bits}-bit sketch",
                lambda probe, scan=scan, proposed=proposed: scan.best(probe[None], proposed)[1][0],
                seconds,
                scan.used_bytes / count,
            )
    began = time.perf_counter()
    sketch = Sketch.of(np.arange(count), codes)
    seconds = coded + time.perf_counter() - began
    yield Form("ours", lambda probe: sketch.search(probe, K, 1).sequences, seconds, sketch.used_bytes / count)


def hnsw(vectors: Vectors) -> Iterator[Form]:
    """Search a graph, with 32 edges a vector."""
    library, (_, dim) = faiss(), vectors.shape
    graph = library.IndexHNSWFlat(dim, 32, library.METRIC_INNER_PRODUCT)
    graph.hnsw.efConstruction = 100
    began = time.perf_counter()
    graph.add(vectors)
    seconds = time.perf_counter() - began
    for effort in (64, 256):
        parameters = library.SearchParametersHNSW(efSearch=effort)
        yield Form(
            f"HNSW, efSearch {effort}",
            lambda probe, parameters=parameters: graph.search(probe[None], 32, params=parameters)[1][0],
            seconds,
            4 * dim + 4 * 2 * 32,
        )


def _scaled(index: Any, scale: float) -> Search:
    return lambda probe: index.search(probe[None] * np.float32(scale), 32)[1][0]


def _signs(index: Any) -> Search:
    return lambda probe: index.search(np.packbits(probe[None] > 0, axis=1), 512)[1][0]


def median_us(search: Search, probes: Vectors) -> float:
    """Return the median time of a search, in microseconds."""
    times = []
    for probe in probes:
        began = time.perf_counter()
        search(probe)
        times.append(time.perf_counter() - began)
    return statistics.median(times) * 1e6


def shares(search: Search, probes: Vectors, nearest: np.ndarray) -> tuple[float, float, float]:
    """Return how many were proposed on average, and how often the best and all ten are among them."""
    found = [set(search(probe).tolist()) for probe in probes]
    best = [row[0] in one for row, one in zip(nearest.tolist(), found, strict=True)]
    every = [one.issuperset(row) for row, one in zip(nearest.tolist(), found, strict=True)]
    return statistics.mean(map(len, found)), statistics.mean(best), statistics.mean(every)


def measure(kind: str, count: int, *, graphs: bool) -> None:
    """Print the rows of one kind and number of vectors."""
    vectors = KINDS[kind](count, DIM, seed=1, of=count)
    probes = KINDS[kind](ASKED, DIM, seed=2, of=count)
    flat = faiss().IndexFlatIP(DIM)
    flat.add(vectors)
    nearest = flat.search(probes, K)[1]
    for form in forms(vectors, graphs=graphs):
        rounds = [
            (median_us(form.search, probes), median_us(lambda probe: flat.search(probe[None], K), probes))
            for _ in range(ROUNDS)
        ]
        mine, plain_us = (statistics.median(column) for column in zip(*rounds, strict=True))
        proposed, best, every = shares(form.search, probes, nearest)
        print(
            f"| {kind} | {count:,} | {form.name} | {proposed:.0f} | {mine:.0f} | {mine / plain_us:.3f} "
            f"| {best:.2f} | {every:.2f} | {form.build_seconds:.2f} | {form.bytes_a_vector:.0f} |",
            flush=True,
        )


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="*", default=[1000, 3000, 10_000, 30_000, 100_000])
    parser.add_argument("--graphs", action="store_true")
    arguments = parser.parse_args()
    print(f"numpy {np.__version__}, faiss {faiss().__version__}, {DIM} dimensions, one thread\n")
    print("| vectors | rows | form | proposed | us | ratio | best | all ten | built s | bytes |")
    print("|---|---:|---|" + "---:|" * 7)
    for count in arguments.rows:
        for kind in KINDS:
            measure(kind, count, graphs=arguments.graphs)
    return 0


if __name__ == "__main__":
    sys.exit(main())
