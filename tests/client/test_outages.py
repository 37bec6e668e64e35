"""A sidecar that is down, slow, broken or gone for a while: the gateway goes on, in time and quietly."""

from __future__ import annotations

import logging
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

import askonce
from askonce import BreakerState, BypassReason, CircuitBreaker, RefusalReason
from askonce.v1 import decision_service_pb2 as pb
from client.scripted import ANSWER, CHAT, hit, miss, serving

TOLERANCE = 0.050


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def silent(path: Path):
    """A socket that accepts connections and never says a word."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen(64)
        yield f"unix://{path}"


def patient() -> CircuitBreaker:
    return CircuitBreaker(failures=0)


def shortest(attempts: int, call) -> float:
    """The shortest of several calls, since another process may hold this machine's cores for a while."""
    times = []
    for _ in range(attempts):
        began = time.monotonic()
        call()
        times.append(time.monotonic() - began)
    return min(times)


@pytest.mark.parametrize("kind", ["no file", "no listener", "no port"])
def test_a_sidecar_that_is_not_there_is_a_bypass_within_the_budget(connect, sockets, kind):
    target = f"unix://{sockets}/none.sock"
    if kind == "no listener":
        with socket.socket(socket.AF_UNIX) as gone:
            gone.bind(f"{sockets}/none.sock")
    elif kind == "no port":
        target = f"127.0.0.1:{free_port()}"
    client = connect(target, budget=0.050, breaker=patient())

    decision = client.lookup(CHAT)
    assert (decision.hit, decision.outcome) == (False, askonce.Outcome.BYPASS)
    assert decision.bypass_reason in {BypassReason.SIDECAR_UNREACHABLE, BypassReason.SIDECAR_TIMEOUT}
    assert decision.cache_status.startswith("askonce; fwd=bypass; detail=sidecar_")
    assert isinstance(decision.error, askonce.SidecarUnreachable | askonce.BudgetExceeded)
    assert decision.error.code in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}
    assert decision.error.__traceback__ is None
    assert not decision.store_answer
    assert decision.fill_token == b""
    assert shortest(5, lambda: client.lookup(CHAT)) < 0.050 + TOLERANCE


def test_a_socket_that_accepts_and_never_answers_costs_the_budget_and_no_more(connect, sockets):
    with silent(sockets / "s") as target:
        client = connect(target, budget=0.050, breaker=patient())
        assert client.lookup(CHAT).bypass_reason in {
            BypassReason.SIDECAR_TIMEOUT,
            BypassReason.SIDECAR_UNREACHABLE,
        }
        assert shortest(5, lambda: client.lookup(CHAT)) < 0.050 + TOLERANCE


def test_a_slow_sidecar_costs_the_budget_and_no_more(connect, script, sidecar):
    script.hang("Lookup")
    client = connect(sidecar.target, budget=0.050, breaker=patient())
    decision = client.lookup(CHAT)
    assert decision.bypass_reason is BypassReason.SIDECAR_TIMEOUT
    assert isinstance(decision.error, askonce.BudgetExceeded)
    assert 0.045 < shortest(5, lambda: client.lookup(CHAT)) < 0.050 + TOLERANCE
    assert 0.115 < shortest(3, lambda: client.lookup(CHAT, budget=0.120)) < 0.120 + TOLERANCE


def test_the_default_budget_is_fifty_milliseconds(script, sidecar):
    script.hang("Lookup")
    with askonce.AskOnce(sidecar.target, breaker=patient()) as client:
        assert client.lookup(CHAT).bypass_reason is BypassReason.SIDECAR_TIMEOUT
        assert 0.045 < shortest(5, lambda: client.lookup(CHAT)) < 0.050 + TOLERANCE


def test_a_slow_store_has_a_time_of_its_own(connect, script, sidecar):
    script.hang("Store")
    client = connect(sidecar.target, budget=0.001, store_timeout=0.1, breaker=patient())
    result = client.store(b"t", ANSWER)
    assert (result.stored, result.refusal_reason) == (False, RefusalReason.SIDECAR_TIMEOUT)
    assert 0.095 < shortest(3, lambda: client.store(b"t", ANSWER)) < 0.1 + TOLERANCE
    assert client.store(b"t", ANSWER, timeout=0.01).refusal_reason is RefusalReason.SIDECAR_TIMEOUT


