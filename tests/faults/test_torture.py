"""Everything at once, against a model of what must hold. `make torture` runs it for five minutes."""

from __future__ import annotations

import os
import threading
import time

import pytest

from faults.sidecar_process import sidecar
from faults.torture import Caller, Truth, disturb
from rpc.harness import Place
from rpc.semantic import semantic

SECONDS = float(os.environ.get("TORTURE_SECONDS", "20"))
CALLERS = 12


@pytest.mark.timeout(SECONDS + 300)
def test_nothing_wrong_nothing_lost_nothing_resurrected(folder, capsys):
    settings = semantic(threshold=0.999, low_threshold=0, coalesce={"lease": "2s"}, ttl="1h")
    place = Place(folder, **settings, workers=2, drain={"grace": "10s"})
    truth, done = Truth(), threading.Event()
    with sidecar(place) as server:
        server.wait_until_serving().close()
        callers = [Caller(place, truth, done, seed) for seed in range(CALLERS)]
        for one in callers:
            one.start()
        troubles = threading.Thread(target=disturb, args=(server, truth, done, 99), daemon=True)
        troubles.start()
        time.sleep(SECONDS)
        done.set()
        for one in (*callers, troubles):
            one.join(60)
            assert not one.is_alive()
        server.wait_until_serving().close()
        status = server.terminate()
    with capsys.disabled():
        print(  # noqa: T201 - the counts are what it is run for
            f"\n{SECONDS:g} s of torture: {dict(sorted(truth.counts.items()))}; wrong: {len(truth.wrong)}"
        )
    assert truth.wrong == []
    assert status == 0, server.log.read_text()[-3000:]
    assert truth.counts["hit"] > 5 * SECONDS
    assert truth.counts["late calls"] == 0
