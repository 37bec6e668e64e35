"""Fetch: lookup, wait, fill, store and abandon in one call, with the fakes and with a scripted sidecar."""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

import askonce
from askonce import AsyncFakeAskOnce, BypassReason, FakeAskOnce, RefusalReason
from askonce.single_flight import Ending, Flights
from client.conftest import Blocking
from client.providers import Broken, Provider, fill_of
from client.scripted import ANSWER, CHAT, miss, serving

FAILED = askonce.UpstreamResponse(body=b"{}", status_code=500)
PATIENT = 30.0
"""Seconds of budget, so that a slow machine does not look like a slow sidecar."""


class Crowd:
    """Many callers of one request at once."""

    def __init__(self, client, provider, size, **options):
        self.provider = provider
        if not isinstance(client, askonce.AskOnce):
            self.run = lambda: client._runner.run(self._tasks(client.client, size, options))
        else:
            self.run = lambda: self._threads(client, size, options)

    def _threads(self, client, size, options):
        def one(_):
            try:
                return client.fetch(CHAT, self.provider.fill, **options)
            except Exception as error:
                return error

        with ThreadPoolExecutor(size) as pool:
            results = pool.map(one, range(size))
            assert self.provider.begun.wait(10)
            time.sleep(0.1)  # the others arrive while the first is filling
            self.provider.release.set()
            return list(results)

    async def _tasks(self, client, size, options):
        tasks = [client.fetch(CHAT, self.provider.fill_async, **options) for _ in range(size)]
        everybody = asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0.1)
        self.provider.release.set()
        return await everybody


@pytest.fixture(params=["sync", "async"])
def fake(request):
    with asyncio.Runner() as runner:
        yield FakeAskOnce() if request.param == "sync" else Blocking(runner, AsyncFakeAskOnce())


def test_it_fills_once_and_serves_from_then_on(fake):
    provider = Provider()
    first, second, third = (fake.fetch(CHAT, fill_of(fake, provider), omit_body=True) for _ in range(3))
    assert provider.calls == 1
    for one in (first, second, third):
        assert (one.body, one.content_type, one.status_code) == (ANSWER.body, "application/json", 200)
    assert (first.decision.hit, first.stored.stored) == (False, True)
    assert (third.decision.hit, third.stored) == (True, None)
    assert [call.verb for call in fake.calls] == ["lookup", "store", "lookup", "lookup"]


def test_a_hundred_callers_with_one_request_call_the_provider_once(fake):
    provider = Provider(slow=True)
    results = Crowd(fake, provider, 100, budget=PATIENT).run()
    assert provider.calls == 1
    assert Counter(one.decision.hit for one in results) == {True: 99, False: 1}
    assert {one.body for one in results} == {ANSWER.body}
    assert len(fake.lookups) == 100  # every request was decided, and so counted, once


def test_a_fill_that_raises_is_followed_by_exactly_one_of_those_who_waited(fake):
    provider = Provider(Broken("reset"), ANSWER, slow=True)
    results = Crowd(fake, provider, 50, budget=PATIENT).run()
    assert provider.calls == 2
    assert Counter(type(one).__name__ for one in results) == {"Broken": 1, "Fetched": 49}
    assert len(fake.stores) == 1


def test_a_provider_that_is_down_is_not_asked_by_one_caller_at_a_time(fake):
    provider = Provider(Broken("refused"), slow=True)
    results = Crowd(fake, provider, 50, budget=PATIENT).run()
    assert Counter(type(one).__name__ for one in results) == {"Broken": 50}
    assert provider.calls == 50


def test_an_answer_that_is_not_stored_is_not_waited_for_again(fake):
    provider = Provider(FAILED, slow=True)
    results = Crowd(fake, provider, 20, budget=PATIENT).run()
    assert provider.calls == 20  # an error belongs to its own caller
    assert {(one.status_code, one.stored.refusal_reason) for one in results} == {
        (500, RefusalReason.UPSTREAM_ERROR)
    }


@pytest.mark.parametrize("mode", [askonce.CacheMode.REFRESH, askonce.CacheMode.BYPASS])
def test_only_an_ordinary_lookup_is_answered_by_what_another_brought(fake, mode):
    provider = Provider(slow=True)
    Crowd(fake, provider, 5, budget=PATIENT, controls=askonce.Controls(mode=mode)).run()
    assert provider.calls == 5