def test_every_verb_fails_open(connect, sockets):
    client = connect(f"unix://{sockets}/none", breaker=patient())
    assert client.lookup(CHAT).bypass_reason is BypassReason.SIDECAR_UNREACHABLE
    assert [d.bypass_reason for d in client.batch_lookup([CHAT, CHAT])] == [
        BypassReason.SIDECAR_UNREACHABLE
    ] * 2
    assert client.store(b"t", ANSWER).refusal_reason is RefusalReason.SIDECAR_UNREACHABLE
    stores = [askonce.Store(b"t", ANSWER), askonce.Store(CHAT, ANSWER)]
    assert [r.refusal_reason for r in client.batch_store(stores)] == [RefusalReason.SIDECAR_UNREACHABLE] * 2
    abandoned = client.abandon(b"t")
    assert (abandoned.released, type(abandoned.error)) == (False, askonce.SidecarUnreachable)
    judged = client.feedback(b"f", askonce.Verdict.WRONG)
    assert (judged.recorded, type(judged.error)) == (False, askonce.SidecarUnreachable)


def test_every_verb_raises_under_strict(connect, sockets):
    client = connect(f"unix://{sockets}/none", strict=True, breaker=patient())
    verbs = [
        lambda: client.lookup(CHAT),
        lambda: client.batch_lookup([CHAT]),
        lambda: client.store(b"t", ANSWER),
        lambda: client.batch_store([askonce.Store(b"t", ANSWER)]),
        lambda: client.abandon(b"t"),
        lambda: client.feedback(b"f", askonce.Verdict.WRONG),
    ]
    for verb in verbs:
        with pytest.raises(askonce.SidecarUnreachable, match="UNAVAILABLE"):
            verb()


def test_strict_raises_each_kind_of_failure(connect, script, sidecar):
    client = connect(sidecar.target, strict=True, breaker=CircuitBreaker(failures=1))
    with pytest.raises(askonce.InvalidRequest):
        client.lookup(CHAT, budget=0)
    script.decide(hit(shadow=True))
    with pytest.raises(askonce.SidecarFailed):
        client.lookup(CHAT)
    script.hang("Lookup")
    with pytest.raises(askonce.BudgetExceeded):
        client.lookup(CHAT, budget=0.01)
    with pytest.raises(askonce.CircuitOpen):
        client.lookup(CHAT)
    client.close()
    with pytest.raises(askonce.ClientClosed):
        client.lookup(CHAT)


@pytest.mark.parametrize(
    "case",
    [
        ("UNAVAILABLE", "SIDECAR_UNREACHABLE", askonce.SidecarUnreachable, True),
        ("DEADLINE_EXCEEDED", "SIDECAR_TIMEOUT", askonce.BudgetExceeded, True),
        ("INTERNAL", "SIDECAR_FAILED", askonce.SidecarFailed, True),
        ("UNKNOWN", "SIDECAR_FAILED", askonce.SidecarFailed, True),
        ("CANCELLED", "SIDECAR_FAILED", askonce.SidecarFailed, True),
        ("DATA_LOSS", "SIDECAR_FAILED", askonce.SidecarFailed, True),
        ("INVALID_ARGUMENT", "REQUEST_REFUSED", askonce.InvalidRequest, False),
        ("RESOURCE_EXHAUSTED", "SIDECAR_FAILED", askonce.SidecarFailed, True),
        ("UNIMPLEMENTED", "REQUEST_REFUSED", askonce.CallRefused, False),
        ("UNAUTHENTICATED", "REQUEST_REFUSED", askonce.CallRefused, False),
        ("PERMISSION_DENIED", "REQUEST_REFUSED", askonce.CallRefused, False),
    ],
)
def test_each_status_code_has_its_error_and_says_something_of_the_sidecar_or_not(
    connect, script, sidecar, case
):
    code, reason, error, opens = case
    script.fail("Lookup", grpc.StatusCode[code], "why")
    client = connect(sidecar.target)
    decisions = [client.lookup(CHAT) for _ in range(5)]
    assert [d.bypass_reason for d in decisions] == [BypassReason[reason]] * 5
    assert [type(d.error) for d in decisions] == [error] * 5
    assert (decisions[0].error.code, decisions[0].error.message) == (code, "why")
    assert client.breaker.state is (BreakerState.OPEN if opens else BreakerState.CLOSED)


def test_a_server_that_is_no_sidecar_is_a_bypass(connect, sockets):
    def drop(listener):
        while True:
            try:
                peer, _ = listener.accept()
            except OSError:
                return
            with peer:
                peer.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(f"{sockets}/s")
        listener.listen()
        thread = threading.Thread(target=drop, args=[listener])
        thread.start()
        client = connect(f"unix://{sockets}/s", budget=0.2, breaker=patient())
        assert client.lookup(CHAT).error is not None
        client.close()
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_an_answer_that_is_no_message_is_a_bypass_and_opens_the_breaker(connect, sockets, log):
    class Garbage(grpc.GenericRpcHandler):
        def service(self, details):
            return grpc.unary_unary_rpc_method_handler(lambda request, context: b"\xff\xff\xff")

    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool, handlers=[Garbage()])
        server.add_insecure_port(f"unix://{sockets}/s")
        server.start()
        client = connect(f"unix://{sockets}/s")
        decisions = [client.lookup(CHAT) for _ in range(6)]
        server.stop(0).wait()
    assert [d.bypass_reason for d in decisions] == [BypassReason.SIDECAR_FAILED] * 5 + [
        BypassReason.CIRCUIT_OPEN
    ]
    assert len(log()) == 1


