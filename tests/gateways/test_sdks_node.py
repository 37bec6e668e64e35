"""The official SDKs for Node through the gateways."""

from __future__ import annotations

import re

import pytest

from gateways.harness import HERE
from gateways.nodejs import install, needs_node, run

SDKS = HERE / "sdks_node"
TESTS = 14


@pytest.mark.timeout(600)
def test_the_sdks_for_node_get_the_same_objects_from_the_cache(gateway):
    needs_node()
    install(SDKS)
    where = {"GATEWAY_URL": gateway.url, "PROVIDER_URL": gateway.provider.url}
    printed = run("node", "--test", "--test-reporter=tap", "sdks.test.js", cwd=SDKS, **where)
    assert re.search(rf"^# pass {TESTS}$", printed, re.MULTILINE), printed