def test_what_may_not_be_stored_keeps_nobody_waiting(fake):
    for _ in range(20):
        fake.will_bypass(BypassReason.SAMPLED_REQUEST)
    provider = Provider(slow=True)
    results = Crowd(fake, provider, 20, budget=PATIENT).run()
    assert provider.calls == 20
    assert fake.stores == tuple(askonce.Store(one.decision, ANSWER) for one in results)
    assert not any(one.stored.stored for one in results)


def test_a_shadow_rule_keeps_nobody_waiting(client, script):
    script.decide(miss(shadow=True))
    provider = Provider(slow=True)
    Crowd(client, provider, 4, budget=PATIENT).run()
    assert provider.calls == 4


@pytest.mark.parametrize("raised", [Broken("x"), KeyboardInterrupt(), SystemExit(1)])
def test_what_fill_raises_gives_the_lease_back_first(raised):
    fake, provider = FakeAskOnce(), Provider(raised)
    fake.will_miss(lease_holder=True)
    with pytest.raises(type(raised)):
        fake.fetch(CHAT, provider.fill)
    assert [call.verb for call in fake.calls] == ["lookup", "abandon"]
    assert fake.fetch(CHAT, Provider().fill).stored.stored


def test_a_caller_that_is_cancelled_leaves_no_lease_and_the_next_one_fills():
    async def main():
        fake, provider = AsyncFakeAskOnce(), Provider(slow=True)
        fake.will_miss(lease_holder=True)
        gone = asyncio.create_task(fake.fetch(CHAT, provider.fill_async, budget=PATIENT))
        await asyncio.sleep(0.05)
        waiting = asyncio.create_task(fake.fetch(CHAT, provider.fill_async, budget=PATIENT))
        await asyncio.sleep(0.05)
        assert provider.calls == 1
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        assert [call.verb for call in fake.calls][:2] == ["lookup", "abandon"]
        provider.release.set()
        assert (await waiting).stored.stored
        assert provider.calls == 2

    asyncio.run(main())


def test_a_caller_that_is_cancelled_while_it_waits_disturbs_nobody():
    async def main():
        fake, provider = AsyncFakeAskOnce(), Provider(slow=True)
        first = asyncio.create_task(fake.fetch(CHAT, provider.fill_async, budget=PATIENT))
        await asyncio.sleep(0.05)
        gone = asyncio.create_task(fake.fetch(CHAT, provider.fill_async, budget=PATIENT))
        third = asyncio.create_task(fake.fetch(CHAT, provider.fill_async, budget=PATIENT))
        await asyncio.sleep(0.05)
        gone.cancel()
        with pytest.raises(asyncio.CancelledError):
            await gone
        provider.release.set()
        assert ((await first).decision.hit, (await third).decision.hit) == (False, True)

    asyncio.run(main())


def test_whoever_will_not_wait_for_long_goes_on_alone(fake):
    provider = Provider(slow=True)
    crowd = Crowd(fake, provider, 3, budget=PATIENT, wait_for_fill=0.01)
    crowd.run()
    assert provider.calls == 3


@pytest.mark.parametrize("code", ["UNAVAILABLE", "DEADLINE_EXCEEDED", "INTERNAL"])
def test_without_a_sidecar_fill_is_called_and_its_answer_returned(fake, code):
    fake.will_fail(code)
    provider = Provider()
    fetched = fake.fetch(CHAT, fill_of(fake, provider))
    assert (fetched.body, provider.calls) == (ANSWER.body, 1)
    assert fetched.decision.error.code == code
    assert not fetched.stored.stored
    assert len(fake.lookups) == 1


@pytest.mark.parametrize("given", [None, 7, object()])
def test_anything_at_all_may_be_fetched(fake, given):
    fetched = fake.fetch(given, fill_of(fake, Provider()))
    assert fetched.body == ANSWER.body
    assert fetched.decision.outcome is askonce.Outcome.BYPASS


@pytest.mark.parametrize("options", [{"wait_for_fill": "1s"}, {"wait_for_fill": math.nan}, {"budget": 0}])
def test_options_that_cannot_be_sent_cost_the_cache_and_no_answer(client, script, options):
    fetched = client.fetch(CHAT, fill_of(client, Provider()), **options)
    assert (fetched.body, fetched.decision.bypass_reason) == (ANSWER.body, BypassReason.REQUEST_REFUSED)
    assert script.received == []


def test_a_wait_below_zero_is_the_sidecars_to_refuse(client, script):
    client.fetch(CHAT, fill_of(client, Provider()), wait_for_fill=-1)
    assert script.last().wait_for_fill.seconds == -1


