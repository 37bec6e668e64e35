"""The purge of a tenant with 100,000 entries, through the server and two workers."""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from contextlib import ExitStack

import pytest

from askonce.v1 import admin_service_pb2
from faults.crew import WORKERS, Crew, wait_until
from faults.sidecar_process import sidecar
from rpc.answers import answer, storing
from rpc.harness import Gateway, Place
from rpc.replies import verdict
from rpc.requests import describe, turns

STORES = 50_000
ENTRIES = 2 * STORES
"""An exact and a normalized one of each."""
BATCH = 250
SAMPLE = 300
PURGE_SECONDS = 0.010
WITHIN_SECONDS = 120


def question(number: int, *, tenant: str = "large"):
    return describe(tenant, turns(f"question number {number}"))


def fill(gateway: Gateway, *, tenant: str) -> None:
    body = answer("x" * 300)
    for first in range(0, STORES, BATCH):
        batch = [storing(question(number, tenant=tenant), body) for number in range(first, first + BATCH)]
        results = gateway.store_all(batch)
        assert all(result.response.outcome == 1 for result in results), results[0]


def purge(operator: Gateway, **more):
    wanted = admin_service_pb2.PurgeRequest(dim={"name": "tenant", "value": "large"}, **more)
    began = time.perf_counter()
    purged = operator.admin.Purge(wanted, timeout=30)
    return purged, time.perf_counter() - began


def stats(operator: Gateway):
    return operator.admin.GetStats(admin_service_pb2.GetStatsRequest(), timeout=30)


@pytest.mark.thorough
@pytest.mark.timeout(1200)
def test_a_tenant_with_many_entries_is_purged_at_once_and_its_room_is_used_again(folder, capsys):
    place = Place(
        folder,
        workers=WORKERS,
        rules=[{"id": "chat", "ttl": "1h"}],
        store={"max_bytes": "1GiB"},
        sweep={"purge_within": f"{WITHIN_SECONDS}s"},
    )
    with sidecar(place) as process, ExitStack() as stack:
        crew = Crew(process)
        crew.wait_until_serving()
        each = [stack.enter_context(Gateway(crew.of(number))) for number in range(WORKERS)]
        operator = stack.enter_context(Gateway(place.admin))
        each[0].fill(describe("other"))
        fill(each[0], tenant="large")
        full = stats(operator)
        assert full.entries == ENTRIES + 2
        counted, counting = purge(operator, dry_run=True)
        assert counted.entries == ENTRIES
        assert verdicts(each) == Counter({"hit exact": SAMPLE * WORKERS})
        purged, first = purge(operator)
        assert verdicts(each) == Counter({"miss": SAMPLE * WORKERS})
        assert purged.entries == counted.entries, "as many as were counted"
        times = [first, *(purge(operator)[1] for _ in range(10))]
        began = time.monotonic()
        wait_until(lambda: stats(operator).entries == 2, process.log.read_text, seconds=WITHIN_SECONDS)
        gone = time.monotonic() - began
        assert [verdict(gateway.ask(describe("other"))) for gateway in each] == ["hit exact"] * WORKERS
        blocks = (place.store / "data.mdb").stat().st_blocks
        emptied = stats(operator).store_bytes
        fill(each[1], tenant="next")
        more = (place.store / "data.mdb").stat().st_blocks / blocks - 1
        with capsys.disabled():
            print(  # noqa: T201 - the figures are what it is run for
                f"\npurge of {ENTRIES} entries through the server: {first * 1000:.1f} ms, then in the median "
                f"{statistics.median(times) * 1000:.1f}; counted in {counting * 1000:.1f} ms; gone from the "
                f"disk in {gone:.1f} s; in use {full.store_bytes >> 20} MiB before, {emptied >> 20} after; "
                f"the file grew by {more:.1%} when as much was stored again"
            )
        assert process.terminate() == 0
    assert min(times) < PURGE_SECONDS
    assert emptied < full.store_bytes / 10
    assert more < 0.05


def verdicts(each: list[Gateway]) -> Counter[str]:
    """What every worker answers to a sample of the questions."""
    sample = random.Random(7).sample(range(STORES), SAMPLE)
    return Counter(verdict(gateway.ask(question(number))) for number in sample for gateway in each)
