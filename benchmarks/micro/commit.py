"""What group commit gains, and what a read costs.

`python benchmarks/micro/commit.py` writes the same Stores from 1 and from 64 threads while every commit is
slowed to 5 ms, and prints the ratio of acknowledged Stores per second and the Stores per commit.
`python benchmarks/micro/commit.py --read` prints the cost of each step of a hit, and of hashing a body.
Ratios are what to compare; times depend on the machine.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import sys
import tempfile
import threading
import time
import timeit
from pathlib import Path
from typing import TYPE_CHECKING

import lmdb

from askonce_server.clock import BootClock
from askonce_server.core.entries import Answer, Body, EntryKey, Generations, Usage, Write
from askonce_server.core.reasons import Matcher
from askonce_server.store import LmdbEntryStore, StoreSettings, open_store
from askonce_server.store.commits import commit_transaction

if TYPE_CHECKING:
    from collections.abc import Callable

    from askonce_server.store.layout import Transaction

COMMIT_SECONDS = 0.005
IN_FLIGHT = 64
BODY_BYTES = 1500


def slow_commit(txn: Transaction) -> None:
    """Commit like a disk that needs 5 ms."""
    time.sleep(COMMIT_SECONDS)
    txn.commit()


def write(name: str, *, body_bytes: int = BODY_BYTES) -> Write:
    """Return a Store under two keys."""

    def digest(*parts: str) -> bytes:
        return hashlib.sha256("/".join(parts).encode()).digest()

    keys = tuple(
        EntryKey(m, digest("scope", m.name), digest("print", name), digest("entry", m.name, name))
        for m in (Matcher.EXACT, Matcher.NORMALIZED)
    )
    now_ms = time.time_ns() // 1_000_000
    answer = Answer(
        rule_id="chat",
        start_ms=now_ms,
        store_ms=now_ms,
        expire_ms=now_ms + 3_600_000,
        stream=False,
        usage=Usage(900, 250),
        source_request_id="req-0123456789",
    )
    body = Body(os.urandom(body_bytes), "application/json")
    return Write(digest("root"), Generations((), ()), keys, answer, body)


def stores_per_second(store: LmdbEntryStore, label: str, *, threads: int, count: int) -> tuple[float, float]:
    """Store `count` answers from `threads` threads; return Stores per second and per commit."""
    writes = [[write(f"{label}-{t}-{i}") for i in range(count // threads)] for t in range(threads)]
    refused: list[object] = []

    def work(mine: list[Write]) -> None:
        for one in mine:
            refused.extend(result for result in store.put([one]) if result is not None)

    workers = [threading.Thread(target=work, args=(mine,)) for mine in writes]
    before = store.stats()
    began = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    seconds = time.perf_counter() - began
    after = store.stats()
    if refused:
        raise SystemExit(f"{len(refused)} Stores were refused: {refused[0]}")
    return count / seconds, (after.writes - before.writes) / (after.commits - before.commits)


def measure_commits(folder: Path, *, runs: int) -> bool:
    """Print the gain of group commit; return whether every run reached 8."""
    reached = True
    for title, commit in (
        ("commits slowed to 5 ms", slow_commit),
        ("commits as they are", commit_transaction),
    ):
        for run in range(runs):
            settings = StoreSettings(path=folder / f"{title[-2:]}-{run}", max_bytes=1 << 30)
            store = open_store(settings, commit=commit)
            single, _ = stores_per_second(store, "single", threads=1, count=100)
            grouped, each = stores_per_second(store, "grouped", threads=IN_FLIGHT, count=IN_FLIGHT * 40)
            store.close()
            print(
                f"{title}: 1 in flight {single:7.0f}/s, {IN_FLIGHT} in flight {grouped:7.0f}/s, "
                f"ratio {grouped / single:5.1f}, {each:5.1f} Stores per commit"
            )
            if commit is slow_commit:
                reached = reached and grouped / single >= 8 and each >= 8
    return reached


def report(name: str, call: Callable[[], object], *, per: int = 1, number: int = 2000) -> None:
    """Print the least CPU time of a call, in microseconds."""
    best = min(timeit.repeat(call, number=number, repeat=7, timer=time.thread_time))
    print(f"{name:45s} {best / number / per * 1e6:8.2f} us")


def measure_reads(folder: Path) -> None:
    """Print what a hit costs, step by step."""
    store = open_store(StoreSettings(path=folder / "read", max_bytes=1 << 28))
    writes = [write(f"read-{i}") for i in range(1000)]
    for i in range(0, 1000, 100):
        store.put(writes[i : i + 100])
    large = write("large", body_bytes=1 << 20)
    store.put([large])
    names = [hashlib.sha256(bytes([i])).digest() for i in range(5)]
    with store.read() as view:
        entries = [entry for w in writes if (entry := view.entry(w.keys[0])) is not None]
        large_entry = view.entry(large.keys[0])
        if large_entry is None:
            raise SystemExit("the large entry is gone")
        report("five generations", lambda: view.generations(names))
        report("an entry", lambda: [view.entry(w.keys[0]) for w in writes], per=1000, number=5)
        report("a body of 1.5 kB, verified", lambda: [view.body(e) for e in entries], per=1000, number=5)
        report("a body of 1 MiB, verified", lambda: view.body(large_entry), number=20)

    def view_only() -> None:
        with store.read():
            pass

    def hit() -> None:
        for one in writes:
            with store.read() as view:
                view.generations(names)
                entry = view.entry(one.keys[0])
                if entry is None or view.body(entry) is None:
                    raise SystemExit("a hit was lost")

    report("a view", view_only)
    report("a hit: view, generations, entry, body", hit, per=1000, number=5)
    small, mega = os.urandom(BODY_BYTES), os.urandom(1 << 20)
    report("SHA-256 of 1.5 kB", lambda: hashlib.sha256(small).digest())
    report("SHA-256 of 1 MiB", lambda: hashlib.sha256(mega).digest(), number=50)
    report("the clock", BootClock(store).now_ms)
    store.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--read", action="store_true", help="measure reads instead")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--folder", type=Path, help="where the store lies: the disk is part of the result")
    options = parser.parse_args()
    print(f"python {platform.python_version()}, lmdb {lmdb.__version__}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        if options.read:
            measure_reads(Path(folder))
        elif not measure_commits(Path(folder), runs=options.runs):
            sys.exit("group commit gained less than 8 times")


if __name__ == "__main__":
    main()