def test_a_store_that_fails_costs_nobody_the_answer(fake):
    fake.will_refuse(RefusalReason.STORE_FULL)
    fetched = fake.fetch(CHAT, fill_of(fake, Provider()))
    assert (fetched.body, fetched.stored.refusal_reason) == (ANSWER.body, RefusalReason.STORE_FULL)


def test_a_fill_that_returns_something_else_is_a_mistake_that_is_named():
    fake = FakeAskOnce()
    fake.will_miss(lease_holder=True)
    with pytest.raises(TypeError, match="UpstreamResponse, not bytes"):
        fake.fetch(CHAT, lambda: b"{}")
    assert [call.verb for call in fake.calls] == ["lookup", "abandon"]


def test_strict_raises_what_the_sidecar_did_and_never_hides_what_the_provider_did():
    fake = FakeAskOnce(strict=True)
    fake.will_fail("INTERNAL", "boom")
    with pytest.raises(askonce.SidecarFailed, match="boom"):
        fake.fetch(CHAT, Provider().fill)
    fake.will_miss(lease_holder=True)

    def fill():
        fake.will_fail("INTERNAL", "no abandon either")
        raise Broken

    with pytest.raises(Broken):
        fake.fetch(CHAT, fill)


def test_it_asks_to_wait_for_a_minute_or_as_long_as_the_caller_says(client, script):
    client.fetch(CHAT, fill_of(client, Provider()))
    assert 59_000 < script.last().wait_for_fill.ToMilliseconds() <= 60_000
    client.fetch(CHAT, fill_of(client, Provider()), wait_for_fill=5)
    assert 4_000 < script.last().wait_for_fill.ToMilliseconds() <= 5_000
    client.fetch(CHAT, fill_of(client, Provider()), wait_for_fill=0)
    assert script.last().wait_for_fill.ToNanoseconds() == 0


def test_a_sidecar_that_lets_a_caller_wait_has_to_live(connect, sidecar, script):
    """The scripted sidecar hangs in Lookup, and has no health service: it answers the probe all the same."""
    client = connect(sidecar.target, budget=0.05)
    script.hang("Lookup")
    threading.Timer(2.5, script.released.set).start()
    began = time.monotonic()
    assert client.fetch(CHAT, fill_of(client, Provider())).decision.hit
    assert time.monotonic() - began >= 2


def test_a_sidecar_that_does_not_say_that_it_lives_costs_a_second_and_not_a_minute(connect, sockets):
    with serving(f"unix://{sockets}/h.sock", health=True) as sidecar:
        script = sidecar.script
        script.hang("Lookup")
        with (
            ThreadPoolExecutor(7) as pool,
            askonce.AskOnce(sidecar.target, budget=20, coalescing=False) as other,
        ):
            for _ in range(7):  # with the call below every thread of the sidecar hangs: no probe is answered
                pool.submit(other.lookup, CHAT)
            until = time.monotonic() + 10
            while len(script.received) < 7 and time.monotonic() < until:
                time.sleep(0.01)
            client = connect(sidecar.target, budget=0.05)
            began = time.monotonic()
            fetched = client.fetch(CHAT, fill_of(client, Provider()))
            took = time.monotonic() - began
            script.released.set()
    assert took < 5
    assert fetched.decision.bypass_reason is BypassReason.SIDECAR_TIMEOUT
    assert fetched.body == ANSWER.body


def test_of_those_who_wait_for_a_sidecar_that_does_not_answer_none_asks_again(connect, sidecar, script):
    client = connect(sidecar.target, budget=0.3, breaker=askonce.CircuitBreaker(failures=0))
    script.fail("Lookup", grpc.StatusCode.UNAVAILABLE)
    slow = script.handlers["Lookup"]

    def handler(request, context):
        time.sleep(0.2)
        return slow(request, context)

    script.handlers["Lookup"] = handler
    provider = Provider()
    results = Crowd(client, provider, 10, budget=PATIENT).run()
    assert {one.decision.bypass_reason for one in results} == {BypassReason.SIDECAR_UNREACHABLE}
    assert provider.calls == 10
    assert len(script.received) < 10


def test_a_flight_ends_once_and_a_fork_is_waited_for_by_nobody(monkeypatch):
    flights = Flights()
    first, mine = flights.begin(b"k")
    assert mine
    assert flights.begin(b"k") == (first, False)
    monkeypatch.setattr("os.getpid", lambda: -1)
    assert flights.begin(b"k")[1]
    monkeypatch.undo()
    flights.end(first, Ending.OVER)
    flights.end(first, Ending.ABANDONED)
    assert first.settled.result() is Ending.OVER
    assert flights.begin(b"k")[1]
