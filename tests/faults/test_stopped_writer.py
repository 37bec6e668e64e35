"""A process that stopped in the middle of a write blocks every other writer, and nobody who reads."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from askonce_server import watching
from askonce_server.store import environment
from askonce_server.store.space import Bounds
from faults.sidecar_process import write_lock_held
from rpc.answers import answer
from rpc.harness import Gateway, Place
from rpc.replies import filed, verdict
from rpc.requests import describe, turns

STORES = 400
"""More than the server has threads."""


def map_bytes(server) -> int:
    return (server.place.store / "data.mdb").stat().st_size  # it is as long as the map


def timed(call):
    started = time.monotonic()
    result = call()
    return time.monotonic() - started, result


@pytest.fixture
def server(start, folder, monkeypatch):
    monkeypatch.setattr(watching, "_STORE_WATCH_SECONDS", 0.05)
    return start(folder)


def test_stores_are_refused_in_time_and_lookups_go_on(server, folder):
    server.gateway.fill(describe("kept"))
    tokens = [server.gateway.ask(describe(f"t{at}")).fill_token for at in range(8)]
    before = [timed(lambda: server.gateway.ask(describe("kept")))[0] for _ in range(100)]
    with (
        write_lock_held(folder / "store", map_bytes=map_bytes(server)) as holder,
        ThreadPoolExecutor(8) as pool,
    ):
        stores = [pool.submit(timed, lambda token=token: server.gateway.store(token)) for token in tokens]
        during = []
        while not all(store.done() for store in stores):
            took, found = timed(lambda: server.gateway.ask(describe("kept")))
            assert verdict(found) == "hit exact"
            assert verdict(server.gateway.ask(describe(messages=turns("new")))) == "miss"
            during.append(took)
        for store in stores:
            took, stored = store.result()
            assert filed(stored) == "store_failed"
            assert took < 2.6
        assert len(during) > 20
        assert statistics.median(during) < 10 * statistics.median(before) + 0.005
        took, stored = timed(lambda: server.gateway.store(describe("later")))
        assert filed(stored) == "store_failed"
        assert took < 0.5, "once it is known, nobody waits for it"
        assert server.gateway.serving() == "SERVING"
        wait_for(lambda: server.gateway.serving("askonce.store") == "NOT_SERVING")
        assert "stopped in the middle of a write" in server.sidecar.store.problem()
        holder.kill()
        wait_for(lambda: server.gateway.serving("askonce.store") == "SERVING")
    assert filed(server.gateway.store(describe("after"))) == "stored"
    assert verdict(server.gateway.ask(describe("after"))) == "hit exact"
    for at in range(8):
        assert verdict(server.gateway.ask(describe(f"t{at}"))) == "miss", "what was refused was not stored"


def wait_for(what, *, seconds=20.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if what():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come true in time")


def test_more_stores_than_threads_leave_threads_for_lookups(forked, folder):
    """Stores that wait for a commit hold threads; they never hold them all."""
    place = Place(folder)
    with forked.sidecar(place) as server, ThreadPoolExecutor(STORES) as pool:
        gateway = server.wait_until_serving()
        gateway.fill(describe("kept"))
        token = gateway.ask(describe("t")).fill_token
        channels = [Gateway(place.unix) for _ in range(8)]
        with write_lock_held(folder / "store", map_bytes=Bounds(64 << 20).map_bytes):
            stores = [pool.submit(channels[at % 8].store, token, answer(f"{at}")) for at in range(STORES)]
            times = []
            while not all(store.done() for store in stores):
                took, found = timed(lambda: gateway.ask(describe("kept")))
                assert verdict(found) == "hit exact"
                times.append(took)
            assert {filed(store.result()) for store in stores} == {"store_failed"}
        assert len(times) >= 3
        assert statistics.median(times) < 0.5
        for channel in (gateway, *channels):
            channel.close()


def test_a_restart_while_the_lock_is_held_passes_through(start, folder, monkeypatch):
    """Who cannot have the write lock at the start does not wait for it for ever."""
    monkeypatch.setattr(environment, "_OPEN_SECONDS", 0.3)
    monkeypatch.setattr(watching, "_STORE_WATCH_SECONDS", 0.05)
    first = start(folder, stats={"flush": "100ms"})
    first.gateway.fill(describe("kept"))
    wait_for(lambda: first.sidecar.store.counts_since(0, server=b"").counted.get("default", {}).get("stored"))
    size = map_bytes(first)
    with write_lock_held(folder / "store", map_bytes=size):
        first.stop()
        took, second = timed(lambda: start(folder))
        assert took < 10
        assert second.gateway.serving() == "SERVING"
        assert second.gateway.serving("askonce.store") == "NOT_SERVING"
        assert verdict(second.gateway.ask(describe("kept"))) == "bypass store_failed"
        assert "stopped in the middle of a write" in second.sidecar.store.problem()