def test_a_thousand_lookups_without_a_sidecar_write_next_to_nothing(connect, sockets, caplog, capfd):
    caplog.set_level(logging.INFO)
    client = connect(f"unix://{sockets}/none", budget=0.050)
    began = time.monotonic()
    decisions = [client.lookup(CHAT) for _ in range(1000)]
    assert not any(decision.hit for decision in decisions)
    assert all(decision.error is not None for decision in decisions)
    assert sum(d.bypass_reason is BypassReason.CIRCUIT_OPEN for d in decisions) >= 980
    written = [record for record in caplog.records if record.name != "asyncio"]
    assert 1 <= len(written) < 5
    assert len(capfd.readouterr().err.splitlines()) < 5
    assert time.monotonic() - began < 5


def test_an_open_breaker_answers_in_microseconds(sockets):
    with askonce.AskOnce(f"unix://{sockets}/none", budget=0.050) as client:
        for _ in range(5):
            client.lookup(CHAT)
        assert client.breaker.state is BreakerState.OPEN
        assert shortest(200, lambda: client.lookup(CHAT)) < 0.000_2


def test_a_sidecar_that_dies_and_comes_back(connect, sockets, log):
    address = f"unix://{sockets}/s.sock"
    now = [0.0]
    breaker = CircuitBreaker(clock=lambda: now[0], jitter=lambda: 0.0)
    client = connect(address, breaker=breaker)
    with serving(address):
        assert client.lookup(CHAT).hit
    assert log() == []

    assert [client.lookup(CHAT).error is None for _ in range(5)] == [False] * 5
    assert breaker.state is BreakerState.OPEN
    assert client.lookup(CHAT).bypass_reason is BypassReason.CIRCUIT_OPEN
    assert len(log()) == 1

    now[0] += 1
    assert client.lookup(CHAT).bypass_reason is BypassReason.SIDECAR_UNREACHABLE  # the probe
    assert client.lookup(CHAT).bypass_reason is BypassReason.CIRCUIT_OPEN
    assert len(log()) == 3

    probes = 1
    with serving(address) as sidecar:
        give_up = time.monotonic() + 20
        while breaker.state is not BreakerState.CLOSED and time.monotonic() < give_up:
            now[0] += 30
            probes += 1
            client.lookup(CHAT)
            time.sleep(0.02)  # gRPC waits up to half a second before it connects again
        assert breaker.state is BreakerState.CLOSED
        assert all(client.lookup(CHAT).hit for _ in range(10))
        assert len(sidecar.script.received) == 11  # one probe and these ten
    assert len(log()) == 1 + 2 * probes


def test_while_half_open_only_the_probe_reaches_the_sidecar(script, sidecar):
    now = [0.0]
    breaker = CircuitBreaker(failures=1, clock=lambda: now[0], jitter=lambda: 0.0)
    arrived = threading.Event()
    with askonce.AskOnce(sidecar.target, budget=10, breaker=breaker) as client:
        script.fail("Lookup", grpc.StatusCode.UNAVAILABLE)
        client.lookup(CHAT)
        now[0] += 1

        def handler(request, context):
            arrived.set()
            script.released.wait(10)
            return pb.LookupResponse(decision=hit())

        script.handlers["Lookup"] = handler
        found = []
        probe = threading.Thread(target=lambda: found.append(client.lookup(CHAT)))
        probe.start()
        assert arrived.wait(5)
        others = [client.lookup(CHAT).bypass_reason for _ in range(20)]
        assert others == [BypassReason.CIRCUIT_OPEN] * 20
        script.released.set()
        probe.join()
        assert found[0].hit
        assert breaker.state is BreakerState.CLOSED
        assert len(script.received) == 2


def test_an_invalid_request_proves_that_the_sidecar_is_back(connect, script, sidecar):
    now = [0.0]
    breaker = CircuitBreaker(failures=1, clock=lambda: now[0], jitter=lambda: 0.0)
    client = connect(sidecar.target, breaker=breaker)
    script.fail("Lookup", grpc.StatusCode.UNAVAILABLE)
    client.lookup(CHAT)
    now[0] += 1
    script.fail("Lookup", grpc.StatusCode.INVALID_ARGUMENT)
    client.lookup(CHAT)
    assert breaker.state is BreakerState.CLOSED


