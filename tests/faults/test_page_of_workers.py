"""The page of several workers: whichever answers shows what all of them did."""

from __future__ import annotations

import urllib3

from faults.crew import WORKERS, Crew, wait_until
from faults.sidecar_process import sidecar
from rpc.harness import Gateway, Place, free_port
from rpc.requests import describe, turns

ASKS = 8


def test_each_worker_shows_the_decisions_of_all(folder):
    address = f"127.0.0.1:{free_port()}"
    place = Place(folder, workers=WORKERS, telemetry={"listen": address})
    with sidecar(place) as process:
        crew = Crew(process)
        crew.wait_until_serving()
        asked = set()
        for number in range(WORKERS):
            with Gateway(crew.of(number)) as gateway:
                asked |= {gateway.ask(describe("acme", turns(f"{number}"))).decision_id for _ in range(ASKS)}
        assert len(asked) == WORKERS * ASKS
        for _ in range(6):  # each time another connection, which the kernel gives to one of them
            with urllib3.PoolManager() as pool:
                told = pool.request("GET", f"http://{address}/api/decisions").json()["decisions"]
                assert {one["decision_id"] for one in told} == asked
                overview = pool.request("GET", f"http://{address}/api/stats").json()
                assert overview["stats"]["misses"] == WORKERS * ASKS
                assert overview["server"]["workers"] == WORKERS

        def paced():
            pace = urllib3.request("GET", f"http://{address}/api/stats").json()["pace"]
            return sum(pace["misses"]) == WORKERS * ASKS

        wait_until(paced)
        assert process.terminate() == 0
