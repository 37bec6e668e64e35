"""A semantic Lookup in this process, quiet and beside a busy loop: `python -m benchmarks.micro.semantic`.

Questions are stored through the server's own methods, with vectors that the gateway sends, and asked for in
other words: the message is parsed, looked for by its exact and normalized keys, recalled, guarded and encoded
with its body; only the transport is left out. Rounds alternate; each question is asked once, so that nothing
that was decided is decided again. `busy` is a loop in a process of its own, on the other core of two.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from askonce.v1 import decision_pb2, decision_service_pb2, descriptor_pb2
from askonce_server.app import Sidecar
from askonce_server.config.load import load
from benchmarks.mixtures import Vectors, clusters, unit
from benchmarks.workload import described

DIM, ROUNDS, ASKED, BATCH = 384, 5, 200, 200
_DEADLINE_SECONDS, _NEAR = 10.0, 0.1
_THINGS = (
    "invoice",
    "parcel",
    "password",
    "account",
    "refund",
    "voucher",
    "licence",
    "address",
    "seat",
    "key",
)


class Context:
    """A call whose caller waits."""

    def time_remaining(self) -> float:
        """Return the seconds that are left."""
        return _DEADLINE_SECONDS

    def is_active(self) -> bool:
        """Return whether the caller is there."""
        return True


def descriptor(text: str, vector: np.ndarray) -> descriptor_pb2.RequestDescriptor:
    """Return a request for an answer to `text`."""
    body = {"model": "gpt-4o", "temperature": 0, "messages": [{"role": "user", "content": text}]}
    asked = described(body)
    asked.embedding.embedder, asked.embedding.values = "own", vector.astype("<f4").tobytes()
    return asked


def question(number: int) -> str:
    """Return a question, as it is stored."""
    return f"What happened to the {_THINGS[number % 10]} with number {number}?"


@contextmanager
def filled(vectors: Vectors) -> Iterator[Any]:
    """Return the methods of a server that has an answer for each of `vectors`."""
    with tempfile.TemporaryDirectory(prefix="askonce-bench-") as folder:
        rule = {"id": "near", "match": {"endpoint": "chat"}, "mode": "serve", "scope": ["tenant"]}
        rule |= {"strategy": ["exact", "normalized", "semantic"]}
        rule |= {"semantic": {"embedder": "own", "threshold": 0.95, "budget": "10s"}}
        document = {
            "listen": [f"unix://{folder}/askonce.sock"],
            "store": {"path": f"{folder}/store", "max_bytes": "2GiB", "durability": "periodic"},
            "embedders": {"own": {"kind": "provided", "dim": DIM}},
            "rules": [rule],
        }
        file = Path(folder) / "askonce.yaml"
        file.write_text(json.dumps(document))
        sidecar = Sidecar(load(file, {}))
        servicer: Any = sidecar._servicer  # noqa: SLF001 - the product's own methods, without a transport
        try:
            for first in range(0, len(vectors), BATCH):
                fill(servicer, range(first, min(first + BATCH, len(vectors))), vectors)
            yield servicer
        finally:
            sidecar.stop()


def fill(servicer: Any, numbers: Sequence[int], vectors: Vectors) -> None:
    """Store an answer to each question."""
    said = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"content": "It is there. " * 100}}]}
    answer = decision_service_pb2.UpstreamResponse(
        body=json.dumps(said).encode(),
        content_type="application/json",
        status_code=200,
        finish_reasons=["stop"],
    )
    items = [
        decision_service_pb2.StoreRequest(descriptor=descriptor(question(one), vectors[one]), response=answer)
        for one in numbers
    ]
    raw = servicer.batch_store(
        decision_service_pb2.BatchStoreRequest(items=items).SerializeToString(), Context()
    )
    results = decision_service_pb2.BatchStoreResponse.FromString(raw).results
    if any(one.response.outcome != decision_service_pb2.STORE_OUTCOME_STORED for one in results):
        raise SystemExit("the server refused an answer")


def lookups(vectors: Vectors, numbers: Sequence[int], *, round_: int) -> list[bytes]:
    """Return Lookups for stored questions in words that nobody used before, with vectors near to theirs."""
    noise = np.random.default_rng(round_).standard_normal((len(numbers), DIM)) * (_NEAR / np.sqrt(DIM))
    near = unit(vectors[list(numbers)] + noise)
    return [
        decision_service_pb2.LookupRequest(
            descriptor=descriptor(f"Hello{'!' * (round_ + 1)} {question(one)}", vector)
        ).SerializeToString()
        for one, vector in zip(numbers, near, strict=True)
    ]


def asked_us(servicer: Any, requests: Sequence[bytes]) -> list[float]:
    """Return how long each takes. Raises SystemExit when one is not a semantic hit."""
    times, answers = [], []
    for raw in requests:
        began = time.perf_counter()
        answers.append(servicer.lookup(raw, Context()))
        times.append((time.perf_counter() - began) * 1e6)
    found = [decision_service_pb2.LookupResponse.FromString(one).decision for one in answers]
    if any(one.kind != decision_pb2.MATCH_KIND_SEMANTIC or not one.candidate.body.data for one in found):
        raise SystemExit("a question was not a semantic hit")
    return times


@contextmanager
def busy() -> Iterator[None]:
    """Have a loop run beside."""
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as loop:
        try:
            time.sleep(0.2)
            yield
        finally:
            loop.kill()


def measure(count: int) -> None:
    """Print the row of one number of stored questions."""
    vectors = clusters(count, DIM, seed=1, of=count)
    choice = np.random.default_rng(3)
    with filled(vectors) as servicer:
        settle(servicer, vectors)
        columns: dict[str, list[float]] = {"quiet": [], "beside": []}
        p95: dict[str, list[float]] = {"quiet": [], "beside": []}
        for round_ in range(2 * ROUNDS):
            kind = "beside" if round_ % 2 else "quiet"
            numbers = choice.integers(0, count, ASKED).tolist()
            requests = lookups(vectors, numbers, round_=round_ + 1)
            if kind == "beside":
                with busy():
                    times = asked_us(servicer, requests)
            else:
                times = asked_us(servicer, requests)
            columns[kind].append(statistics.median(times))
            p95[kind].append(statistics.quantiles(times, n=20)[-1])
    quiet, beside = statistics.median(columns["quiet"]), statistics.median(columns["beside"])
    tails = " | ".join(f"{statistics.median(one):.0f}" for one in p95.values())
    print(f"| {count:,} | {quiet:.0f} | {beside:.0f} | {beside / quiet:.2f} | {tails} |", flush=True)


def settle(servicer: Any, vectors: Vectors) -> None:
    """Ask until the partition is loaded."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        (raw,) = lookups(vectors, [0], round_=0)
        decision = decision_service_pb2.LookupResponse.FromString(servicer.lookup(raw, Context())).decision
        if decision.kind == decision_pb2.MATCH_KIND_SEMANTIC:
            return
        time.sleep(0.01)
    raise SystemExit("the partition was not loaded")


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, nargs="*", default=[100, 1000, 10_000])
    print("| stored | p50 us | p50 us beside a busy loop | ratio | p95 us | p95 us beside |")
    print("|---:|---:|---:|---:|---:|---:|")
    for count in parser.parse_args().rows:
        measure(count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
