"""Clients through cancellation, closing, forks, event loops and ten thousand calls."""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest

import askonce
from askonce import BreakerState, BypassReason, CircuitBreaker, RefusalReason
from askonce.v1 import decision_service_pb2 as pb
from client.scripted import ANSWER, CHAT, GPT, hit, serving


def open_files() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_cancelled_lookup_stops_at_once_and_at_the_sidecar_too(script, sidecar):
    stopped = threading.Event()

    def handler(request, context):
        context.add_callback(stopped.set)
        script.released.wait(10)
        return pb.LookupResponse()

    script.handlers["Lookup"] = handler

    async def main():
        async with askonce.AsyncAskOnce(sidecar.target, budget=10) as client:
            task = asyncio.create_task(client.lookup(CHAT))
            await asyncio.to_thread(script.arrived.wait, 5)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert await asyncio.to_thread(stopped.wait, 5)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await client.lookup(CHAT)

    asyncio.run(main())


def test_cancelled_calls_do_not_open_the_breaker_and_give_the_probe_back(script, sidecar):
    now = [0.0]
    breaker = CircuitBreaker(failures=1, clock=lambda: now[0], jitter=lambda: 0.0)

    async def cancelled(client):
        task = asyncio.create_task(client.lookup(CHAT))
        assert await asyncio.to_thread(script.arrived.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    async def main():
        async with askonce.AsyncAskOnce(sidecar.target, budget=10, breaker=breaker) as client:
            script.hang("Lookup")
            await cancelled(client)
            assert breaker.state is BreakerState.CLOSED
            script.fail("Lookup", grpc.StatusCode.UNAVAILABLE)
            await client.lookup(CHAT)
            assert breaker.state is BreakerState.OPEN
            script.arrived.clear()
            now[0] += 1
            script.decide(hit())
            script.hang("Lookup")
            await cancelled(client)
            assert breaker.state is BreakerState.HALF_OPEN
            script.decide(hit())
            assert (await client.lookup(CHAT)).hit
            assert breaker.state is BreakerState.CLOSED

    asyncio.run(main())


def test_an_interrupt_gives_the_probe_back():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    now = [0.0]
    breaker = CircuitBreaker(failures=1, clock=lambda: now[0], jitter=lambda: 0.0)
    fake = askonce.FakeAskOnce(breaker=breaker)
    fake.will_fail()
    fake.lookup(CHAT)
    now[0] += 1
    perform, fake._sidecar.perform = fake._sidecar.perform, lambda call: signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        fake.lookup(CHAT)
    signal.signal(signal.SIGINT, before)
    fake._sidecar.perform = perform
    assert fake.lookup(CHAT).outcome is askonce.Outcome.MISS
    assert breaker.state is BreakerState.CLOSED


def test_many_lookups_at_once_do_not_swap_answers(script, sidecar):
    def decided(request):
        return hit(request.request_id.encode())

    def one(request, context):
        return pb.LookupResponse(decision=decided(request))

    def many(request, context):
        return pb.BatchLookupResponse(
            results=[pb.BatchLookupResult(decision=decided(item)) for item in request.items]
        )

    script.handlers.update(Lookup=one, BatchLookup=many)

    async def main():
        async with askonce.AsyncAskOnce(sidecar.target, budget=20) as client:
            asked = [f"r{number}" for number in range(500)]
            found = await asyncio.gather(*(client.lookup(CHAT, request_id=name) for name in asked))
            assert [decision.body.decode() for decision in found] == asked

    asyncio.run(main())
    with askonce.AskOnce(sidecar.target, budget=20) as client, ThreadPoolExecutor(16) as pool:
        asked = [f"r{number}" for number in range(500)]
        found = pool.map(lambda name: client.lookup(CHAT, request_id=name).body.decode(), asked)
        assert list(found) == asked


def test_closing_is_final_and_may_be_repeated(connect, sidecar, log):
    client = connect(sidecar.target)
    assert client.lookup(CHAT).hit
    client.close()
    client.close()
    for _ in range(3):
        decision = client.lookup(CHAT)
        assert decision.bypass_reason is BypassReason.CLIENT_CLOSED
        assert isinstance(decision.error, askonce.ClientClosed)
    assert client.store(b"t", ANSWER).refusal_reason is RefusalReason.CLIENT_CLOSED
    assert [d.bypass_reason for d in client.batch_lookup([CHAT])] == [BypassReason.CLIENT_CLOSED]
    assert len(log()) == 1


def test_a_client_that_was_never_used_can_be_closed(connect):
    connect("unix:///nowhere").close()


def test_leaving_the_block_closes(sidecar):
    with askonce.AskOnce(sidecar.target, budget=5) as client:
        assert client.lookup(CHAT).hit
    assert client.lookup(CHAT).bypass_reason is BypassReason.CLIENT_CLOSED

    async def main():
        async with askonce.AsyncAskOnce(sidecar.target, budget=5) as client:
            assert (await client.lookup(CHAT)).hit
        assert (await client.lookup(CHAT)).bypass_reason is BypassReason.CLIENT_CLOSED

    asyncio.run(main())


def test_closing_under_a_call_ends_it_as_a_bypass(script, sidecar):
    script.hang("Lookup")
    with askonce.AskOnce(sidecar.target, budget=20) as client, ThreadPoolExecutor(1) as pool:
        call = pool.submit(client.lookup, CHAT)
        assert script.arrived.wait(5)
        client.close()
        assert call.result(5).bypass_reason is BypassReason.CLIENT_CLOSED
    script.arrived.clear()

    async def main():
        client = askonce.AsyncAskOnce(sidecar.target, budget=20)
        call = asyncio.create_task(client.lookup(CHAT))
        assert await asyncio.to_thread(script.arrived.wait, 5)
        await client.close()
        assert (await call).bypass_reason is BypassReason.CLIENT_CLOSED

    asyncio.run(main())


def test_a_call_that_closing_overtook_opens_nothing(sidecar):
    client = askonce.AskOnce(sidecar.target, budget=5)
    client._transport.close()
    assert not client.lookup(CHAT).hit
    assert client._transport._channels == []

    async def main():
        client = askonce.AsyncAskOnce(sidecar.target, budget=5)
        await client._transport.close()
        assert not (await client.lookup(CHAT)).hit
        assert client._transport._opened == {}

    asyncio.run(main())


def test_a_client_outlives_its_event_loop(sidecar):
    client = askonce.AsyncAskOnce(sidecar.target, budget=5)
    before = None
    for _ in range(20):
        assert asyncio.run(client.lookup(CHAT)).hit
        before = before or open_files()
    assert len(client._transport._opened) == 1
    assert open_files() <= before + 2
    asyncio.run(client.close())


@pytest.mark.parametrize("times", [1_000, pytest.param(10_000, marks=pytest.mark.thorough)])
def test_many_lookups_leave_no_file_open(connect, sidecar, times):
    client = connect(sidecar.target)
    assert client.lookup(CHAT).hit
    before = open_files()
    assert sum(client.lookup(CHAT).hit for _ in range(times)) == times
    assert open_files() <= before + 2


def test_many_refused_connections_leave_no_file_open(connect, sockets):
    client = connect(f"unix://{sockets}/none", breaker=CircuitBreaker(failures=0))
    client.lookup(CHAT)
    before = open_files()
    assert not any(client.lookup(CHAT).hit for _ in range(500))
    assert open_files() <= before + 2


def _come_and_go(target: str, times: int) -> None:
    for _ in range(times):
        with askonce.AskOnce(target, budget=5) as client:
            assert client.lookup(CHAT).hit


def _resident_kilobytes() -> int:
    [line] = [line for line in Path("/proc/self/status").read_text().splitlines() if "VmRSS" in line]
    return int(line.split()[1])


@pytest.mark.parametrize("times", [100, pytest.param(10_000, marks=pytest.mark.thorough)])
def test_clients_that_come_and_go_leave_nothing_behind(sidecar, times):
    _come_and_go(sidecar.target, 50)
    files, memory = open_files(), _resident_kilobytes()
    _come_and_go(sidecar.target, times)
    give_up = time.monotonic() + 10
    while open_files() > files + 4 and time.monotonic() < give_up:
        time.sleep(0.05)  # gRPC closes its ends in threads of its own
    assert open_files() <= files + 4
    assert _resident_kilobytes() - memory < 32 * 1024


def in_child(check) -> int:
    """Fork, run `check` in the child and return its exit code; a child that hangs is killed."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            code = 0 if check() else 2
        finally:
            os._exit(code)
    give_up = time.monotonic() + 20
    while time.monotonic() < give_up:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return -1


@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_client_that_was_used_does_not_cross_a_fork_and_does_not_hang(sidecar):
    with askonce.AskOnce(sidecar.target, budget=5) as client:
        assert client.lookup(CHAT).hit

        def check() -> bool:
            decision = client.lookup(CHAT)
            client.close()
            forked = isinstance(decision.error, askonce.ClientForked)
            return forked and decision.bypass_reason is BypassReason.CLIENT_CLOSED

        assert in_child(check) == 0
        assert client.lookup(CHAT).hit


def test_a_client_that_was_not_used_crosses_a_fork(tmp_path, sockets):
    # In a process of its own, since gRPC must not have been used before the fork, by nobody.
    program = tmp_path / "program.py"
    program.write_text(
        "import os, sys, askonce\n"
        "client = askonce.AskOnce(sys.argv[1], budget=5)\n"
        "pid = os.fork()\n"
        "chat = askonce.Descriptor.openai_chat(b'{}', served=askonce.Target('a', 'b'))\n"
        "ok = client.lookup(chat).hit\n"
        "client.close()\n"
        "if pid == 0: os._exit(0 if ok else 3)\n"
        "child = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])\n"
        "sys.exit(0 if ok and child == 0 else 4)\n"
    )
    with serving(f"unix://{sockets}/s.sock") as sidecar:
        process = run(program, sidecar.target)
        assert process == 0


def run(program: Path, target: str) -> int:
    return subprocess.run([sys.executable, str(program), target], timeout=30, check=False).returncode


def test_nothing_of_a_request_lives_on_in_a_result_that_failed(sockets):
    class Traced(dict):
        pass

    with askonce.AskOnce(f"unix://{sockets}/none", budget=0.05) as client:
        body = Traced(messages=[])
        watch = weakref.ref(body)
        decision = client.lookup(askonce.Descriptor.openai_chat(body, served=GPT))
        refused = client.lookup(askonce.Descriptor.openai_chat(body, served=GPT), budget=-1)
        del body
        gc.collect()
        assert decision.error is not None
        assert refused.error is not None
        assert watch() is None


def test_tls(tmp_path):
    certificate, key = self_signed(tmp_path)
    server = grpc.ssl_server_credentials([(key, certificate)])
    with serving("localhost:0", credentials=server) as sidecar:
        trusted = grpc.ssl_channel_credentials(certificate)
        with askonce.AskOnce(sidecar.target, credentials=trusted, budget=5) as client:
            assert client.lookup(CHAT).hit
        with askonce.AskOnce(sidecar.target, credentials=grpc.ssl_channel_credentials(), budget=5) as client:
            assert client.lookup(CHAT).bypass_reason is BypassReason.SIDECAR_UNREACHABLE

        async def main():
            async with askonce.AsyncAskOnce(sidecar.target, credentials=trusted, budget=5) as client:
                return (await client.lookup(CHAT)).hit

        assert asyncio.run(main())


def self_signed(folder: Path) -> tuple[bytes, bytes]:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not there to make a certificate")
    command = [
        *[
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "1",
        ],
        *["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        *["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")],
    ]
    subprocess.run(command, check=True, capture_output=True)
    return (folder / "cert.pem").read_bytes(), (folder / "key.pem").read_bytes()
