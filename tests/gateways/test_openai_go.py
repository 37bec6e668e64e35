"""The official OpenAI SDK for Go through the gateways."""

from __future__ import annotations

import pytest

from gateways.golang import needs_go, run
from gateways.harness import HERE


@pytest.mark.thorough  # the SDK is large, and compiling it takes longer than all other tests of a gateway
@pytest.mark.timeout(900)
def test_the_openai_sdk_for_go_gets_the_same_objects_from_the_cache(gateway):
    needs_go()
    where = {"GATEWAY_URL": gateway.url, "PROVIDER_URL": gateway.provider.url}
    quick = "-gcflags=github.com/openai/openai-go/v3/...=-N -l -dwarf=false"
    printed = run("go", "test", quick, "-count=1", "-v", "./...", cwd=HERE / "openai_go", **where)
    assert printed.count("    --- PASS") == 7
    assert "SKIP" not in printed
