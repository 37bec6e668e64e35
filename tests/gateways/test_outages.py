"""An unwell sidecar, behind the example gateways: no caller notices more than its budget."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from faults.sidecar_process import sidecar
from gateways.harness import until, world

pytestmark = [pytest.mark.timeout(600), pytest.mark.thorough]  # each client has an outage test of its own

CHAT = "/v1/chat/completions"
BUDGET_MS = 100
CALLERS, REQUESTS = 20, 200
SLACK_SECONDS = 10
"""What a busy machine adds by itself; what must not be there is a wait for a sidecar that says nothing."""


def burst(gateway, phase):
    """Ask many questions, a third of them the same few, and return how long the slowest took."""

    def ask(number):
        text = f"{phase} {number}" if number % 3 else f"the same {number % 10}"
        began = time.monotonic()
        answer = gateway.post(CHAT, gateway.chat(text))
        assert answer.status == 200, answer.data
        assert b"Answer" in answer.data
        return time.monotonic() - began

    with ThreadPoolExecutor(CALLERS) as pool:
        return max(pool.map(ask, range(REQUESTS)))


def circuit(gateway):
    return [line for line in gateway.log if "circuit" in line]


def test_nobody_notices_that_the_sidecar_is_killed_restarted_and_stopped(command):
    with world(command, budget_ms=BUDGET_MS) as gateway:
        burst(gateway, "well")
        gateway.sidecar.kill()
        burst(gateway, "killed")
        assert any("circuit open" in line for line in circuit(gateway))
        with sidecar(gateway.sidecar.place) as restarted:
            restarted.wait_until_serving().close()

            def asked_again():
                burst(gateway, "restarted")
                return "circuit closed" in circuit(gateway)[-1]

            until(asked_again, seconds=120)
            restarted.send(signal.SIGSTOP)
            try:
                slowest = burst(gateway, "stopped")
            finally:
                restarted.send(signal.SIGCONT)
            assert slowest < SLACK_SECONDS
            until(asked_again, seconds=120)
        assert len(gateway.log) < 100, "".join(gateway.log)
