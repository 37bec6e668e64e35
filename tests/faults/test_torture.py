"""Everything at once, against a model of what must hold. `make torture` runs it for five minutes.

It prints how often each thing was answered and done (`~`). These must not happen: an answer that is wrong,
purged, expired, replaced or refused; an acknowledged one that is lost; a lease that nobody has; threads and
files that pile up; an end that is not in order.

Calls beyond their time are counted. Those at calm, after the last disturbance, are the server's own: before
that a worker that is stopped or starts cannot answer. What this process itself lost, between its threads and
to others of the machine, is measured by a metronome and taken off.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from struct import Struct

import lmdb
import pytest

from embed.fakes import serving
from faults.crew import Crew, wait_until
from faults.disturbances import Disturbances, MovedClock, disk_for_the_store
from faults.sidecar_process import sidecar
from faults.torture import LEASE_SECONDS, Caller, Run, Sent, asked, embeds, settings
from faults.truth import Truth
from rpc.harness import Gateway, Place
from rpc.replies import verdict

SECONDS = float(os.environ.get("TORTURE_SECONDS", "10"))
CALLERS = 12
CALM_SECONDS = max(3.0, SECONDS / 20)
"""How long the callers go on after the last disturbance."""
MORE_FILES, MORE_THREADS = 16, 4 * CALLERS
"""What a worker that has served all callers may hold, beyond one that has just started: a thread for each of
the calls that it had under way at once, those included whose callers had gone while it was paused."""
LATE_SHARE = 0.05
"""On a machine that may be too busy, for a moment, to run two workers: one call of each caller, and some."""
DISTURBED = (
    "was killed by SIGKILL",
    "has not been heard of for 3 s: killing it",
    "was read again",
    "has mistakes, and the one before it stays",
    "the wall clock is +3600",
)
"""What the log says when the disturbances are felt."""
_LEASE = Struct(">16sqQ")


@contextmanager
def tormented(folder: Path):
    """Yield a run over a sidecar, what will disturb it, and the disk of its store or None."""
    with ExitStack() as stack:
        service = stack.enter_context(serving(embeds))
        disk = stack.enter_context(disk_for_the_store(folder, "64m"))
        clock = MovedClock(folder)
        store = {"path": str((folder if disk is None else disk.path) / "store")}
        more = {"workers": 2, "drain": {"grace": "10s"}, "store": store}
        place = Place(folder, **settings(service.url), **more)
        process = stack.enter_context(sidecar(place, clock.environ))
        run = Run(Crew(process))
        run.crew.wait_until_serving()
        yield run, Disturbances(run.crew, run.truth, service=service, clock=clock, disk=disk, seed=99), disk


@pytest.mark.timeout(SECONDS + 300)
def test_nothing_wrong_nothing_lost_nothing_resurrected(folder, capsys):
    with tormented(folder) as (run, disturbances, disk):
        crew, truth = run.crew, run.truth
        fresh = held(crew)
        callers = [Caller(run, seed) for seed in range(CALLERS)]
        for one in (run.metronome, *callers, disturbances):
            one.start()
        disturbances.done.wait(SECONDS)
        disturbances.done.set()
        disturbances.join(60)
        crew.wait_until_serving()
        calm, run.calm = time.monotonic(), True
        time.sleep(CALM_SECONDS)
        run.done.set()
        for one in callers:
            one.join(60)
        kept = leases_kept(folder if disk is None else disk.path, run, since=calm)
        reckon(run)
        idle = settled(crew, fresh)
        log = crew.process.log.read_text()
        status = crew.process.terminate()
        run.metronome.stop()
    hits = sum(number for name, number in truth.counts.items() if name.startswith("hit "))
    with capsys.disabled():
        print(  # noqa: T201 - the counts are what it is run for
            f"\n{SECONDS:g} s of torture: {dict(sorted(truth.counts.items()))}; wrong: {len(truth.wrong)}; "
            f"leases kept by nobody: {kept}; threads and files of workers: {fresh} at first, {idle} at last"
            + ("" if disk is not None else "; the disk was never full: a small one cannot be mounted here")
        )
    assert truth.wrong == []
    assert not any(one.is_alive() for one in (*callers, disturbances))
    assert kept == 0
    assert max(threads for threads, _ in idle) <= fresh[0][0] + MORE_THREADS
    assert max(files for _, files in idle) <= fresh[0][1] + MORE_FILES
    assert status == 0, log[-3000:]
    assert hits > SECONDS, "it answers all along"
    assert late_at_calm(truth) <= LATE_SHARE
    assert [said for said in DISTURBED if said not in log] == []


def late_at_calm(truth: Truth) -> float:
    """Return the share of calls that were not answered in their time although nothing was disturbed."""
    said = {name: number for name, number in truth.counts.items() if name.startswith("calm: ")}
    late = sum(number for name, number in said.items() if "beyond" in name or "deadline_exceeded" in name)
    return late / sum(number for name, number in said.items() if "of at most" in name)


def held(crew: Crew) -> list[tuple[int, int]]:
    """Return how many threads and open files each worker has."""
    return [
        (len(list(Path(f"/proc/{pid}/task").iterdir())), len(list(Path(f"/proc/{pid}/fd").iterdir())))
        for pid in crew.pids()
    ]


def settled(crew: Crew, fresh: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the same once connections that ended are let go of, at the latest after a while."""
    deadline = time.monotonic() + 10
    while (now := held(crew)) and time.monotonic() < deadline:
        if all(files <= fresh[0][1] for _, files in now):
            break
        time.sleep(0.1)
    return now


def leases_kept(place: Path, run: Run, *, since: float) -> int:
    """Count leases that are held although, while all was calm, their holders gave them back."""
    (folder,) = (place / "store").glob("leases-*")
    now_ms = time.time() * 1000
    with lmdb.open(str(folder), readonly=True) as leases, leases.begin() as txn:
        rows = [_LEASE.unpack(value) for _, value in txn.cursor()]
    given_back = {holder for holder, at in run.given_back.items() if at > since}
    assert given_back, f"nobody gave a lease of {LEASE_SECONDS:g} s back in the end"
    return sum(until_ms > now_ms and holder in given_back for holder, until_ms, _ in rows)


def reckon(run: Run) -> None:
    """Ask every worker for everything, now that nothing is under way."""
    truth, crew = run.truth, run.crew
    for number in range(crew.workers):
        with Gateway(crew.of(number)) as gateway:
            wait_until(lambda gateway=gateway: gateway.serving() == "SERVING")
            for question in truth.questions():
                sent = Sent(truth, question)
                decision = gateway.ask(asked(question))
                truth.count(f"in the end {verdict(decision)}")
                sent.judge(decision)
