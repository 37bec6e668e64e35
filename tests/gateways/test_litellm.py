"""LiteLLM with the example's cache, where LiteLLM is there: it is too large to be a dependency of tests."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys

import pytest

from faults.sidecar_process import sidecar
from gateways.fake_provider import FakeProvider
from gateways.harness import HERE, RULES, STORE, serving
from rpc.harness import Place, short_folder

CLIENT = HERE.parents[1] / "client" / "python"
STEPS = ["sync", "async", "stream", "async stream", "apart"]


def interpreter():
    if named := os.environ.get("LITELLM_PYTHON"):
        return named
    if importlib.util.find_spec("litellm") is None:
        pytest.skip("LiteLLM is not installed, and LITELLM_PYTHON names no Python that has it")
    return sys.executable


@pytest.mark.timeout(300)  # LiteLLM takes long to import
def test_litellm_is_answered_from_the_cache_and_without_a_sidecar_by_its_provider():
    python, provider = interpreter(), FakeProvider()
    paths = os.pathsep.join([str(CLIENT), str(CLIENT / "examples")])
    environ = {**os.environ, "PYTHONPATH": paths, "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    with short_folder() as folder, serving(provider):
        place = Place(folder, rules=RULES, store=STORE)
        with sidecar(place) as process:
            process.wait_until_serving().close()
            with subprocess.Popen(
                [python, str(HERE / "litellm_calls.py"), place.unix, provider.url],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=environ,
                text=True,
            ) as calls:
                assert [calls.stdout.readline().strip() for _ in STEPS] == STEPS
                process.terminate()
                assert calls.communicate("\n", timeout=120)[0].strip() == "without a sidecar"
                assert calls.returncode == 0
