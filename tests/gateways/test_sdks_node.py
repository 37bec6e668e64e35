"""The official SDKs for Node through the gateways, and through a fetch that asks the cache."""

from __future__ import annotations

import re

import pytest

from faults.sidecar_process import sidecar
from gateways.fake_provider import FakeProvider
from gateways.harness import HERE, RULES, STORE, serving
from gateways.nodejs import built, install, needs_node, run
from rpc.harness import Place, short_folder

SDKS = HERE / "sdks_node"
TESTS = 14
FETCH_TESTS = 9


def passed(*tests: str, **where: str) -> int:
    """How many tests passed; fails unless all did."""
    needs_node()
    install(SDKS)
    printed = run("node", "--test", "--test-reporter=tap", *tests, cwd=SDKS, **where)
    found = re.search(r"^# pass (\d+)$", printed, re.MULTILINE)
    assert found is not None, printed
    return int(found[1])


@pytest.mark.timeout(600)
def test_the_sdks_for_node_get_the_same_objects_from_the_cache(gateway):
    where = {"GATEWAY_URL": gateway.url, "PROVIDER_URL": gateway.provider.url}
    assert passed("sdks.test.js", **where) == TESTS


@pytest.mark.timeout(600)
def test_a_fetch_that_asks_the_cache_serves_programs_and_the_sdks_for_node():
    needs_node()
    built()
    provider = FakeProvider()
    with short_folder() as folder, serving(provider):
        place = Place(folder, rules=RULES, store=STORE)
        with sidecar(place) as process:
            process.wait_until_serving().close()
            where = {"PROVIDER_URL": provider.url, "SIDECAR": place.unix}
            assert passed("sdks.test.js", **where) == TESTS
            assert passed("fetch.test.js", **where, SIDECAR_PID=str(process.pid)) == FETCH_TESTS
