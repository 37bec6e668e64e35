"""What reading a partition costs.

`python benchmarks/micro/vectors.py` files semantic entries of 384 dimensions into one partition and prints
how long it takes to read all of their vectors, alone and beside a busy thread, how long the state of the
partition and ten stored vectors take, and how many bytes of the file a Store takes.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import tempfile
import threading
import time
from pathlib import Path

import lmdb
import numpy as np

from askonce_server.core.entries import Answer, Body, EntryKey, Generations, SemanticRow, Write
from askonce_server.core.reasons import Matcher
from askonce_server.store import LmdbEntryStore, StoreSettings, open_store

DIM = 384
BODY_BYTES = 1500
FEATURES_BYTES = 120
SCOPE, PARTITION = hashlib.sha256(b"scope").digest(), hashlib.sha256(b"partition").digest()
_RANDOM = np.random.default_rng(1)


def write(number: int) -> Write:
    """Return a Store under an exact and a semantic key."""
    vector = _RANDOM.standard_normal(DIM).astype("<f4")
    vector /= np.linalg.norm(vector)
    name = hashlib.sha256(str(number).encode()).digest()
    keys = (
        EntryKey(Matcher.EXACT, SCOPE, name, hashlib.sha256(b"e" + name).digest()),
        EntryKey(Matcher.SEMANTIC, SCOPE, name, hashlib.sha256(b"s" + name).digest(), PARTITION),
    )
    answer = Answer(rule_id="chat", start_ms=1, store_ms=1, expire_ms=1 << 41, stream=False)
    body = Body(os.urandom(BODY_BYTES), "application/json")
    row = SemanticRow(vector.tobytes(), os.urandom(FEATURES_BYTES))
    return Write(SCOPE, Generations((), ()), keys, answer, body, row)


def seconds(store: LmdbEntryStore, rows: int) -> float:
    """Return how long one walk over the partition takes."""
    began = time.perf_counter()
    with store.read() as view:
        block = view.vectors(PARTITION, dim=DIM, limit=rows + 1)
    if block.vectors.shape != (rows, DIM):
        raise SystemExit(f"{block.vectors.shape} vectors were read of {rows}")
    return time.perf_counter() - began


def beside_a_busy_thread(store: LmdbEntryStore, rows: int) -> float:
    done = threading.Event()

    def work() -> None:
        while not done.is_set():
            sum(range(1000))

    busy = threading.Thread(target=work)
    busy.start()
    try:
        return seconds(store, rows)
    finally:
        done.set()
        busy.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    rows = parser.parse_args().rows
    print(f"python {platform.python_version()}, lmdb {lmdb.__version__}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as folder:
        settings = StoreSettings(
            path=Path(folder), max_bytes=4 << 30, durability="periodic", write_timeout=60
        )
        store = open_store(settings)
        for start in range(0, rows, 500):
            store.put([write(number) for number in range(start, min(start + 500, rows))])
        kept = BODY_BYTES + 4 * DIM
        used = store.stats().used_bytes / rows
        print(f"a Store takes {used:.0f} bytes, {used / kept:.2f} times body and vector")
        print(f"{rows} vectors: {min(seconds(store, rows) for _ in range(3)):.3f} s")
        print(f"the same beside a busy thread: {beside_a_busy_thread(store, rows):.3f} s")
        measure_recall(store, rows)
        store.close()


def measure_recall(store: LmdbEntryStore, rows: int) -> None:
    """Print what a recall asks of the store, each time of rows that nothing remembers."""
    state_seconds, stored_seconds, count = 0.0, 0.0, 500
    for turn in range(count):
        with store.read() as view:
            began = time.perf_counter()
            newest = view.partition(PARTITION).sequence
            middle = time.perf_counter()
            wanted = [newest - (turn * 10 + i) % rows for i in range(10)]
            found = view.stored_vectors(PARTITION, wanted)
            ended = time.perf_counter()
        if None in found:
            raise SystemExit("a vector was lost")
        state_seconds += middle - began
        stored_seconds += ended - middle
    print(f"the state of the partition: {state_seconds / count * 1e6:.1f} us")
    print(f"ten stored vectors: {stored_seconds / count * 1e6:.1f} us")


if __name__ == "__main__":
    main()
