"""Several workers tell of one server, at one address that is theirs alone."""

from __future__ import annotations

from faults.crew import Crew
from faults.sidecar_process import sidecar
from rpc.harness import Place, free_port, short_folder
from telemetry.collector import scraped


def test_an_address_of_workers_is_no_other_servers():
    address = f"127.0.0.1:{free_port()}"
    with short_folder() as mine, short_folder() as others:
        first = Place(mine, workers=2, telemetry={"listen": address})
        second = Place(others, workers=2, telemetry={"listen": address})
        with sidecar(first) as process:
            Crew(process).wait_until_serving()
            with sidecar(second) as other:
                assert other.process.wait(timeout=60) == 1
                assert f"cannot listen on {address}: Address already in use" in other.log.read_text()
            assert ("askonce_store_up", frozenset()) in scraped(address)
            assert process.terminate() == 0
