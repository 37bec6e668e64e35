"""Stopping in order: health says so, what began is finished, new calls are turned away, nothing is lost."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from askonce_server.app import Sidecar
from faults.sidecar_process import sidecar
from rpc.answers import answer, chat_body
from rpc.harness import Gateway, Place, Running
from rpc.replies import Refusal, filed, outcome, refused, verdict
from rpc.requests import describe, turns

STATUS = health_pb2.HealthCheckResponse


class Slow:
    """A store whose writes wait until they are let go."""

    def __init__(self, server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
        self.begun, self.let_go = threading.Event(), threading.Event()
        put = server.sidecar.store.put

        def slow(writes):
            self.begun.set()
            assert self.let_go.wait(30)
            return put(writes)

        monkeypatch.setattr(server.sidecar.store, "put", slow)


def test_what_began_is_finished_and_what_comes_later_is_turned_away(folder, monkeypatch):
    server = Running(Place(folder))
    slow = Slow(server, monkeypatch)
    with ThreadPoolExecutor(2) as pool:
        stored = pool.submit(server.gateway.store, describe(), answer("in flight"))
        assert slow.begun.wait(10)
        stopped = pool.submit(server.sidecar.stop)
        wait_until_refused(server.gateway)
        refusal = refused(lambda: server.gateway.ask(describe(), timeout=5))
        assert refusal.code is grpc.StatusCode.UNAVAILABLE
        assert not stopped.done()
        slow.let_go.set()
        assert filed(stored.result(timeout=10)) == "stored"
        stopped.result(timeout=10)
    again = Running(Place(folder))
    assert again.gateway.ask(describe()).candidate.body.data == chat_body("in flight")
    again.stop()


def wait_until_refused(gateway: Gateway) -> None:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            gateway.ask(describe("probe"), timeout=5)
        except grpc.RpcError:
            return
        time.sleep(0.01)
    raise AssertionError("calls are still taken")


def test_what_does_not_end_within_the_grace_is_cut_off(folder, monkeypatch):
    server = Running(Place(folder, drain={"grace": "300ms"}))
    slow = Slow(server, monkeypatch)
    with ThreadPoolExecutor(2) as pool:
        stored = pool.submit(lambda: refused(lambda: server.gateway.store(describe(), answer())))
        assert slow.begun.wait(10)
        started = time.monotonic()
        server.sidecar.stop()
        assert 0.25 <= time.monotonic() - started < 6
        assert stored.result(timeout=10).code in (grpc.StatusCode.CANCELLED, grpc.StatusCode.UNAVAILABLE)
        slow.let_go.set()


def test_during_the_delay_calls_are_taken_while_health_says_otherwise(folder):
    server = Running(Place(folder, drain={"delay": "600ms"}))
    with ThreadPoolExecutor(1) as pool:
        stopped = pool.submit(server.sidecar.stop)
        deadline = time.monotonic() + 5
        while server.gateway.serving() == "SERVING" and time.monotonic() < deadline:
            time.sleep(0.005)
        for service in ("", "askonce.v1.DecisionService", "askonce.v1.AdminService", "askonce.store"):
            assert server.gateway.serving(service) == "NOT_SERVING"
        server.gateway.fill(describe())
        assert verdict(server.gateway.ask(describe())) == "hit exact"
        stopped.result(timeout=10)


def test_watchers_are_told_and_sent_home_within_no_time(folder):
    """A prober that watches must not use up the grace."""
    server = Running(Place(folder, drain={"grace": "60s"}))
    watching = [server.gateway.health.Watch(health_pb2.HealthCheckRequest(service="")) for _ in range(3)]
    watching.append(server.operator.health.Watch(health_pb2.HealthCheckRequest(service="unheard of")))
    assert [next(watch).status for watch in watching] == [STATUS.SERVING] * 3 + [STATUS.SERVICE_UNKNOWN]
    started = time.monotonic()
    server.sidecar.stop()
    assert time.monotonic() - started < 20
    for watch in watching[:3]:
        assert [told.status for told in watch] == [STATUS.NOT_SERVING]
    assert list(watching[3]) == []


def test_a_watcher_that_left_is_forgotten(start):
    server = start()
    for _ in range(20):
        watch = server.gateway.health.Watch(health_pb2.HealthCheckRequest(service=""))
        assert next(watch).status == STATUS.SERVING
        watch.cancel()
    deadline = time.monotonic() + 10
    while server.sidecar.health.servicer._watchers and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not server.sidecar.health.servicer._watchers


def test_watchers_take_no_threads_from_lookups(start):
    server = start(threads=1)
    watching = []
    for _ in range(400):
        watch = server.gateway.health.Watch(health_pb2.HealthCheckRequest(service=""))
        assert next(watch).status == STATUS.SERVING
        watching.append(watch)
    assert verdict(server.gateway.ask(describe(), timeout=5)) == "miss"
    for watch in watching:
        watch.cancel()


def test_watchers_who_leave_while_others_are_told_hold_up_nobody(start):
    """The servicer of grpcio-health-checking stops the server here, for good."""
    server = start()
    health = server.sidecar.health

    def come_and_go():
        for _ in range(10):
            ask = health_pb2.HealthCheckRequest(service="askonce.store")
            watching = [server.gateway.health.Watch(ask) for _ in range(20)]
            for watch in watching:
                next(watch)
            for watch in watching:
                watch.cancel()

    def tell():
        for at in range(300):
            health.store(problem="now and then" if at % 2 else None)

    threads = [threading.Thread(target=one, daemon=True) for one in (come_and_go, come_and_go, tell)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
        assert not thread.is_alive()
    assert verdict(server.gateway.ask(describe(), timeout=5)) == "miss"


def test_an_idle_reflection_client_is_cut_off_at_the_grace(folder):
    server = Running(Place(folder, drain={"grace": "200ms"}))
    stub = reflection_pb2_grpc.ServerReflectionStub(server.gateway.channel)
    forever = threading.Event()

    def requests():
        yield reflection_pb2.ServerReflectionRequest(list_services="")
        forever.wait(30)

    call = stub.ServerReflectionInfo(requests())
    assert next(call).list_services_response.service
    started = time.monotonic()
    server.sidecar.stop()
    assert time.monotonic() - started < 6
    forever.set()


def test_stopping_twice_or_before_the_start_does_no_harm(folder):
    server = Running(Place(folder))
    server.sidecar.stop()
    server.sidecar.stop()
    never_started = Sidecar(Place(folder).load())
    never_started.stop()
    again = Running(Place(folder))
    assert verdict(again.gateway.ask(describe())) == "miss"
    again.stop()


class Load:
    """Callers that store one answer after the other until they are turned away."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.done = threading.Event()
        self.acknowledged: list[str] = []
        self.refusals: list[Refusal] = []
        self.refused_at: list[float] = []
        self.unhealthy_at: float | None = None

    def run(self, worker: int) -> None:
        with Gateway(self.place.unix if worker % 2 else self.place.tcp) as own:
            for at in range(1_000_000):
                if self.done.is_set():
                    return
                try:
                    self.one(own, f"{worker}-{at}")
                except grpc.RpcError as error:
                    self.refused_at.append(time.monotonic())
                    self.refusals.append(Refusal(error))
                    return

    def one(self, gateway: Gateway, name: str) -> None:
        decision = gateway.ask(describe(messages=turns(name)), timeout=10)
        assert filed(gateway.store(decision.fill_token, answer(name))) == "stored"
        self.acknowledged.append(name)

    def watch(self) -> None:
        with Gateway(self.place.unix) as own:
            while not self.done.is_set():
                try:
                    if own.serving() == "NOT_SERVING" and self.unhealthy_at is None:
                        self.unhealthy_at = time.monotonic()
                except grpc.RpcError:
                    return
                time.sleep(0.005)