def test_a_size_limit_says_nothing_of_the_sidecar(connect, script, sidecar):
    now = [0.0]
    breaker = CircuitBreaker(failures=1, clock=lambda: now[0], jitter=lambda: 0.0)
    client = connect(sidecar.target, breaker=breaker)
    script.fail("Lookup", grpc.StatusCode.UNAVAILABLE)
    client.lookup(CHAT)
    now[0] += 1
    script.fail("Lookup", grpc.StatusCode.RESOURCE_EXHAUSTED, OVER_LIMIT)
    client.lookup(CHAT)
    assert breaker.state is BreakerState.HALF_OPEN


OVER_LIMIT = "CLIENT: Received message larger than max (17 vs. 16)"


def test_a_message_over_a_limit_of_the_transport_is_too_large(connect, sidecar, script):
    script.fail("Lookup", grpc.StatusCode.RESOURCE_EXHAUSTED, OVER_LIMIT)
    client = connect(sidecar.target)
    decisions = [client.lookup(CHAT) for _ in range(20)]
    assert {type(one.error) for one in decisions} == {askonce.RequestTooLarge}
    assert client.breaker.state is BreakerState.CLOSED


def test_a_real_answer_over_the_client_s_own_limit_is_too_large(connect, sidecar, script):
    script.decide(miss(rule_id="x" * 4096))
    client = connect(sidecar.target, options=[("grpc.max_receive_message_length", 1024)])
    assert isinstance(client.lookup(CHAT).error, askonce.RequestTooLarge)


def test_a_sidecar_whose_queue_is_full_is_an_outage(connect, sockets):
    """The transport turns the call away by itself, without our details."""
    let_go, begun = threading.Event(), threading.Event()

    class Slow(grpc.GenericRpcHandler):
        def service(self, details):
            def handle(request, context):
                begun.set()
                let_go.wait(20)
                return b""

            return grpc.unary_unary_rpc_method_handler(handle)

    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool, handlers=[Slow()], maximum_concurrent_rpcs=1)
        server.add_insecure_port(f"unix://{sockets}/s")
        server.start()
        client = connect(f"unix://{sockets}/s", budget=10, breaker=patient())
        other = grpc.insecure_channel(f"unix://{sockets}/s", [("grpc.default_authority", "localhost")])
        held = other.unary_unary("/a/b").future(b"", timeout=20)
        assert begun.wait(10)
        decision = client.lookup(CHAT)
        assert decision.bypass_reason is BypassReason.SIDECAR_FAILED
        assert type(decision.error) is askonce.SidecarFailed
        assert decision.error.code == "RESOURCE_EXHAUSTED"
        let_go.set()
        held.result()
        other.close()
        server.stop(0).wait()


@pytest.mark.parametrize("bad", [{"budget": 0}, {"metadata": [("UPPER", "x")]}])
def test_a_request_that_was_never_sent_is_no_probe(connect, script, sidecar, bad):
    now = [0.0]
    breaker = CircuitBreaker(failures=1, clock=lambda: now[0], jitter=lambda: 0.0)
    client = connect(sidecar.target, breaker=breaker)
    script.fail("Lookup", grpc.StatusCode.UNAVAILABLE)
    client.lookup(CHAT)
    now[0] += 1
    client.lookup(CHAT, **bad)
    assert breaker.state is BreakerState.HALF_OPEN
    script.decide(miss())
    assert client.lookup(CHAT).outcome is askonce.Outcome.MISS


def test_a_mistake_is_logged_once_per_kind_and_never_with_its_text(connect, script, sidecar, log):
    client = connect(sidecar.target)
    for number in range(50):
        script.fail("Lookup", grpc.StatusCode.INVALID_ARGUMENT, f"SECRET {number}")
        assert client.lookup(CHAT).error.message == f"SECRET {number}"
    client.lookup(CHAT, budget=0)
    client.lookup(CHAT, request_id=5)
    client.lookup(CHAT, request_id=6)
    assert len(log()) == 3
    assert "SECRET" not in "".join(log())
    assert "INVALID_ARGUMENT" in log()[0]
    assert "request_id" in log()[2]


def test_a_fault_that_quotes_the_request_is_not_logged(connect, script, sidecar, log):
    script.fail("Lookup", grpc.StatusCode.UNKNOWN, "Exception calling application: SECRET")
    client = connect(sidecar.target)
    for _ in range(10):
        client.lookup(CHAT)
    assert len(log()) == 1
    assert "SECRET" not in log()[0]
    assert "UNKNOWN" in log()[0]


def test_a_proxy_of_the_environment_is_not_asked(connect, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")
    monkeypatch.setenv("grpc_proxy", f"http://127.0.0.1:{free_port()}")
    with serving("127.0.0.1:0") as sidecar:
        assert connect(sidecar.target).lookup(CHAT).hit
