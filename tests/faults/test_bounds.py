"""More callers than the server has room for: the rest is turned away at once, and nothing stays behind."""

from __future__ import annotations

import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import grpc

from askonce_server import app
from askonce_server.rpc import permits
from askonce_server.rpc.permits import Limits
from faults.sidecar_process import sidecar
from rpc.harness import Place, short_folder
from rpc.replies import verdict
from rpc.requests import describe, request


def held_up(server, monkeypatch, callers: int, *, working: int) -> list[tuple[str, float]]:
    """What so many callers hear while the store answers nobody, and when; `working` wait for it."""
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
        with ThreadPoolExecutor(callers) as pool:
            calls = [pool.submit(ask, number) for number in range(callers)]
            while sum(call.done() for call in calls) < callers - working:
                time.sleep(0.01)
            let_go.set()
            return [call.result() for call in calls]


def test_lookups_beyond_the_queue_are_bypasses_at_once(start, monkeypatch):
    """Two work, four wait a second for a permit; the others need not wait to hear it."""
    monkeypatch.setattr(app, "limits_of", lambda _: Limits(threads=2, queued=4))
    server = start()
    results = held_up(server, monkeypatch, 40, working=2)
    assert Counter(said for said, _ in results) == {"miss": 2, "bypass over_budget": 38}
    waits = sorted(took for said, took in results if said != "miss")
    assert waits[-4] > 0.9
    assert waits[-5] < 0.9
    assert verdict(server.gateway.ask(describe())) == "miss"


def test_calls_beyond_the_threads_and_their_queue_are_turned_away_at_once(start, monkeypatch):
    """What the transport itself refuses: more calls than there is room for at all."""
    monkeypatch.setattr(app, "limits_of", lambda _: Limits(threads=2, queued=4, waiters=0, storing=1))
    monkeypatch.setattr(permits, "_SPARE_THREADS", 0)
    monkeypatch.setattr(app, "_QUEUED_PER_THREAD", 1)
    server = start()
    results = held_up(server, monkeypatch, 40, working=2)
    said = Counter(said for said, _ in results)
    assert set(said) == {"miss", "bypass over_budget", "RESOURCE_EXHAUSTED"}
    assert said["RESOURCE_EXHAUSTED"] > 0
    assert verdict(server.gateway.ask(describe())) == "miss"


def test_none_of_many_calls_that_come_at_once_is_lost():
    """They come together where the machine, or the server, stood still for a moment."""
    asked = request(describe())
    with (
        short_folder() as folder,
        sidecar(Place(folder)) as process,
        process.wait_until_serving() as gateway,
    ):
        process.send(signal.SIGSTOP)
        calls = [gateway.stub.Lookup.future(asked, timeout=120) for _ in range(3000)]
        process.send(signal.SIGCONT)
        assert Counter(call.code() for call in calls) == {grpc.StatusCode.OK: 3000}
