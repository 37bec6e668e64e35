"""More callers than the server can work for: each is answered in time; what nobody waits for is not done."""

from __future__ import annotations

import functools
import threading
import time
from collections import Counter
from contextlib import ExitStack
from typing import Any

import grpc
import pytest

from askonce.v1 import decision_service_pb2
from askonce_server import needs
from askonce_server.rpc.permits import Limits
from rpc.harness import Gateway
from rpc.replies import outcome, verdict
from rpc.requests import describe, request, turns

LATE_SECONDS = 0.2


class Flood:
    """Callers that all ask at once, `rounds` times: again when the deadline of the last round is over."""

    def __init__(self, address: str, *, callers: int, deadline: float, rounds: int) -> None:
        self.said: Counter[str] = Counter()
        self.times: list[float] = []
        self._lock = threading.Lock()
        with ExitStack() as stack:
            channels = [stack.enter_context(Gateway(address)) for _ in range(8)]
            for channel in channels:
                channel.serving()
            for number in range(rounds):
                began = time.monotonic()
                calls = [
                    self._ask(channels[caller % 8], f"{caller} {number}", deadline)
                    for caller in range(callers)
                ]
                for call in calls:
                    call.exception()
                time.sleep(max(0.0, began + deadline - time.monotonic()))

    def _ask(self, gateway: Gateway, question: str, deadline: float) -> Any:
        began = time.monotonic()
        call = gateway.stub.Lookup.future(request(describe("flood", turns(question))), timeout=deadline)
        call.add_done_callback(lambda done: self._answered(done, time.monotonic() - began))
        return call

    def _answered(self, call: Any, took: float) -> None:
        code = call.code()
        said = outcome(call.result().decision) if code is grpc.StatusCode.OK else code.name
        with self._lock:
            self.said[said] += 1
            self.times.append(took)


@pytest.fixture
def slow_store(monkeypatch):
    """Make every read of a server's store take so long, without using the processor."""

    def slow(server, seconds: float) -> None:
        read = server.sidecar.store.read

        def slowly():
            time.sleep(seconds)
            return read()

        monkeypatch.setattr(server.sidecar.store, "read", slowly)

    return slow


@pytest.mark.parametrize("callers", [32, 160], ids=["as many as may wait", "far more"])
def test_every_call_of_a_flood_is_answered_within_its_deadline(start, monkeypatch, slow_store, callers):
    """Two may work, which makes 40 Lookups a second; the rest hears so in time."""
    monkeypatch.setattr(needs, "Limits", functools.partial(Limits, queued=24))
    server = start(threads=2)
    slow_store(server, 0.05)
    before = server.stats()
    flood = Flood(server.place.unix, callers=callers, deadline=1.6, rounds=2)
    print(callers, flood.said, max(flood.times))  # noqa: T201
    assert set(flood.said) == {"miss", "bypass"}, "no call ends with an error"
    assert max(flood.times) < 1.6 + LATE_SECONDS
    assert flood.said["miss"] >= 40, "those who can be worked for are"
    after = server.stats()
    assert after.misses - before.misses == flood.said["miss"]
    assert after.tallies["bypass.over_budget"] == flood.said["bypass"] == after.bypasses


def test_nobody_works_for_a_caller_that_has_gone(start, monkeypatch):
    """It waited for a permit, and went before it had one."""
    server = start(threads=1)
    let_go, begun, reads = threading.Event(), threading.Event(), []
    read = server.sidecar.store.read

    def slow():
        reads.append(1)
        begun.set()
        assert let_go.wait(30)
        return read()

    monkeypatch.setattr(server.sidecar.store, "read", slow)
    working = server.gateway.stub.Lookup.future(request(describe()), timeout=20)
    assert begun.wait(10)
    waiting = [server.gateway.stub.Lookup.future(request(describe()), timeout=20) for _ in range(5)]
    queue = server.sidecar._servicer._permits._queue
    while queue.qsize() > 256 - 5:
        time.sleep(0.001)
    for call in waiting:
        call.cancel()
    time.sleep(0.1)
    let_go.set()
    assert outcome(working.result().decision) == "miss"
    while queue.qsize() < 256:
        time.sleep(0.001)
    assert len(reads) == 1
    assert outcome(server.gateway.ask(describe())) == "miss"
    assert server.stats().tallies["bypass.over_budget"] == 5, "each is counted once all the same"


class Caller:
    """The context of a call whose deadline leaves so many seconds."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds

    def time_remaining(self) -> float | None:
        return self._seconds

    def is_active(self) -> bool:
        return True


@pytest.mark.parametrize("seconds", [0.0, 0.0005, None, 5.0])
def test_a_call_that_comes_too_late_to_its_thread_is_answered_without_work(start, monkeypatch, seconds):
    """It waited in the transport, where nobody counts its time."""
    server = start(threads=1)
    servicer, reads = server.sidecar._servicer, []
    read = server.sidecar.store.read
    monkeypatch.setattr(server.sidecar.store, "read", lambda: reads.append(1) or read())
    late = seconds is not None and seconds < 0.001
    asked = [request(describe("late", turns(question))) for question in ("a", "b")]
    batch = decision_service_pb2.BatchLookupRequest(items=asked).SerializeToString()
    single = servicer.lookup(asked[0].SerializeToString(), Caller(seconds))
    several = servicer.batch_lookup(batch, Caller(seconds))
    decisions = [
        decision_service_pb2.LookupResponse.FromString(single).decision,
        *(one.decision for one in decision_service_pb2.BatchLookupResponse.FromString(several).results),
    ]
    assert [verdict(one) for one in decisions] == ["bypass over_budget" if late else "miss"] * 3
    assert not reads if late else len(reads) == 2
    assert server.stats().tallies.get("bypass.over_budget", 0) == (3 if late else 0)
    assert servicer._permits._lookups.qsize() == 1, "no permit is kept"
