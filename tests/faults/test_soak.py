"""A long steady load: what a process holds must not grow. `make soak` runs it for ten minutes.

By then 200,000 different Lookups were made, 20,000 Stores into a store that is too small for them, and 10,000
channels were opened for one call each. A line is fitted through what was held after the first third, while
memos and indexes fill up to their bounds; its slope, times the length of the run, is what it grew by.
"""

from __future__ import annotations

import os
import statistics
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pytest

from askonce.v1 import admin_service_pb2
from faults.sidecar_process import SidecarProcess, sidecar
from faults.torture import Question, asked
from rpc.answers import answer_for
from rpc.harness import Gateway, Place
from rpc.replies import filed, outcome
from rpc.semantic import semantic

SECONDS = float(os.environ.get("SOAK_SECONDS", "600"))
LOOKUPS = round(SECONDS * 1000 / 3)
STORES_EVERY, CHANNELS_EVERY = 10, 20
CALLERS = 4
TENANTS = 50
MOST_RSS_KIB = 24 << 10
MOST_FILES, MOST_THREADS = 4, 2 * CALLERS
"""By how much each may grow, from the first third to the end: threads come with calls that happen to meet."""
MIB = 1 << 20
LIMIT_MIB = 16


@dataclass
class Samples:
    """What the process held, about once a second."""

    process: SidecarProcess
    at: list[float] = field(default_factory=list)
    rss: list[float] = field(default_factory=list)
    files: list[float] = field(default_factory=list)
    threads: list[float] = field(default_factory=list)
    used: list[int] = field(default_factory=list)

    def take(self, operator: Gateway) -> None:
        stats = operator.admin.GetStats(admin_service_pb2.GetStatsRequest(), timeout=30)
        self.at.append(time.monotonic())
        self.rss.append(self.process.status("VmRSS"))
        self.files.append(self.process.open_files())
        self.threads.append(self.process.status("Threads"))
        self.used.append(stats.store_bytes)

    def growth(self, held: list[float]) -> float:
        """By how much `held` grew on the line through all but the first third."""
        first = len(self.at) // 3
        slope = statistics.linear_regression(self.at[first:], held[first:]).slope
        return slope * (self.at[-1] - self.at[first])


class Load:
    """Lookups at a steady pace, every one new but for some that were stored a moment ago."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._began = time.monotonic()
        self.counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def run(self, caller: int) -> None:
        with Gateway(self._place.unix) as gateway:
            for number in range(caller, LOOKUPS, CALLERS):
                time.sleep(max(0.0, self._began + number * SECONDS / LOOKUPS - time.monotonic()))
                self._one(gateway, number)

    def _one(self, gateway: Gateway, number: int) -> None:
        question = asked(Question(number % TENANTS, number))
        decision = gateway.ask(question)
        self._count(outcome(decision))
        if number // CALLERS % STORES_EVERY == 0:
            said = filed(gateway.store(decision.fill_token, answer_for(question, "x" * (1 + number % 3000))))
            self._count(said)
            self._count(f"then {outcome(gateway.ask(question))}")
        if number // CALLERS % CHANNELS_EVERY == 0:
            with Gateway(self._place.tcp) as short:
                self._count(f"short {outcome(short.ask(question, omit_body=True))}")

    def _count(self, name: str) -> None:
        with self._lock:
            self.counts[name] += 1


@pytest.mark.thorough
@pytest.mark.timeout(3 * SECONDS + 300)
def test_what_it_holds_does_not_grow_under_a_long_load(folder, capsys):
    rules = semantic(threshold=0.999, low_threshold=0, ttl="1h")
    place = Place(folder, **rules, store={"max_bytes": f"{LIMIT_MIB}MiB"})
    with sidecar(place) as process, Gateway(place.admin) as operator:
        process.wait_until_serving().close()
        samples, load = Samples(process), Load(place)
        with ThreadPoolExecutor(CALLERS) as pool:
            running = [pool.submit(load.run, caller) for caller in range(CALLERS)]
            while not all(one.done() for one in running):
                samples.take(operator)
                time.sleep(1)
            for one in running:
                one.result()
        took = samples.at[-1] - samples.at[0]
        left = operator.admin.GetStats(admin_service_pb2.GetStatsRequest(), timeout=30)
        status = process.terminate()
    rss, files = samples.growth(samples.rss), samples.growth(samples.files)
    threads = samples.growth(samples.threads)
    last = f"{samples.rss[-1] / 1024:.0f} MiB, {samples.files[-1]:g} files, {samples.threads[-1]:g} threads"
    with capsys.disabled():
        print(  # noqa: T201 - the figures are what it is run for
            f"\n{took:.0f} s of soak: {dict(sorted(load.counts.items()))}; in the end {last}; grown in "
            f"two thirds: {rss / 1024:+.1f} MiB, {files:+.1f} files, {threads:+.1f} threads; store at "
            f"most {max(samples.used) / MIB:.1f} of {LIMIT_MIB} MiB, {left.entries} entries left"
        )
    counts = load.counts
    assert counts["miss"] == LOOKUPS
    assert counts["then hit"] == counts["stored"] >= LOOKUPS // STORES_EVERY - CALLERS
    assert counts["short hit"] >= LOOKUPS // CHANNELS_EVERY - CALLERS
    assert max(samples.used) <= LIMIT_MIB * MIB
    assert rss < MOST_RSS_KIB
    assert files < MOST_FILES
    assert threads < MOST_THREADS
    assert status == 0
