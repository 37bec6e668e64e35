"""Which answers stay in a full store.

`python benchmarks/micro/eviction.py` asks for answers as gateways do (a few often, most rarely, many once
and never again) and files what misses. It prints the hit rate of the embedded store, of its twin in memory,
and of FIFO and LRU that hold as many answers as the embedded store held on average over the second half.
Exits with 1 when the store is not ahead of FIFO.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections import OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from askonce_server.core.entries import Answer, Body, EntryKey, Generations, Write
from askonce_server.core.reasons import Matcher
from askonce_server.store import LmdbEntryStore, MemoryEntryStore, StoreSettings, open_store

if TYPE_CHECKING:
    from collections.abc import Sequence

SCOPE = hashlib.sha256(b"scope").digest()
BODY = bytes(1500)
ONCE = 1 << 32
"""Names from here on are asked for once."""


def trace(*, requests: int, answers: int, skew: float, once: float, seed: int) -> list[int]:
    """Return which answer each request asks for: Zipf over `answers`, a share of `once` for no other's."""
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, answers + 1) ** skew
    asked = rng.choice(answers, size=requests, p=weights / weights.sum())
    single = rng.random(requests) < once
    return [ONCE + i if single[i] else int(asked[i]) for i in range(requests)]


def write(name: int) -> Write:
    fingerprint = hashlib.sha256(str(name).encode()).digest()
    key = EntryKey(Matcher.EXACT, SCOPE, fingerprint, hashlib.sha256(SCOPE + fingerprint).digest())
    answer = Answer(rule_id="chat", start_ms=1, store_ms=1, expire_ms=1 << 41, stream=False)
    return Write(SCOPE, Generations((), ()), (key,), answer, Body(BODY, "application/json"))


def store_rate(store: LmdbEntryStore | MemoryEntryStore, asked: Sequence[int]) -> tuple[float, int]:
    """Return the hit rate, and how many answers there were on average over the second half."""
    hits = total = 0
    held: list[int] = []
    for name in asked:
        total += 1
        wanted = write(name)
        with store.read() as view:
            entry = view.entry(wanted.keys[0])
            found = entry is not None and view.body(entry) is not None
        hits += found
        if not found and store.put([wanted]) != [None]:
            raise SystemExit("a Store was refused")
        if 2 * total > len(asked) and total % 50 == 0:
            held.append(store.stats().entries)
    return hits / total, sum(held) // len(held)


def list_rate(asked: Sequence[int], capacity: int, *, move: bool) -> float:
    """Return the hit rate of LRU (`move`) or FIFO over `capacity` answers."""
    held: OrderedDict[int, None] = OrderedDict()
    hits = total = 0
    for name in asked:
        total += 1
        if name in held:
            hits += 1
            if move:
                held.move_to_end(name)
        else:
            held[name] = None
            if len(held) > capacity:
                held.popitem(last=False)
    return hits / total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=40_000)
    parser.add_argument("--answers", type=int, default=20_000)
    parser.add_argument("--max-bytes", type=int, default=6 << 20)
    options = parser.parse_args()
    behind = False
    print("skew  once  answers held  embedded  in memory   LRU    FIFO")
    for skew, once in ((0.8, 0.2), (1.0, 0.0), (1.0, 0.3), (1.0, 0.6), (1.2, 0.3)):
        asked = trace(requests=options.requests, answers=options.answers, skew=skew, once=once, seed=1)
        with tempfile.TemporaryDirectory() as folder:
            settings = StoreSettings(
                path=Path(folder), max_bytes=options.max_bytes, durability="periodic", write_timeout=60
            )
            store = open_store(settings)
            ours, held = store_rate(store, asked)
            store.close()
        # The twin counts at most what rows take; it is given what the same number of answers takes.
        memory, _ = store_rate(MemoryEntryStore(max_bytes=held * (4096 + 1024)), asked)
        lru, fifo = (list_rate(asked, held, move=move) for move in (True, False))
        print(f"{skew:4.1f}  {once:4.1f}  {held:12d}  {ours:8.3f}  {memory:9.3f}  {lru:5.3f}  {fifo:5.3f}")
        behind = behind or ours <= fifo
    if behind:
        sys.exit("the store is not ahead of FIFO")


if __name__ == "__main__":
    main()