def assert_found(gateway: Gateway, names: list[str]) -> None:
    for start in range(0, len(names), 256):
        some = names[start : start + 256]
        results = gateway.ask_all([describe(messages=turns(name)) for name in some])
        for name, result in zip(some, results, strict=True):
            assert outcome(result.decision) == "hit", name
            assert result.decision.candidate.body.data == chat_body(name)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_signal_under_load_loses_nothing_that_was_acknowledged(forked, folder, workers):
    place = Place(folder, drain={"delay": "300ms", "grace": "10s"}, workers=workers)
    load = Load(place)
    with sidecar(place) as server, ThreadPoolExecutor(9) as pool:
        server.wait_until_serving().close()
        callers = [pool.submit(load.run, worker) for worker in range(8)] + [pool.submit(load.watch)]
        try:
            while len(load.acknowledged) < 100:
                assert not any(caller.done() for caller in callers)
                time.sleep(0.01)
            server.send(signal.SIGTERM)
            assert server.process.wait(timeout=30) == 0
        finally:
            load.done.set()
        for caller in callers:
            caller.result(timeout=30)
        assert "Traceback" not in server.log.read_text()
    assert load.unhealthy_at is not None
    assert load.unhealthy_at < min(load.refused_at), "health says so before calls are turned away"
    assert len(load.refusals) == 8
    assert {refusal.code.name for refusal in load.refusals} == {"UNAVAILABLE"}
    assert "DRAINING" in {refusal.info.reason for refusal in load.refusals}
    assert [one.name for one in folder.iterdir() if one.is_socket() or one.is_symlink()] == []
    with forked.sidecar(place) as again:
        gateway = again.wait_until_serving()
        assert_found(gateway, load.acknowledged)
        gateway.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_either_signal_stops_it_in_order(forked, folder, number):
    place = Place(folder)
    with forked.sidecar(place) as server:
        gateway = server.wait_until_serving()
        gateway.fill(describe())
        gateway.close()
        assert server.stop(number) == "exit 0"
    assert not (folder / "s").exists()
    with forked.sidecar(place) as again:
        gateway = again.wait_until_serving()
        assert verdict(gateway.ask(describe())) == "hit exact"
        gateway.close()


def test_a_signal_during_the_start_stops_it_in_order(forked, folder):
    place = Place(folder)
    for delay in (0.0, 0.01, 0.03, 0.1):
        with forked.sidecar(place) as server:
            time.sleep(delay)
            os.kill(server.pid, signal.SIGTERM)
            while server.alive():
                time.sleep(0.005)
    with forked.sidecar(place) as server:
        server.wait_until_serving().close()
        assert server.stop(signal.SIGTERM) == "exit 0"
        assert not (folder / "s").exists()
