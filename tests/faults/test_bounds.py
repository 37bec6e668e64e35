"""More callers than the server has room for: the rest is turned away at once, and nothing stays behind."""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import grpc

from askonce_server import app
from askonce_server.rpc.permits import Limits
from rpc.replies import verdict
from rpc.requests import describe


def test_calls_beyond_the_queue_are_turned_away_at_once(start, monkeypatch):
    """Two work, four wait for a permit, six wait for a thread; the others need not wait to hear it."""
    monkeypatch.setattr(app, "Limits", functools.partial(Limits, waiting=4))
    monkeypatch.setattr(app, "_QUEUED_PER_THREAD", 2)
    server = start(threads=2)
    let_go, read = threading.Event(), server.sidecar.store.read

    def slow():
        assert let_go.wait(30)
        return read()

    def ask(_number: int) -> tuple[str, float]:
        started = time.monotonic()
        try:
            said = verdict(server.gateway.ask(describe(), timeout=20))
        except grpc.RpcError as error:
            said = error.code().name
        return said, time.monotonic() - started

    with monkeypatch.context() as patch:
        patch.setattr(server.sidecar.store, "read", slow)
        with ThreadPoolExecutor(40) as pool:
            calls = [pool.submit(ask, number) for number in range(40)]
            while sum(call.done() for call in calls) < 38:  # all but the two that work
                time.sleep(0.01)
            let_go.set()
            results = [call.result() for call in calls]
    said = Counter(result for result, _ in results)
    assert set(said) == {"miss", "bypass over_budget", "RESOURCE_EXHAUSTED"}
    assert said["miss"] >= 2
    assert said["RESOURCE_EXHAUSTED"] >= 20
    assert max(took for result, took in results if result == "RESOURCE_EXHAUSTED") < 2.5
    assert verdict(server.gateway.ask(describe())) == "miss"
