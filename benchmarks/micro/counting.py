"""What counting costs: `python benchmarks/micro/counting.py`.

Microseconds to count one decision with all that is told of it, in one process and in memory that workers
share, without what it takes to call a function; and milliseconds to read all counts of 1, 10 and 200 rules,
each with fifty things counted, and to have them kept by a store on disk.
"""

from __future__ import annotations

import tempfile
import time
import timeit
from collections.abc import Callable
from pathlib import Path

from askonce_server.core.decision import Candidate, Decision
from askonce_server.core.entries import Answer, Entry, EntryKey
from askonce_server.core.reasons import Matcher, Outcome
from askonce_server.ports import Counts
from askonce_server.service.call import Call
from askonce_server.service.tallies import Tallies
from askonce_server.store import StoreSettings, open_store
from askonce_server.workers.counts import SharedCounts, make_memory

ROUNDS, CALLS = 15, 20_000
RULES = (1, 10, 200)
NAMES = 50

_ANSWER = Answer("chat", start_ms=0, store_ms=0, expire_ms=1, stream=False, cost_usd=0.0125)
_ENTRY = Entry(
    EntryKey(Matcher.EXACT, bytes(32), bytes(32), bytes(32)), _ANSWER, bytes(32), store_id=1, body_bytes=9
)
DECISIONS = {
    "hit": Decision(Outcome.HIT, 0, rule_id="chat", kind=Matcher.EXACT, candidate=Candidate(entry=_ENTRY)),
    "miss": Decision(Outcome.MISS, 0, rule_id="chat"),
}


def main() -> None:
    memory = make_memory(4)
    for where, counts in (("one process", None), ("shared memory", SharedCounts(memory, worker=0))):
        tallies = Tallies(counts)
        for name, decision in DECISIONS.items():
            call = Call()
            own = _least(
                lambda tallies=tallies, decision=decision, call=call: tallies.decided(decision, call)
            )
            print(f"a {name}, {where}: {own - _least(_nothing):.2f} us")
    for rules in RULES:
        _all_counts(rules)


def _all_counts(rules: int) -> None:
    """Print what reading, and keeping, everything takes with so many rules, of four workers."""
    memory = make_memory(4)
    for worker in range(4):
        _fill(SharedCounts(memory, worker=worker), rules)
    tallies = Tallies(SharedCounts(memory, worker=0))
    tallies.counted()
    reading = min(timeit.repeat(tallies.counted, number=1, repeat=ROUNDS))
    with tempfile.TemporaryDirectory() as folder:
        store = open_store(StoreSettings(path=Path(folder), max_bytes=256 << 20), exclusive=True)
        keeping = []
        for _ in range(ROUNDS):
            _fill(SharedCounts(memory, worker=0), rules)
            counted = tallies.counted()
            began = time.perf_counter()
            store.add_counts(b"server", counted, at_ms=0)
            keeping.append(time.perf_counter() - began)
        store.close()
    print(f"{rules} rules: {reading * 1e3:.2f} ms to read, {min(keeping) * 1e3:.2f} ms to keep")


def _fill(counts: Counts, rules: int) -> None:
    for rule in range(rules):
        for name in range(NAMES):
            counts.add(f"rule-{rule}|took.hit.{name}")


def _least(work: Callable[[], object]) -> float:
    return min(timeit.repeat(work, number=CALLS, repeat=ROUNDS)) / CALLS * 1e6


def _nothing() -> None:
    pass


if __name__ == "__main__":
    main()
